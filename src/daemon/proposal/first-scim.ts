import { createToken, revokeToken } from '../../store/access/tokens.ts'
import { requireTimeZone, toConnectionName, withConnection } from './configuration.ts'
import { draftedConfig } from './drafted-config.ts'
import { type Confirmation, draftDigest, emptyConfiguration, writeFirstConnection } from './first-configuration.ts'
import { firstKey, type PlatformKey } from './first-key.ts'
import type { VisitParts } from './first-parts.ts'
import { addressHelp, firstTokenName, scimAddress, scimConnection } from './scim-connection.ts'
import { type SenderSetup, senderSetups } from './sender-setups.ts'

/** What a person gives for a connection that is pushed. */
type ScimRequest = {
  /** The name of the connection on the platform. */
  readonly name: string
  readonly timeZone: string
}

/** What connecting would write. */
type FirstScim = {
  readonly connection: string
  /** The configuration as it would be. */
  readonly text: string
  readonly digest: string
  /** Where people will be pushed to. */
  readonly address: string
  /** Why identity systems cannot reach that address; null: they can. */
  readonly addressHelp: string | null
  readonly key: PlatformKey
}

/** A connection that was written, and the token of its sender, which is stored nowhere. */
type ConnectedScim = Pick<FirstScim, 'connection' | 'address' | 'addressHelp'> & {
  readonly token: string
  readonly senders: readonly SenderSetup[]
  readonly isTakenUp: boolean
}

/** Makes the first connection of a configuration one that an identity system pushes to. */
export type FirstScims = {
  plan(request: ScimRequest): Promise<FirstScim>
  connect(request: ScimRequest & Confirmation): Promise<ConnectedScim>
}

/** `requirePackages`: throws a failure if what serves SCIM is not installed. */
export function openFirstScims(parts: VisitParts & { readonly requirePackages: () => Promise<unknown> }): FirstScims {
  async function draftConnection({ name: target, timeZone }: ScimRequest) {
    await parts.requirePackages()
    const { config, env } = parts
    const name = toConnectionName(target)
    const before = await emptyConfiguration(config, env)
    const text = withConnection(before, scimConnection({ name, target, timeZone: requireTimeZone(timeZone) }))
    const { next } = await draftedConfig({ config, text, name }, env)
    return { before, text, digest: draftDigest(before, text), connection: { name }, address: scimAddress(next, name) }
  }

  return {
    async plan(request) {
      const { config, tryKey, signal } = parts
      const { before: _before, connection, address, ...draft } = await draftConnection(request)
      const key = await firstKey(config, { tryKey, entered: undefined, signal })
      return { ...draft, connection: connection.name, address, addressHelp: addressHelp(address), key }
    },
    async connect(request) {
      return await parts.inTurn(async () => {
        const { address, ...draft } = await draftConnection(request)
        const { name } = draft.connection
        let token = ''
        await writeFirstConnection(parts, draft, {
          ...request,
          async prepare(undoing) {
            token = await makeToken(parts, { connection: name, by: request.by, undoing })
          },
        })
        parts.takeUp?.()
        const isTakenUp = parts.takeUp !== null
        const senders = senderSetups(address)
        return { connection: name, address, addressHelp: addressHelp(address), token, senders, isTakenUp }
      })
    },
  }
}

type TokenToMake = { readonly connection: string; readonly by: string; readonly undoing: AsyncDisposableStack }

async function makeToken({ sync }: VisitParts, { connection, by, undoing }: TokenToMake): Promise<string> {
  const { db } = sync.store
  const name = firstTokenName(connection)
  const made = { name, role: 'scim', connection, expiresAt: null, by, now: sync.now() } as const
  const { text } = await db.transaction().execute((tx) => createToken(tx, made))
  undoing.defer(async () => {
    await db.transaction().execute((tx) => revokeToken(tx, { name, by, now: sync.now() }))
  })
  return text
}
