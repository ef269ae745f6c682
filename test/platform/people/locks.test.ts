import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { maxLagMs } from '../../../src/platform/people/search-index.ts'
import { SeedDocument } from '../../../src/platform/seed/document.ts'
import { createPostgresDatabase } from '../../helpers/servers/databases.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

describe('writers of people', () => {
  let opened: TestPlatform

  beforeAll(async () => {
    opened = await openTestPlatform(createPostgresDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  async function open() {
    const account = await opened.newAccount()
    const people = ['ana', 'bo', 'cy'].map((name) => ({
      email: `${name}@acme.example`,
      firstName: name,
      lastName: 'X',
    }))
    await opened.operator.seed({
      body: SeedDocument.parse({ accounts: [{ name: account.name, entitlements: [], termsAcceptedAt: null, people }] }),
    })
    return { ...account, people: bodyOf(await account.client.listPersonnel({ query: {} }), 200).data }
  }

  /** Resolves once this many sessions of the database wait for a lock. */
  async function waitForWaiting(count: number): Promise<void> {
    const query = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
    for (;;) {
      const { rows } = await opened.platform.database.pool.query(query)
      if (rows.length >= count) return
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  test('lock several people in the order of their ids, however they are stored', async () => {
    const { client, people } = await open()
    for (const { id } of people) {
      await client.updatePersonnel({ params: { personnelId: id }, body: { employmentStatus: 'CURRENT_CONTRACTOR' } })
    }
    const [first = 0, ...others] = people.map(({ id }) => id).sort((one, other) => one - other)
    // A new version of the row stands behind those of the others.
    await client.updatePersonnel({ params: { personnelId: first }, body: { employmentStatus: 'CURRENT_EMPLOYEE' } })
    const holder = await opened.platform.database.pool.connect()
    await holder.query('begin')
    await holder.query('select from personnel where id = $1 for update', [first])

    const reset = client.resetPersonnelSync({ body: { action: 'reset-sync-all' } })
    await waitForWaiting(1)
    const { rows } = await holder.query('select id from personnel where id = any($1) for update skip locked', [others])
    await holder.query('rollback')
    holder.release()

    expect(bodyOf(await reset, 201)).toEqual({ count: 3 })
    expect(rows).toHaveLength(2)
  })

  test('of the search index wait for one update, and no more than one session waits for its lock', async () => {
    const { client, id } = await open()
    const holder = await opened.platform.database.pool.connect()
    await holder.query('begin')
    await holder.query(`select pg_advisory_xact_lock(hashtext('personnel_search'), $1::int)`, [id])

    const first = [client.searchPersonnel({ query: {} })]
    await waitForWaiting(1)
    opened.clock.advance(maxLagMs)
    const later = [1, 2, 3].map(() => client.searchPersonnel({ query: {} }))
    // An answer to another request shows that those before it have arrived.
    await client.listPersonnel({ query: {} })
    const waiting = await holder.query(
      `select 1 from pg_stat_activity where wait_event = 'advisory' and datname = current_database()`,
    )
    await holder.query('rollback')
    holder.release()
    const answers = await Promise.all([...first, ...later])

    expect(waiting.rows).toHaveLength(1)
    expect(answers.map((answer) => bodyOf(answer, 200).data.length)).toEqual([3, 3, 3, 3])
  })
})
