import { customConnections } from '../../../src/contract/platform/custom-connections.ts'
import { platformOperations } from '../../../src/contract/platform/platform.ts'
import { type Client, createClient } from '../../../src/http/client/client.ts'
import type { KeyInput } from '../../../src/platform/accounts/contract.ts'
import { databaseOperator, type Operator } from '../../../src/platform/operators/operator.ts'
import { type Platform, type PlatformOptions, startPlatform } from '../../../src/platform/start.ts'
import type { TestDatabase } from '../../helpers/servers/databases.ts'

export type PlatformClient = Client<typeof platformOperations>

export type TestAccount = { readonly name: string; readonly id: number; readonly client: PlatformClient }

/** A platform on a database of its own, with a clock that only the test moves. */
export type TestPlatform = AsyncDisposable & {
  readonly platform: Platform
  readonly operator: Operator
  readonly clock: Clock
  readonly clientWith: (key: string) => PlatformClient
  /** A client with a new key of that account. */
  readonly clientOf: (account: string, permissions: KeyInput['permissions']) => Promise<PlatformClient>
  /** A new account with every feature unless the options say otherwise. */
  readonly newAccount: (overrides?: {
    entitlements?: string[]
    termsAcceptedAt?: string | null
  }) => Promise<TestAccount>
}

export type Clock = {
  readonly now: () => Date
  readonly advance: (ms: number) => void
  readonly set: (instant: string) => void
}

export const entitlement = customConnections.listCustomConnections.entitlement

export async function openTestPlatform(
  createDatabase: () => Promise<TestDatabase>,
  options: Partial<PlatformOptions> = {},
): Promise<TestPlatform> {
  await using opening = new AsyncDisposableStack()
  const { at } = opening.use(await createDatabase())
  const clock = createClock()
  const platform = opening.use(
    await startPlatform({ database: at, now: clock.now, validateResponses: true, ...options }),
  )
  const operator = databaseOperator(platform.database.db, clock.now)
  const clientWith = (key: string) => createClient(platformOperations, { baseUrl: platform.baseUrl, bearer: key })
  const clientOf = async (account: string, permissions: KeyInput['permissions']) => {
    const { key } = await operator.createKey({ body: { account, name: 'test', permissions } })
    return clientWith(key)
  }
  let accounts = 0
  const opened = opening.move()
  return {
    platform,
    operator,
    clock,
    clientWith,
    clientOf,
    newAccount: async ({ entitlements = [entitlement], termsAcceptedAt = '2026-01-01T00:00:00.000Z' } = {}) => {
      accounts += 1
      const { id, name } = await operator.createAccount({
        body: { name: `account ${accounts}`, entitlements, termsAcceptedAt },
      })
      return { id, name, client: await clientOf(name, 'all') }
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** The body of an answer with that status. Another status fails the test and is shown. */
export function bodyOf<S extends number, A extends { readonly status: unknown }>(
  answer: A,
  status: S,
): Extract<A, { readonly status: S; readonly body?: unknown }>['body'] {
  if (answer.status === status && 'body' in answer) return answer.body as never
  throw new Error(`expected an answer with ${status}, got ${JSON.stringify(answer)}`)
}

export async function newHrisConnection(client: PlatformClient): Promise<number> {
  return bodyOf(await client.createCustomConnection({ body: { name: 'HR', providerTypes: ['HRIS'] } }), 201).id
}

function createClock(): Clock {
  let at = Date.parse('2026-03-02T10:00:00.000Z')
  return {
    now: () => new Date(at),
    advance: (ms) => {
      at += ms
    },
    set: (instant) => {
      at = Date.parse(instant)
    },
  }
}
