import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PersonnelModify } from '../../../src/contract/platform/personnel.ts'
import { SeedDocument } from '../../../src/platform/seed/document.ts'
import { createPostgresDatabase, databases } from '../../helpers/servers/databases.ts'
import { newCompany } from '../helpers/companies.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

const hired = '2024-01-01T00:00:00.000Z'
const left = '2025-06-30T00:00:00.000Z'
const ana = 'email:ana@acme.example'

describe.each(databases)('edits of people by hand on $name', ({ createDatabase }) => {
  let opened: TestPlatform

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  test.each([
    ['startedAt', { startedAt: '2020-07-06' }, { startedAt: '2020-07-06T00:00:00.000Z', separatedAt: left }],
    [
      'separatedAt',
      { separatedAt: '2030-01-31' },
      { startedAt: '2023-01-01T00:00:00.000Z', separatedAt: '2030-01-31T00:00:00.000Z' },
    ],
    [
      'employmentStatus',
      { employmentStatus: 'CURRENT_CONTRACTOR' },
      { startedAt: '2023-01-01T00:00:00.000Z', separatedAt: left },
    ],
  ] as const)(
    '%s stays as it was set until the sync is reset, and other fields follow HR',
    async (field, body, dates) => {
      const acme = await withAna(opened)
      const edited = bodyOf(await acme.edit(body), 200)
      await acme.send([{ identityId: 'a', startedAt: '2023-01-01T00:00:00.000Z', separatedAt: left }])

      await acme.sync()
      const kept = await acme.person('ana@acme.example')
      const reset = await acme.client.resetPersonnelSync({ body: { action: 'reset-sync-all' } })
      await acme.sync()

      const isStatus = field === 'employmentStatus'
      expect(edited.statusUpdatedAt).toBe(isStatus ? '2026-03-02T10:00:00.000Z' : null)
      expect(kept).toMatchObject({ ...dates, employmentStatus: isStatus ? 'CURRENT_CONTRACTOR' : 'FORMER_EMPLOYEE' })
      expect(bodyOf(reset, 201)).toEqual({ count: 1 })
      expect(await acme.person('ana@acme.example')).toMatchObject({
        employmentStatus: 'FORMER_EMPLOYEE',
        startedAt: '2023-01-01T00:00:00.000Z',
        separatedAt: left,
        statusUpdatedAt: null,
      })
    },
  )

  test('somebody is out of scope with a reason and its author only, and loses both on the way back', async () => {
    const acme = await withAna(opened)

    const without = await acme.edit({ employmentStatus: 'OUT_OF_SCOPE' })
    const out = bodyOf(await acme.edit({ employmentStatus: 'OUT_OF_SCOPE', notHumanReason: 'a mailbox' }), 200)
    const again = bodyOf(await acme.edit({ employmentStatus: 'OUT_OF_SCOPE' }), 200)
    const { reasonProvider } = bodyOf(
      await acme.client.getPersonnel({ params: { personnelId: ana }, query: { 'expand[]': ['reasonProvider'] } }),
      200,
    )
    const back = bodyOf(await acme.edit({ employmentStatus: 'CURRENT_EMPLOYEE' }), 200)
    const misplaced = await acme.edit({ notHumanReason: 'a mailbox' })
    const blank = await acme.edit({ employmentStatus: 'OUT_OF_SCOPE', notHumanReason: ' \n' })

    expect([without.status, misplaced.status, blank.status]).toEqual([400, 400, 400])
    expect([out.notHumanReason, again.notHumanReason, back.notHumanReason]).toEqual(['a mailbox', 'a mailbox', null])
    expect(reasonProvider?.email).toMatch(/@/)
  })

  test('an edit that changes something leaves one event, and one that repeats it none', async () => {
    const acme = await withAna(opened)
    await acme.edit({ employmentStatus: 'CURRENT_CONTRACTOR' })
    const before = await acme.events()
    opened.clock.advance(1000)

    const repeated = bodyOf(await acme.edit({ employmentStatus: 'CURRENT_CONTRACTOR' }), 200)

    expect(before.map(({ description, source }) => [description, source])).toEqual([
      [expect.stringContaining('by hand from CURRENT_EMPLOYEE to CURRENT_CONTRACTOR'), 'PUBLIC_API'],
    ])
    expect(await acme.events()).toHaveLength(1)
    expect(repeated.statusUpdatedAt).not.toBe(opened.clock.now().toISOString())
  })

  test('refuses what says nothing, no date, unknown people and custom fields beyond the plan', async () => {
    const acme = await withAna(opened)
    const nobody = { personnelId: 'email:nobody@acme.example' as const }

    const answers = [
      await acme.edit({}),
      await acme.edit({ startedAt: '2026-02-30' }),
      await acme.edit({ startedAt: '0000-01-01' }),
      await acme.edit({ customFields: [{ name: 'Desk', value: '7' }] }),
      await acme.client.updatePersonnel({ params: nobody, body: { startedAt: '2026-01-31' } }),
    ]

    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 403, 404])
  })

  test('stores custom fields, and refuses unknown ones', async () => {
    const { name, client } = await opened.newAccount({ entitlements: ['CUSTOM_FIELDS_AND_FORMULAS'] })
    const people = [{ email: 'ana@acme.example', firstName: 'Ana', lastName: 'Low' }]
    const customFields = [{ name: 'Desk', type: 'TEXT', entityTypes: ['PERSONNEL'] }]
    const account = { name, entitlements: [], termsAcceptedAt: null, people, customFields }
    await opened.operator.seed({ body: SeedDocument.parse({ accounts: [account] }) })
    const edit = (field: string) =>
      client.updatePersonnel({ params: { personnelId: ana }, body: { customFields: [{ name: field, value: '7' }] } })

    const nameless = { customFields: [{ value: '7' }] }
    const answers = [
      await edit('Desk'),
      await edit('Chair'),
      await client.updatePersonnel({ params: { personnelId: 987_654 }, body: nameless }),
    ]

    const read = await client.getPersonnel({ params: { personnelId: ana }, query: { 'expand[]': ['customFields'] } })
    expect(answers.map(({ status }) => status)).toEqual([200, 400, 400])
    expect(bodyOf(read, 200).customFields).toMatchObject([{ name: 'Desk', value: '7' }])
  })
})

