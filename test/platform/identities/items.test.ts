import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { IdentityRecord } from '../../../src/contract/platform/hris-user-identities.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { newPeople } from '../helpers/people.ts'
import { bodyOf, openTestPlatform, type PlatformClient, type TestPlatform } from '../helpers/platforms.ts'

describe.each(databases)('items of a batch on $name', ({ createDatabase }) => {
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

  test('a bad item fails alone, by position, with the field and never the value', async () => {
    const people = await connection()

    const answer = await people.send(
      { identityId: 'a' },
      { identityId: 'b', email: 'not-an-address' },
      { identityId: 'c' },
    )

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
    [
      'a moment that its offset moves past the year 9999',
      { identityId: 'a', separatedAt: '9999-12-31T23:59:59-14:00' },
    ],
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
          await client.getHrisUserIdentity({
            params: { ...people.params, userIdentityId: `identity-id:${identityId}` },
          }),
          200,
        )

        expect(stored).toMatchObject({ identityId, lastName })
      }),
      { numRuns: 60 },
    )
  })

  test('moments are stored in UTC to the millisecond', async () => {
    const people = await connection()

    await people.put({
      identityId: 'a',
      startedAt: '1912-06-23T23:30:00.123456-01:00',
      separatedAt: '2024-02-29T00:00:00Z',
    })

    expect(await people.get('a')).toMatchObject({
      startedAt: '1912-06-24T00:30:00.123Z',
      separatedAt: '2024-02-29T00:00:00.000Z',
    })
  })

  test('every occurrence of a repeated key fails', async () => {
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
})
