import type { KyselyPlugin, PluginTransformQueryArgs, PluginTransformResultArgs } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hrisUserIdentities } from '../../../src/contract/platform/hris-user-identities.ts'
import { applyBatch } from '../../../src/platform/identities/batch.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { newPeople } from '../helpers/people.ts'
import { bodyOf, openTestPlatform, type PlatformClient, type TestPlatform } from '../helpers/platforms.ts'

const minuteMs = 60_000
const firstDate = '2026-01-31T00:00:00.000Z'
const laterDate = '2026-02-28T00:00:00.000Z'

describe.each(databases)('batches of identities on $name', ({ createDatabase }) => {
  let opened: TestPlatform
  let client: PlatformClient

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
    client = (await opened.newAccount()).client
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  const connection = () => newPeople(client)

  test('an item that changes nothing answers 200 without data and leaves updatedAt alone', async () => {
    const people = await connection()
    const record = { identityId: 'a', firstName: 'Ana', startedAt: '2024-01-01T00:00:00.000Z', separatedAt: firstDate }
    await people.put(record)
    const before = await people.get('a')
    opened.clock.advance(minuteMs)

    const answer = await people.send({ ...record, startedAt: '2024-01-01T02:00:00+02:00' })

    expect(answer).toMatchObject({ status: 200, body: [{ statusCode: 200, data: null }] })
    expect(await people.get('a')).toEqual(before)
  })

  test('a change moves updatedAt and leaves createdAt alone', async () => {
    const people = await connection()
    await people.put({ identityId: 'a' })
    const before = await people.get('a')
    opened.clock.advance(minuteMs)

    await people.put({ identityId: 'a', jobTitle: 'Engineer' })

    const after = await people.get('a')
    expect([after.createdAt, after.updatedAt]).toEqual([before.createdAt, opened.clock.now().toISOString()])
  })

  test('created and updated together give 200', async () => {
    const people = await connection()
    await people.put({ identityId: 'a' })

    const answer = await people.send({ identityId: 'a', firstName: 'Ana' }, { identityId: 'b' })

    expect(answer).toMatchObject({ status: 200, body: [{ statusCode: 200 }, { statusCode: 201 }] })
  })

  test('a stored leaving date stays when another one is sent, and the rest of the item applies', async () => {
    const people = await connection()
    await people.put({ identityId: 'a', separatedAt: firstDate })

    const alone = await people.send({ identityId: 'a', separatedAt: laterDate })
    const withMore = await people.send({ identityId: 'a', separatedAt: laterDate, jobTitle: 'Adviser' })

    expect(bodyOf(alone, 200)).toEqual([{ statusCode: 200, data: null }])
    expect(bodyOf(withMore, 200)[0]?.data).toMatchObject({ separatedAt: firstDate, jobTitle: 'Adviser' })
  })

  test('null clears a leaving date, and a later request may set another one', async () => {
    const people = await connection()
    await people.put({ identityId: 'a', separatedAt: firstDate })

    await people.put({ identityId: 'a', separatedAt: null })
    const cleared = await people.get('a')
    await people.put({ identityId: 'a', separatedAt: laterDate })

    expect([cleared.separatedAt, (await people.get('a')).separatedAt]).toEqual([null, laterDate])
  })

  test('batches that meet on the same keys, new or known, all succeed and lose nothing', async () => {
    const people = await connection()
    const fields = ['firstName', 'lastName', 'jobTitle', 'managerId', 'managerName'] as const
    const rounds = [1, 2, 3, 4, 5]
    const keysOf = (round: number) => Array.from({ length: 1000 }, (_, index) => `${round}-${index}`)
    const sendAll = (round: number, value: string) => {
      const batches = fields.map((field) => keysOf(round).map((identityId) => ({ identityId, [field]: value })))
      return Promise.all(batches.map((items, index) => people.send(...(index % 2 === 0 ? items : items.toReversed()))))
    }

    const statuses = []
    for (const round of rounds) {
      const [asNew, asKnown] = [await sendAll(round, 'new'), await sendAll(round, 'known')]
      statuses.push([asNew, asKnown].map((answers) => answers.map(({ status }) => status).toSorted()))
    }

    expect(statuses).toEqual(
      rounds.map(() => [
        [200, 200, 200, 200, 201],
        [200, 200, 200, 200, 200],
      ]),
    )
    const stored = await Promise.all(
      keysOf(1)
        .slice(0, 20)
        .map((key) => people.get(key)),
    )
    expect(stored.filter((record) => fields.some((field) => record[field] !== 'known'))).toEqual([])
  })

  test('a batch takes one statement whatever its size', async () => {
    const account = await opened.newAccount()
    const { params } = await newPeople(account.client)
    const caller = {
      operation: hrisUserIdentities.upsertHrisUserIdentities,
      accountId: account.id,
      callerId: 1,
      now: opened.clock.now,
    }
    const count = async (size: number) => {
      const counter = new StatementCounter()
      const submissions = Array.from({ length: size }, (_, index) => ({
        identityId: `${index}`,
        values: { firstName: `${size}` },
      }))
      await applyBatch(opened.platform.database.db.withPlugin(counter), caller, { ...params, submissions })
      return counter.statements
    }

    const counts = { new: await count(1), unchanged: await count(1), both: await count(2), large: await count(1000) }

    expect(counts).toEqual({ new: 1, unchanged: 1, both: 1, large: 1 })
  })
})

class StatementCounter implements KyselyPlugin {
  statements = 0

  transformQuery({ node }: PluginTransformQueryArgs) {
    return node
  }

  async transformResult({ result }: PluginTransformResultArgs) {
    this.statements += 1
    return result
  }
}
