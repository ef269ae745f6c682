import type { KeyInput } from '../../../src/platform/accounts/contract.ts'
import type { TestDatabase } from '../../helpers/servers/databases.ts'
import { openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'
import { openRawClient, type RawClient } from '../helpers/raw-requests.ts'
import { type Fingerprint, fingerprints } from './fingerprint.ts'
import { areaFixtures, fixtureOf } from './fixtures/areas.ts'
import type { Company, Rows, Things } from './fixtures/fixture.ts'
import { everyEntitlement, everyList, everyOperation, type NamedOperation, permissionsOf } from './operations.ts'

/** A platform with two companies that hold one object of every kind, and keys of every kind. */
export type World = AsyncDisposable & {
  readonly opened: TestPlatform
  readonly http: RawClient
  readonly mine: Company
  readonly theirs: Company
  readonly keys: Keys
  readonly fingerprint: () => Promise<Fingerprint>
  /** Another company like those two. */
  readonly newCompany: () => Promise<Company>
}

/** All keys belong to the first company, except those that cannot. */
export type Keys = {
  readonly unknown: string
  readonly expired: string
  readonly revoked: string
  /** The key of an account that has not accepted the terms. */
  readonly early: string
  readonly readingOnly: string
  /** A key with every permission except those of the operation. */
  readonly without: (named: NamedOperation) => string
  /** The key of an account whose plan has every feature except those of the operation. */
  readonly notEntitled: (named: NamedOperation) => string
}

const termsAcceptedAt = '2026-01-01T00:00:00.000Z'

export async function openWorld(createDatabase: () => Promise<TestDatabase>): Promise<World> {
  await using opening = new AsyncDisposableStack()
  const opened = opening.use(await openTestPlatform(createDatabase))
  const http = opening.use(openRawClient(opened.platform.baseUrl))
  const newCompany = () => openCompany(opened)
  const [mine, theirs] = [await newCompany(), await newCompany()]
  for (const company of [mine, theirs]) {
    await fillLists(company)
    // A search brings its index up to date, also one that is refused.
    await company.client.searchPersonnel({ query: {} })
  }
  const keys = await makeKeys(opened, mine)
  const fingerprint = await fingerprints(opened.platform.database.pool)
  const open = opening.move()
  return { opened, http, mine, theirs, keys, newCompany, fingerprint, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

/** A new account with one object of every kind that the areas can make. */
export async function openCompany(opened: TestPlatform): Promise<Company> {
  const { name, id } = await opened.newAccount({ entitlements: [...everyEntitlement], termsAcceptedAt })
  const { key } = await opened.operator.createKey({ body: { account: name, name: 'everything', permissions: 'all' } })
  const empty = { name, accountId: id, key, client: opened.clientWith(key), opened }
  let things: Things = {}
  for (const { make } of areaFixtures) things = { ...things, ...(await make?.({ ...empty, things })) }
  return { ...empty, things }
}

/** Gives every list more than one record, so that it has more than one page. A list without a fixture fails in its own tests. */
async function fillLists(company: Company): Promise<void> {
  for (const { name } of everyList) {
    for (const number of [1, 2]) await fixtureOf(name).rows?.add(company, number)
  }
}

/** How the records of a list are added, changed and removed. */
export function rowsFor(name: string): Rows {
  const { rows } = fixtureOf(name)
  if (rows) return rows
  throw new Error(`no fixture for the rows of ${name}`)
}

async function makeKeys(opened: TestPlatform, { name }: Company): Promise<Keys> {
  const { operator, clock } = opened
  const keyOf = async (account: string, permissions: KeyInput['permissions'], expiresAt: string | null = null) =>
    operator.createKey({ body: { account, name: 'test', permissions, expiresAt } })
  const revoked = await keyOf(name, 'all')
  await operator.revokeKey({ params: { keyId: revoked.id } })
  const expired = await keyOf(name, 'all', new Date(clock.now().getTime() + 1).toISOString())
  clock.advance(1)
  const early = await opened.newAccount({ entitlements: [...everyEntitlement], termsAcceptedAt: null })
  const without = await makeEach(
    everyOperation.map(({ operation }) => permissionsOf(operation).join()),
    async (own) => {
      const others = everyOperation.flatMap(({ operation }) => permissionsOf(operation))
      return (
        await keyOf(
          name,
          others.filter((other) => !own.split(',').includes(other)),
        )
      ).key
    },
  )
  const notEntitled = await makeEach(everyEntitlement, async (own) => {
    const account = await opened.newAccount({ entitlements: everyEntitlement.filter((other) => other !== own) })
    return (await keyOf(account.name, 'all')).key
  })
  return {
    unknown: 'rck_nobody',
    expired: expired.key,
    revoked: revoked.key,
    early: (await keyOf(early.name, 'all')).key,
    readingOnly: (await keyOf(name, 'all-read')).key,
    without: ({ operation }) => without.get(permissionsOf(operation).join()) ?? '',
    notEntitled: ({ operation }) => notEntitled.get(operation.entitlement ?? '') ?? '',
  }
}

async function makeEach<T>(
  names: readonly string[],
  make: (name: string) => Promise<T>,
): Promise<ReadonlyMap<string, T>> {
  const made = new Map<string, T>()
  for (const name of new Set(names)) made.set(name, await make(name))
  return made
}
