import type { TokenRole } from '../../contract/control/access.ts'
import { Failure } from '../../errors.ts'
import { renderNewToken, renderRevokedToken, renderTokens } from '../render/tokens.ts'
import { type CommonOptions, withSession } from '../session/session.ts'

/** The options of `rollcall token create`. */
export type TokenCreateOptions = CommonOptions & {
  readonly by: string
  readonly name: string
  readonly role: TokenRole
  readonly connection?: string
  readonly expires?: string
}
/** The options of `rollcall token revoke`. */
export type TokenRevokeOptions = CommonOptions & { readonly by: string }

const hourMs = 60 * 60 * 1000
const unitMs: Readonly<Record<string, number>> = { h: hourMs, d: 24 * hourMs }

/** Creates a token and shows it, once only. */
export async function tokenCreate(options: TokenCreateOptions): Promise<number> {
  const { by, name, role, connection, expires } = options
  const expiresAt = expires === undefined ? undefined : expiryOf(expires, new Date())
  return await withSession(options, {}, async ({ control, output }) => {
    const body = {
      name,
      role,
      ...(connection !== undefined && { connection }),
      ...(expiresAt !== undefined && { expiresAt }),
      by,
    }
    output.printResult(await control.createToken({ body }), renderNewToken)
    return 0
  })
}

/** Lists the access tokens. */
export async function tokenList(options: CommonOptions): Promise<number> {
  return await withSession(options, {}, async ({ control, output }) => {
    const { data } = await control.listTokens({})
    output.printResult({ tokens: data }, renderTokens)
    return 0
  })
}

/** Revokes an access token. */
export async function tokenRevoke(name: string, options: TokenRevokeOptions): Promise<number> {
  return await withSession(options, {}, async ({ control, output }) => {
    output.printResult(await control.revokeToken({ params: { name }, body: { by: options.by } }), renderRevokedToken)
    return 0
  })
}

/** Returns the expiry as an ISO instant. `90d` and `12h` count from now; a bare date means 00:00 UTC. */
export function expiryOf(text: string, now: Date): string {
  const [, count, unit = ''] = /^(\d{1,5})([hd])$/.exec(text) ?? []
  if (count !== undefined) return new Date(now.getTime() + Number(count) * (unitMs[unit] ?? 0)).toISOString()
  const at = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?Z)?$/.test(text) ? new Date(text) : null
  // Date reads a day that does not exist as a later one: 2027-02-30 becomes 2027-03-02.
  if (at === null || Number.isNaN(at.getTime()) || !at.toISOString().startsWith(text.slice(0, 'yyyy-mm-dd'.length))) {
    throw new Failure('usage', `--expires: "${text}" is none of 90d, 12h, 2027-01-31 and 2027-01-31T12:00Z`)
  }
  return at.toISOString()
}
