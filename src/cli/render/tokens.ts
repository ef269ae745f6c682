import type { NewToken, RevokedToken, TokenView } from '../../contract/control/tokens.ts'
import { alignColumns, escapeText, formatDate, formatInstant, type Paint, pluralize } from './text.ts'

/** A new token; it is shown only here. */
export function renderNewToken({ token, ...made }: NewToken, paint: Paint): string {
  const { connection } = made
  return [
    `${paint('green', '✔')} the token "${escapeText(made.name)}" was created: role ${roleOf(made)}, ${ends(made)}`,
    '',
    `  ${escapeText(token)}`,
    '',
    connection === null
      ? 'It is shown only once. Send it as a bearer token, or sign in to the console with it.'
      : `It is shown only once. Give it to the system that pushes to /scim/v2/${escapeText(connection)}.`,
  ].join('\n')
}

/** The tokens as a table. */
export function renderTokens({ tokens }: { readonly tokens: readonly TokenView[] }, paint: Paint): string {
  if (tokens.length === 0) return 'there are no tokens; "rollcall token create" creates one'
  const rows = tokens.map((token) => [
    escapeText(token.name),
    roleOf(token),
    token.state,
    ends(token),
    token.lastUsedAt === null ? 'never used' : `last used ${formatInstant(token.lastUsedAt)}`,
    `created by ${escapeText(token.createdBy)} on ${formatDate(token.createdAt)}`,
  ])
  return alignColumns(rows, (cell, row) => (tokens[row]?.state === 'active' ? cell : paint('dim', cell))).join('\n')
}

/** Confirms a revocation. */
export function renderRevokedToken({ name, sessions }: RevokedToken, paint: Paint): string {
  const ended = sessions === 0 ? '' : `, and ${pluralize(sessions, 'session')} started with it ended`
  return `${paint('green', '✔')} the token "${escapeText(name)}" was revoked${ended}`
}

function roleOf({ role, connection }: Pick<TokenView, 'role' | 'connection'>): string {
  return connection === null ? role : `${role} of the connection ${escapeText(connection)}`
}

function ends({ state, expiresAt, revokedAt, revokedBy }: TokenView): string {
  if (revokedAt !== null) return `revoked by ${escapeText(revokedBy ?? '')} on ${formatDate(revokedAt)}`
  if (expiresAt === null) return 'does not expire'
  return `${state === 'expired' ? 'expired' : 'expires'} ${formatInstant(expiresAt)}`
}
