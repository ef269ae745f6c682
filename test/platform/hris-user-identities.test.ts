import fc from 'fast-check'
import type { KyselyPlugin, PluginTransformQueryArgs, PluginTransformResultArgs } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { IdentityRecord } from '../../src/contract/hris-user-identities.ts'
import { applyBatch } from '../../src/platform/identity-batch.ts'
import { databases } from '../helpers/databases.ts'
import { bodyOf, newHrisConnection, openTestPlatform, type PlatformClient, type TestPlatform } from './platforms.ts'

const minuteMs = 60_000
const left = '2026-01-31T00:00:00.000Z'
const leftLater = '2026-02-28T00:00:00.000Z'

describe.each(databases)('HRIS identities on $name', ({ place }) => {
  let opened: TestPlatform
  let client: PlatformClient

  beforeAll(async () => {
    opened = await openTestPlatform(place)
    const account = await opened.newAccount()
    client = account.client
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  /** A connection of its own for a test, with what the test does most. */
  async function connection() {
    const params = { connectionId: await newHrisConnection(client) }
    const named = (key: string) => ({ ...params, userIdentityId: `identity-id:${key}` as const })
    return {
      params,
      named,
      send: (...items: readonly unknown[]) => client.upsertHrisUserIdentities({ params, body: items as IdentityRecord[] }),
      put: async (...records: readonly IdentityRecord[]) => {
        const answer = await client.upsertHrisUserIdentities({ params, body: [...records] })
        if (answer.status !== 200 && answer.status !== 201) throw new Error(`put failed: ${JSON.stringify(answer)}`)
        return answer.body
      },
      get: async (key: string) => bodyOf(await client.getHrisUserIdentity({ params: named(key) }), 200),
      update: (key: string, body: object) => client.updateHrisUserIdentity({ params: named(key), body }),
      delete: (key: string) => client.deleteHrisUserIdentity({ params: named(key) }),
    }
  }

  test('new people are created with 201, and what was left out is null', async () => {
    const people = await connection()

    const answer = await people.send({ identityId: 'a', email: 'ana@one.example' }, { identityId: 'b' })

    expect(answer).toMatchObject({ status: 201, body: [{ statusCode: 201 }, { statusCode: 201 }] })
    expect(await people.get('a')).toEqual({
      id: expect.any(Number),
      identityId: 'a',
      email: 'ana@one.example',
      secondaryEmail: null,
      firstName: null,
      lastName: null,
      jobTitle: null,
      managerId: null,
      managerName: null,
      startedAt: null,
      separatedAt: null,
      isContractor: null,
      createdAt: opened.clock.now().toISOString(),
      updatedAt: opened.clock.now().toISOString(),
    })
  })

  test('a left-out field keeps its value and null clears it', async () => {
    const people = await connection()
    await people.put({ identityId: 'a', firstName: 'Ana', lastName: 'Silva', isContractor: true })

    const answer = await people.send({ identityId: 'a', lastName: null, isContractor: false })

    expect(answer).toMatchObject({ status: 200, body: [{ statusCode: 200, data: { firstName: 'Ana', lastName: null } }] })
    expect(await people.get('a')).toMatchObject({ firstName: 'Ana', lastName: null, isContractor: false })
  })

  test('an item that changes nothing answers 200 without data and leaves updatedAt alone', async () => {
    const people = await connection()
    const record = { identityId: 'a', firstName: 'Ana', startedAt: '2024-01-01T00:00:00.000Z', separatedAt: left }
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

  test('a bad item fails alone, by position, with the field and never the value', async () => {
    const people = await connection()

    const answer = await people.send({ identityId: 'a' }, { identityId: 'b', email: 'not-an-address' }, { identityId: 'c' })

    const results = bodyOf(answer, 207)
    expect(results.map(({ statusCode }) => statusCode)).toEqual([201, 400, 201])
    expect(results[1]).toEqual({ statusCode: 400, data: null, error: { message: expect.stringContaining('email') } })
    expect(JSON.stringify(results[1])).not.toContain('not-an-address')
  })

  test('a batch in which every item fails answers 207', async () => {
    const people = await connection()

    const answer = await people.send({ identityId: '' }, { identityId: 7 }, {}, null, 'a', [])

    expect(bodyOf(answer, 207).map(({ statusCode }) => statusCode)).toEqual(Array(6).fill(400))
  })

  test.each([
    ['a key of 192 characters', { identityId: 'k'.repeat(192) }],
    ['a name of 192 characters', { identityId: 'a', firstName: 'n'.repeat(192) }],
    ['a number for a text', { identityId: 'a', jobTitle: 7 }],
    ['a text for a boolean', { identityId: 'a', isContractor: 'yes' }],
    ['a date without a time', { identityId: 'a', startedAt: '2024-01-01' }],
    ['a time without an offset', { identityId: 'a', startedAt: '2024-01-01T00:00:00' }],
    ['a day that does not exist', { identityId: 'a', separatedAt: '2024-02-30T00:00:00Z' }],
    ['the year 0', { identityId: 'a', separatedAt: '0000-01-01T00:00:00Z' }],
    ['a moment that its offset moves past the year 9999', { identityId: 'a', separatedAt: '9999-12-31T23:59:59-14:00' }],
    ['a NUL character', { identityId: 'a', lastName: 'Sil\0va' }],
    ['a NUL character in the key', { identityId: 'a\0' }],
    ['half of a surrogate pair', { identityId: 'a', managerName: '\ud83d' }],
    ['half of a surrogate pair in the key', { identityId: '\udc00' }],
  ])('%s is an error of its item', async (_what, item) => {
    const people = await connection()

    const answer = await people.send(item, { identityId: 'good' })

    expect(bodyOf(answer, 207).map(({ statusCode }) => statusCode)).toEqual([400, 201])
  })

  test('every text that is valid Unicode without NUL comes back as it was sent', async () => {
    const people = await connection()
    const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }).filter((value) => !value.includes('\0'))

    await fc.assert(
      fc.asyncProperty(text, text, async (identityId, lastName) => {
        await people.put({ identityId, lastName })

        const stored = bodyOf(
          await client.getHrisUserIdentity({ params: { ...people.params, userIdentityId: `identity-id:${identityId}` } }),
          200,
        )

        expect(stored).toMatchObject({ identityId, lastName })
      }),
      { numRuns: 60 },
    )
  })

  test('moments are stored in UTC to the millisecond', async () => {
    const people = await connection()

    await people.put({ identityId: 'a', startedAt: '1912-06-23T23:30:00.123456-01:00', separatedAt: '2024-02-29T00:00:00Z' })

    expect(await people.get('a')).toMatchObject({
      startedAt: '1912-06-24T00:30:00.123Z',
      separatedAt: '2024-02-29T00:00:00.000Z',
    })
  })

  test('a key that occurs twice fails in every place, wherever it stands', async () => {
    const people = await connection()

    const answer = await people.send({ identityId: 'a' }, { identityId: 'b' }, { identityId: 'a', email: 'no address' })

    expect(bodyOf(answer, 207).map(({ statusCode }) => statusCode)).toEqual([400, 201, 400])
    expect((await client.getHrisUserIdentity({ params: people.named('a') })).status).toBe(404)
  })

  test.each([
    ['an empty array', []],
    ['more than 1000 items', Array.from({ length: 1001 }, (_, index) => ({ identityId: `${index}` }))],
    ['an object', { identityId: 'a' }],
  ])('%s is refused as a whole', async (_what, body) => {
    const people = await connection()

    const answer = await client.upsertHrisUserIdentities({ params: people.params, body: body as IdentityRecord[] })

    expect(answer.status).toBe(400)
  })

  test('1000 items are answered in the order of the request', async () => {
    const people = await connection()
    const items = Array.from({ length: 1000 }, (_, index) => ({ identityId: `${(index * 7919) % 1000}` }))

    const answer = await people.send(...items)

    expect(bodyOf(answer, 201).map((result) => result.data?.identityId)).toEqual(items.map((item) => item.identityId))
  })

  test('a stored leaving date stays when another one is sent, and the rest of the item applies', async () => {
    const people = await connection()
    await people.put({ identityId: 'a', separatedAt: left })

    const alone = await people.send({ identityId: 'a', separatedAt: leftLater })
    const withMore = await people.send({ identityId: 'a', separatedAt: leftLater, jobTitle: 'Adviser' })

    expect(bodyOf(alone, 200)).toEqual([{ statusCode: 200, data: null }])
    expect(bodyOf(withMore, 200)[0]?.data).toMatchObject({ separatedAt: left, jobTitle: 'Adviser' })
  })

  test('null clears a leaving date, and a later request may set another one', async () => {
    const people = await connection()
    await people.put({ identityId: 'a', separatedAt: left })

    await people.put({ identityId: 'a', separatedAt: null })
    const cleared = await people.get('a')
    await people.put({ identityId: 'a', separatedAt: leftLater })

    expect([cleared.separatedAt, (await people.get('a')).separatedAt]).toEqual([null, leftLater])
  })

  test('the update operation changes what it names and answers the record', async () => {
    const people = await connection()
    await people.put({ identityId: 'a', firstName: 'Ana', jobTitle: 'Engineer' })
    opened.clock.advance(minuteMs)

    const answer = await people.update('a', { identityId: 'a', separatedAt: left, jobTitle: null })

    const expected = { firstName: 'Ana', jobTitle: null, separatedAt: left, updatedAt: opened.clock.now().toISOString() }
    expect(bodyOf(answer, 200)).toMatchObject(expected)
    expect(await people.get('a')).toMatchObject(expected)
  })

  test('the update operation keeps a stored leaving date too, and a repeat changes nothing', async () => {
    const people = await connection()
    await people.put({ identityId: 'a', separatedAt: left })
    const before = await people.get('a')
    opened.clock.advance(minuteMs)

    const other = await people.update('a', { separatedAt: leftLater })
    const same = await people.update('a', { separatedAt: left })

    expect([bodyOf(other, 200), bodyOf(same, 200)]).toEqual([before, before])
  })

  test('an update that names no field, or another key, is refused', async () => {
    const people = await connection()
    await people.put({ identityId: 'a' })

    const answers = [
      await people.update('a', {}),
      await people.update('a', { identityId: 'a' }),
      await people.update('a', { identityId: 'b', firstName: 'Ana' }),
      await people.update('a', { firstName: 'A\0na' }),
    ]

    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400])
  })

  test('a record is found by number and by key, whatever characters the key has', async () => {
    const people = await connection()
    const keys = ['emp/001', 'a b', '100%', 'who?', '#1', '..', 'Zoë', '인사', 'identity-id:x', '7']
    const results = await people.put(...keys.map((identityId) => ({ identityId })))

    const byKey = await Promise.all(keys.map((key) => people.get(key)))
    const byNumber = await Promise.all(
      results.map(async (result) =>
        bodyOf(await client.getHrisUserIdentity({ params: { ...people.params, userIdentityId: result.data?.id ?? 0 } }), 200),
      ),
    )

    expect(byKey.map(({ identityId }) => identityId)).toEqual(keys)
    expect(byNumber).toEqual(byKey)
  })

  test('a deleted record is gone from get, list, update and delete', async () => {
    const people = await connection()
    await people.put({ identityId: 'a' }, { identityId: 'b' })

    const deleted = await people.delete('a')

    const answers = [
      deleted,
      await client.getHrisUserIdentity({ params: people.named('a') }),
      await people.update('a', { firstName: 'Ana' }),
      await people.delete('a'),
      await people.delete('never'),
    ]
    const list = bodyOf(await client.listHrisUserIdentities({ params: people.params, query: { includeTotalCount: true } }), 200)
    expect(answers.map(({ status }) => status)).toEqual([204, 404, 404, 404, 404])
    expect(list).toMatchObject({ data: [{ identityId: 'b' }], pagination: { totalCount: 1 } })
  })

  test('sending the key again restores a deleted record with its id, its creation and what is left out', async () => {
    const people = await connection()
    await people.put({ identityId: 'a', firstName: 'Ana', separatedAt: left })
    const before = await people.get('a')
    await people.delete('a')
    opened.clock.advance(minuteMs)

    const answer = await people.send({ identityId: 'a', lastName: 'Silva', separatedAt: leftLater })

    const restored = { ...before, lastName: 'Silva', updatedAt: opened.clock.now().toISOString() }
    expect(bodyOf(answer, 200)).toEqual([{ statusCode: 200, data: restored }])
    expect(await people.get('a')).toEqual(restored)
  })

  test('a restore that repeats every value still answers the record', async () => {
    const people = await connection()
    await people.put({ identityId: 'a', firstName: 'Ana' })
    await people.delete('a')

    const answer = await people.send({ identityId: 'a', firstName: 'Ana' })

    expect(bodyOf(answer, 200)[0]?.data).toMatchObject({ identityId: 'a', firstName: 'Ana' })
  })

  test('a connection that is missing is 404; one of another type is 400, and 404 where the operation lists no 400', async () => {
    const devices = bodyOf(await client.createCustomConnection({ body: { name: 'Devices', providerTypes: ['MDM'] } }), 201)
    const ask = async (connectionId: number) => {
      const params = { connectionId, userIdentityId: 'identity-id:a' as const }
      const answers = [
        await client.listHrisUserIdentities({ params: { connectionId }, query: {} }),
        await client.upsertHrisUserIdentities({ params: { connectionId }, body: [{ identityId: 'a' }] }),
        await client.getHrisUserIdentity({ params }),
        await client.updateHrisUserIdentity({ params, body: { firstName: 'Ana' } }),
        await client.deleteHrisUserIdentity({ params }),
      ]
      return answers.map(({ status }) => status)
    }

    expect(await ask(999_999)).toEqual([404, 404, 404, 404, 404])
    expect(await ask(devices.id)).toEqual([404, 400, 400, 400, 400])
  })

  test('batches that meet on the same keys all succeed and lose nothing', async () => {
    const people = await connection()
    const fields = ['firstName', 'lastName', 'jobTitle', 'managerId', 'managerName'] as const
    const keys = Array.from({ length: 200 }, (_, index) => `k${index}`)
    const batches = fields.map((field, index) =>
      keys.map((identityId) => ({ identityId, [field]: field })).toSorted(() => (index % 2 === 0 ? 1 : -1)),
    )

    const answers = await Promise.all(batches.map((items) => people.send(...items)))

    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 200, 201])
    const list = bodyOf(await client.listHrisUserIdentities({ params: people.params, query: { size: 500 } }), 200).data
    expect(list).toHaveLength(keys.length)
    expect(list.filter((record) => fields.some((field) => record[field] !== field))).toEqual([])
  })

  test('a batch takes the same few statements whatever its size', async () => {
    const { params } = await connection()
    const count = async (size: number) => {
      const counter = new StatementCounter()
      const submissions = Array.from({ length: size }, (_, index) => ({ identityId: `${index}`, values: { firstName: `${size}` } }))
      await opened.platform.database.db
        .withPlugin(counter)
        .transaction()
        .execute((trx) => applyBatch(trx, { ...params, submissions, now: opened.clock.now() }))
      return counter.statements
    }

    const counts = [await count(1), await count(1), await count(2), await count(1000)]

    expect(counts).toEqual([1, 3, 3, 3])
  })
})

class StatementCounter implements KyselyPlugin {
  statements = 0

  transformQuery({ node }: PluginTransformQueryArgs) {
    this.statements += 1
    return node
  }

  async transformResult({ result }: PluginTransformResultArgs) {
    return result
  }
}
