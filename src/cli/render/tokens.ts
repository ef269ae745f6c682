import type { NewToken, RevokedToken, TokenView } from '../../contract/control/tokens.ts'
import { aligned, day, escapeText, formatInstant, type Paint, pluralize } from './text.ts'

/** A new token; it is shown only here. */
export function renderNewToken({ token, ...made }: NewToken, paint: Paint): string {
  return [
    `${paint('green', '✔')} the token "${escapeText(made.name)}" was created: role ${made.role}, ${ends(made)}`,
    '',
    `  ${escapeText(token)}`,
    '',
    'It is shown only once. Send it as a bearer token, or sign in to the console with it.',
  ].join('\n')
}

/** The tokens as a table. */
export function renderTokens({ tokens }: { readonly tokens: readonly TokenView[] }, paint: Paint): string {
  if (tokens.length === 0) return 'there are no tokens; "rollcall token create" creates one'
  const rows = tokens.map((token) => [
    escapeText(token.name),
    token.role,
    token.state,
    ends(token),
    token.lastUsedAt === null ? 'never used' : `last used ${formatInstant(token.lastUsedAt)}`,
    `created by ${escapeText(token.createdBy)} on ${day(token.createdAt)}`,
  ])
  return aligned(rows, (cell, row) => (tokens[row]?.state === 'active' ? cell : paint('dim', cell))).join('\n')
}

/** Confirms a revocation. */
export function renderRevokedToken({ name, sessions }: RevokedToken, paint: Paint): string {
  const ended = sessions === 0 ? '' : `, and ${pluralize(sessions, 'session')} started with it ended`
  return `${paint('green', '✔')} the token "${escapeText(name)}" was revoked${ended}`
}

function ends({ state, expiresAt, revokedAt, revokedBy }: TokenView): string {
  if (revokedAt !== null) return `revoked by ${escapeText(revokedBy ?? '')} on ${day(revokedAt)}`
  if (expiresAt === null) return 'does not expire'
  return `${state === 'expired' ? 'expired' : 'expires'} ${formatInstant(expiresAt)}`
}
