import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { IdentityRecord } from '../../../src/contract/platform/hris-user-identities.ts'
import type { Person } from '../../../src/contract/platform/personnel.ts'
import { openPlatformDatabase } from '../../../src/platform/core/database.ts'
import { lockForSync } from '../../../src/platform/identity-sync/identity-sync.ts'
import { listPeople } from '../../../src/platform/page/people.ts'
import { readQuery } from '../../../src/platform/page/query.ts'
import { createPostgresDatabase, databases } from '../../helpers/servers/databases.ts'
import { newCompany } from '../helpers/companies.ts'
import { bodyOf, newHrisConnection, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

const past = '2025-06-30T00:00:00.000Z'
const today = '2026-03-02T00:00:00.000Z'
const future = '2026-12-31T00:00:00.000Z'
const dayMs = 86_400_000

describe.each(databases)('identity sync on $name', ({ createDatabase }) => {
  let opened: TestPlatform

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  const company = (people?: Parameters<typeof newCompany>[1]) => newCompany(opened, people)

  test.each<[string, Omit<IdentityRecord, 'identityId'>, Person['employmentStatus']]>([
    ['an employee', { isContractor: false }, 'CURRENT_EMPLOYEE'],
    ['a contractor', { isContractor: true }, 'CURRENT_CONTRACTOR'],
    ['an employee who left', { isContractor: false, separatedAt: past }, 'FORMER_EMPLOYEE'],
    ['a contractor who left', { isContractor: true, separatedAt: past }, 'FORMER_CONTRACTOR'],
    ['an employee whose last day is today', { isContractor: false, separatedAt: today }, 'FORMER_EMPLOYEE'],
    ['an employee who will leave', { isContractor: false, separatedAt: future }, 'CURRENT_EMPLOYEE'],
    ['a contractor who will leave', { isContractor: true, separatedAt: future }, 'CURRENT_CONTRACTOR'],
    ['an employee who will start', { isContractor: false, startedAt: future }, 'FUTURE_HIRE'],
    ['a contractor who will start', { isContractor: true, startedAt: future }, 'FUTURE_HIRE'],
    ['one who left before the start', { isContractor: false, startedAt: future, separatedAt: past }, 'FORMER_EMPLOYEE'],
    ['one of unknown kind', { separatedAt: past }, 'UNKNOWN'],
  ])('%s gets the status of the table', async (_what, fields, status) => {
    const acme = await company()
    await acme.send([{ identityId: 'a', email: 'ana@acme.example', ...fields }])

    const result = await acme.sync()

    expect(await acme.person('ana@acme.example')).toMatchObject({ employmentStatus: status })
    expect(result).toMatchObject({ identities: 1, created: 1, changed: 0, counts: { [status]: 1 } })
  })

  test('a coming leaver becomes a former employee when the day has come', async () => {
    const acme = await company()
    const leavesAt = new Date(opened.clock.now().getTime() + dayMs).toISOString()
    await acme.send([{ identityId: 'a', email: 'ana@acme.example', isContractor: false, separatedAt: leavesAt }])
    await acme.sync()
    const before = await acme.person('ana@acme.example')
    opened.clock.advance(dayMs)

    await acme.sync()

    expect(before).toMatchObject({ employmentStatus: 'CURRENT_EMPLOYEE', separatedAt: leavesAt })
    expect(await acme.person('ana@acme.example')).toMatchObject({
      employmentStatus: 'FORMER_EMPLOYEE',
      separatedAt: leavesAt,
    })
  })

  test('writes reach personnel at the next sync and not before', async () => {
    const acme = await company()
    await acme.send([{ identityId: 'a', email: 'ana@acme.example', isContractor: false }])
    await acme.sync()

    await acme.send([{ identityId: 'a', separatedAt: past }])

    expect((await acme.person('ana@acme.example')).employmentStatus).toBe('CURRENT_EMPLOYEE')
    expect(await acme.sync()).toMatchObject({ changed: 1 })
    expect((await acme.person('ana@acme.example')).employmentStatus).toBe('FORMER_EMPLOYEE')
  })

  test('a second sync on the same records changes nothing', async () => {
    const acme = await company([{ email: 'nora@acme.example', firstName: 'Nora', lastName: 'Berg' }])
    await acme.send([
      { identityId: 'a', email: 'ana@acme.example', isContractor: false },
      { identityId: 'b', isContractor: true },
    ])
    await acme.sync()
    const before = await acme.persons()
    opened.clock.advance(1)

    const again = await acme.sync()

    expect(again).toMatchObject({ created: 0, changed: 0 })
    expect(await acme.persons()).toEqual(before)
  })

  test('of several records of one person the one that is at work decides', async () => {
    const acme = await company()
    const second = await newHrisConnection(acme.client)
    const email = 'ana@acme.example'
    await acme.send([
      { identityId: 'first job', email, isContractor: true, startedAt: '2020-01-01T00:00:00Z', separatedAt: past },
      { identityId: 'next job', email, isContractor: true, startedAt: future },
    ])
    await acme.send([{ identityId: 'this job', email, isContractor: false, startedAt: past }], second)

    await acme.sync()

    expect(await acme.persons()).toMatchObject([
      { employmentStatus: 'CURRENT_EMPLOYEE', startedAt: past, separatedAt: null },
    ])
  })

  test('who is deleted is unknown at the next sync, and known again once restored', async () => {
    const acme = await company()
    await acme.send([{ identityId: 'a', email: 'ana@acme.example', isContractor: false }])
    await acme.sync()

    await acme.delete('a')
    const deleted = await acme.sync()
    const unknown = await acme.person('ana@acme.example')
    await acme.send([{ identityId: 'a' }])
    await acme.sync()

    expect(deleted).toMatchObject({ identities: 0, changed: 1, counts: { UNKNOWN: 1 } })
    expect(unknown.employmentStatus).toBe('UNKNOWN')
    expect(await acme.person('ana@acme.example')).toMatchObject({
      id: unknown.id,
      employmentStatus: 'CURRENT_EMPLOYEE',
    })
  })

  test('the people of a deleted connection are unknown', async () => {
    const acme = await company()
    await acme.send([{ identityId: 'a', email: 'ana@acme.example', isContractor: false }])
    await acme.sync()

    await acme.client.deleteCustomConnection({ params: { connectionId: acme.connectionId } })
    await acme.sync()

    expect((await acme.person('ana@acme.example')).employmentStatus).toBe('UNKNOWN')
  })

  test('the sync of one account leaves another account alone', async () => {
    const acme = await company()
    const other = await company()
    await acme.send([{ identityId: 'a', email: 'ana@acme.example', isContractor: false }])
    await other.send([{ identityId: 'a', email: 'ana@acme.example', isContractor: true }])

    await acme.sync()

    expect(await acme.persons()).toHaveLength(1)
    expect(await other.persons()).toEqual([])
  })

  test('the result of every sync is kept', async () => {
    const acme = await company()
    await acme.send([{ identityId: 'a', email: 'ana@acme.example', isContractor: false }])

    const result = await acme.sync()

    const { db } = opened.platform.database
    const stored = await db
      .selectFrom('identity_syncs')
      .selectAll()
      .where('id', '=', result.id)
      .executeTakeFirstOrThrow()
    expect(stored).toMatchObject({ trigger: 'operator', identities: 1, created: 1, changed: 0, counts: result.counts })
    expect(stored.started_at).toEqual(opened.clock.now())
  })
})

test('while a sync of an account runs, another one and a reset are conflicts; another account is free', async () => {
  await using database = await createPostgresDatabase()
  await using opened = await openTestPlatform(async () => ({ at: database.at, async [Symbol.asyncDispose]() {} }))
  await using outside = await openPlatformDatabase(database.at)
  const busy = await opened.newAccount()
  const free = await opened.newAccount()

  const [sync, reset, elsewhere] = await outside.db.transaction().execute(async (trx) => {
    await lockForSync(trx, busy.id)
    return [
      await opened.operator.syncIdentities({ body: { account: busy.name } }).catch((error: unknown) => error),
      await busy.client.resetPersonnelSync({ body: { action: 'reset-sync-all' } }),
      await opened.operator.syncIdentities({ body: { account: free.name } }),
    ] as const
  })

  expect(sync).toMatchObject({ code: 'conflict', exit: 75 })
  expect(reset.status).toBe(409)
  expect(elsewhere).toMatchObject({ identities: 0 })
  expect(bodyOf(await busy.client.resetPersonnelSync({ body: { action: 'reset-sync-all' } }), 201)).toEqual({
    count: 0,
  })
})

test.each(databases)(
  'names whose letters become many bytes stop no sync, and are found, on $name',
  async ({ createDatabase }) => {
    await using opened = await openTestPlatform(createDatabase)
    const acme = await newCompany(opened)
    // When decomposed, each of these characters becomes twelve bytes.
    const firstName = '\u{1d160}'.repeat(191)
    await acme.send([{ identityId: 'a', email: 'ana@acme.example', firstName, isContractor: false }])

    await acme.sync()

    const { db } = opened.platform.database
    const query = { ...readQuery(''), search: firstName.slice(0, 20) }
    const { people } = await listPeople(db, { accountId: acme.id, query, now: opened.clock.now() })
    expect(people.map(({ email }) => email)).toEqual(['ana@acme.example'])
  },
)
