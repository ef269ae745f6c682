import { type CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PlatformSchema } from '../../../src/platform/core/schema.ts'
import { findPerson } from '../../../src/platform/people/personnel.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { newCompany } from '../helpers/companies.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

const past = '2025-06-30T00:00:00.000Z'

describe.each(databases)('personnel on $name', ({ createDatabase }) => {
  let opened: TestPlatform

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  const company = (people?: Parameters<typeof newCompany>[1]) => newCompany(opened, people)

  test('a status set by hand stays until the sync is reset; other fields follow HR', async () => {
    const acme = await company()
    await acme.send([
      { identityId: 'a', email: 'ana@acme.example', isContractor: false },
      { identityId: 'b', email: 'desk@acme.example', isContractor: false },
    ])
    await acme.sync()
    const id = await acme.setByHand('desk@acme.example', 'OUT_OF_SCOPE')
    await acme.send([{ identityId: 'b', separatedAt: past }])

    await acme.sync()
    const kept = await acme.person('desk@acme.example')
    const reset = await acme.client.resetPersonnelSync({ body: { action: 'reset-sync', personnelIds: [id, 999_999] } })
    const free = await acme.person('desk@acme.example')
    await acme.sync()

    expect(kept).toMatchObject({
      employmentStatus: 'OUT_OF_SCOPE',
      separatedAt: past,
      statusUpdatedAt: expect.any(String),
    })
    expect(bodyOf(reset, 201)).toEqual({ count: 1 })
    expect(free).toMatchObject({ employmentStatus: 'OUT_OF_SCOPE', statusUpdatedAt: null })
    expect(await acme.person('desk@acme.example')).toMatchObject({
      employmentStatus: 'FORMER_EMPLOYEE',
      notHumanReason: null,
    })
  })

  test('resetting everybody counts those who were set by hand', async () => {
    const acme = await company()
    await acme.send(
      ['a', 'b', 'c'].map((key) => ({ identityId: key, email: `${key}@acme.example`, isContractor: false })),
    )
    await acme.sync()
    await acme.setByHand('a@acme.example', 'OUT_OF_SCOPE')
    await acme.setByHand('b@acme.example', 'FORMER_EMPLOYEE')

    const answer = await acme.client.resetPersonnelSync({ body: { action: 'reset-sync-all' } })

    expect(bodyOf(answer, 201)).toEqual({ count: 2 })
  })

  test('a reset without ids, or one of everybody with ids, is refused', async () => {
    const acme = await company()

    const answers = [
      await acme.client.resetPersonnelSync({ body: { action: 'reset-sync' } }),
      await acme.client.resetPersonnelSync({ body: { action: 'reset-sync-all', personnelIds: [1] } }),
      await acme.client.resetPersonnelSync({ body: { action: 'other' as never } }),
    ]

    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400])
  })

  test('personnel are filtered by status and expanded on request', async () => {
    const acme = await company()
    await acme.send([
      { identityId: 'a', email: 'ana@acme.example', isContractor: false },
      { identityId: 'b', email: 'bo@acme.example', isContractor: true },
    ])
    await acme.sync()
    const list = async (query: NonNullable<Parameters<typeof acme.client.listPersonnel>[0]['query']>) =>
      bodyOf(await acme.client.listPersonnel({ query }), 200)

    const contractors = await list({
      'employmentStatus[]': ['CURRENT_CONTRACTOR', 'UNKNOWN'],
      'expand[]': ['user'],
      includeTotalCount: true,
    })
    const expanded = await list({ 'expand[]': ['user', 'reasonProvider'], size: 1 })
    const customFields = await acme.client.listPersonnel({ query: { 'expand[]': ['customFields'] } })

    expect(contractors).toMatchObject({ data: [{ user: { email: 'bo@acme.example' } }], pagination: { totalCount: 1 } })
    expect(expanded.data[0]).toMatchObject({
      user: { email: 'ana@acme.example' },
      reasonProvider: null,
    })
    expect(customFields.status).toBe(403)
  })

  test('a person is found by address in the index of the account', async () => {
    const acme = await company([{ email: 'ana@acme.example', firstName: 'Ana', lastName: 'Low' }])
    const { pool } = opened.platform.database
    const queries: CompiledQuery[] = []
    const db = new Kysely<PlatformSchema>({
      dialect: new PostgresDialect({ pool }),
      log: ({ query }) => {
        queries.push(query)
      },
    })

    const person = await findPerson({ db, accountId: acme.id }, 'email:Ana@acme.example')

    expect(person).toMatchObject({ account_id: acme.id })
    const plans = await db.transaction().execute(async (trx) => {
      await sql`set local enable_seqscan = off`.execute(trx)
      const [query] = queries.splice(0, 1)
      return query ? (await trx.executeQuery({ ...query, sql: `explain ${query.sql}` })).rows : []
    })
    expect(JSON.stringify(plans)).toMatch(/users_email.*Index Cond: \(\(account_id = .* AND \(\(translate/)
  })

  test('a person is found by address, and an unknown one is 404', async () => {
    const acme = await company([{ email: 'nora@acme.example', firstName: 'Nora', lastName: 'Berg' }])
    const find = (personnelId: number | `email:${string}`) =>
      acme.client.getPersonnel({ params: { personnelId }, query: {} })

    const person = bodyOf(await find('email:NORA@acme.example'), 200)
    const answers = [
      await find(person.id),
      await find('email:nobody@acme.example'),
      await find('email:\0'),
      await find(999_999),
    ]

    expect(answers.map(({ status }) => status)).toEqual([200, 404, 404, 404])
  })
})