test('an edit during an identity sync is not undone by it', async () => {
  await using opened = await openTestPlatform(createPostgresDatabase)
  const acme = await withAna(opened)
  await acme.send([{ identityId: 'a', separatedAt: left }])
  const { db } = opened.platform.database
  const isLocked = Promise.withResolvers<void>()
  const mayEnd = Promise.withResolvers<void>()
  // Holds the row as an edit does, while the sync has found its changes and waits for the row.
  const edit = db.transaction().execute(async (trx) => {
    const { id } = await acme.person('ana@acme.example')
    await trx
      .updateTable('personnel')
      .set({ employment_status: 'CURRENT_CONTRACTOR', status_updated_at: opened.clock.now() })
      .where('id', '=', id)
      .execute()
    isLocked.resolve()
    await mayEnd.promise
  })
  await isLocked.promise
  const sync = acme.sync()
  await waitsForRow(opened)
  mayEnd.resolve()
  await Promise.all([edit, sync])

  expect(await acme.person('ana@acme.example')).toMatchObject({
    employmentStatus: 'CURRENT_CONTRACTOR',
    separatedAt: left,
  })
  expect((await acme.events()).map(({ source }) => source)).toEqual([])
})

/** A company with one employee, who is edited. */
async function withAna(opened: TestPlatform) {
  const acme = await newCompany(opened)
  await acme.send([{ identityId: 'a', email: 'ana@acme.example', startedAt: hired, isContractor: false }])
  await acme.sync()
  const edit = (body: PersonnelModify) => acme.client.updatePersonnel({ params: { personnelId: ana }, body })
  const events = async () =>
    bodyOf(await acme.client.listEvents({ query: { type: 'EMPLOYMENT_STATUS_UPDATED' } }), 200).data
  return { ...acme, edit, events }
}

/** Resolves when a session waits for the lock of a row. */
async function waitsForRow({ platform }: TestPlatform): Promise<void> {
  const query = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
  for (;;) if ((await platform.database.pool.query(query)).rows.length > 0) return
}
