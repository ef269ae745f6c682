import type { TokenRole } from '../../contract/control/access.ts'
import type { TokenView, tokenOperations } from '../../contract/control/tokens.ts'
import { Failure } from '../../errors.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { createToken, listTokens, revokeToken, type Token } from '../../store/access/tokens.ts'
import type { SyncContext } from '../../sync/context/context.ts'
import type { WithActor } from './with-permissions.ts'

type TokenContext = { readonly sync: Pick<SyncContext, 'store' | 'now' | 'connections'> } & WithActor

/** Handlers of the operations about access tokens. */
export const tokenHandlers: Handlers<typeof tokenOperations, TokenContext> = {
  async listTokens({ sync }) {
    const now = sync.now()
    return { status: 200, body: { data: (await listTokens(sync.store.db)).map((token) => tokenView(token, now)) } }
  },

  async createToken({ sync, actor: { by } }, { body: { name, role, connection, expiresAt } }) {
    requirePushed(sync.connections, role, connection)
    const now = sync.now()
    const end = expiresAt === undefined ? null : new Date(expiresAt)
    if (end !== null && end <= now) throw new Failure('usage', `body.expiresAt: ${expiresAt} is over already`)
    const { text, token } = await sync.store.db
      .transaction()
      .execute(async (tx) => await createToken(tx, { name, role, connection, expiresAt: end, by, now }))
    return { status: 201, body: { ...tokenView(token, now), token: text } }
  },

  async revokeToken({ sync, actor: { by } }, { params: { name } }) {
    const now = sync.now()
    const { token, sessions } = await sync.store.db
      .transaction()
      .execute(async (tx) => await revokeToken(tx, { name, by, now }))
    return { status: 200, body: { ...tokenView(token, now), sessions } }
  },
}

/** Refuses a token of SCIM without a connection that is pushed, and any other token with one. */
function requirePushed(connections: SyncContext['connections'], role: TokenRole, name: string | undefined): void {
  if (role !== 'scim') {
    if (name === undefined) return
    throw new Failure('usage', 'body.connection: only a token with the role scim belongs to a connection')
  }
  const pushed = [...connections.values()].flatMap((one) => (one.isPushed ? [one.name] : []))
  if (name !== undefined && pushed.includes(name)) return
  const known = pushed.length === 0 ? 'the configuration has none' : `the configuration has: ${pushed.join(', ')}`
  throw new Failure('usage', `body.connection: name a connection with a source of type scim; ${known}`)
}

function tokenView(token: Token, now: Date): TokenView {
  const { name, role, connection, createdAt, createdBy, expiresAt, lastUsedAt, revokedAt, revokedBy } = token
  return {
    name,
    role,
    connection,
    state: stateOf(token, now),
    createdAt: createdAt.toISOString(),
    createdBy,
    expiresAt: expiresAt?.toISOString() ?? null,
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
    revokedAt: revokedAt?.toISOString() ?? null,
    revokedBy,
  }
}

function stateOf({ revokedAt, expiresAt }: Token, now: Date): TokenView['state'] {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'active'
}
