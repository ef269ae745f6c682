import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases } from '../../helpers/servers/databases.ts'
import { newPeople } from '../helpers/people.ts'
import { bodyOf, openTestPlatform, type PlatformClient, type TestPlatform } from '../helpers/platforms.ts'

const minuteMs = 60_000
const firstDate = '2026-01-31T00:00:00.000Z'
const laterDate = '2026-02-28T00:00:00.000Z'

describe.each(databases)('HRIS identities on $name', ({ createDatabase }) => {
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

  test('new people are created with 201, and missing fields are null', async () => {
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

    expect(answer).toMatchObject({
      status: 200,
      body: [{ statusCode: 200, data: { firstName: 'Ana', lastName: null } }],
    })
    expect(await people.get('a')).toMatchObject({ firstName: 'Ana', lastName: null, isContractor: false })
  })

  test('the update operation changes what it names and answers the record', async () => {
    const people = await connection()
    await people.put({ identityId: 'a', firstName: 'Ana', jobTitle: 'Engineer' })
    opened.clock.advance(minuteMs)

    const answer = await people.update('a', { identityId: 'a', separatedAt: firstDate, jobTitle: null })

    const expected = {
      firstName: 'Ana',
      jobTitle: null,
      separatedAt: firstDate,
      updatedAt: opened.clock.now().toISOString(),
    }
    expect(bodyOf(answer, 200)).toMatchObject(expected)
    expect(await people.get('a')).toMatchObject(expected)
  })

  test('the update operation keeps a stored leaving date too, and a repeat changes nothing', async () => {
    const people = await connection()
    await people.put({ identityId: 'a', separatedAt: firstDate })
    const before = await people.get('a')
    opened.clock.advance(minuteMs)

    const other = await people.update('a', { separatedAt: laterDate })
    const same = await people.update('a', { separatedAt: firstDate })

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
        bodyOf(
          await client.getHrisUserIdentity({ params: { ...people.params, userIdentityId: result.data?.id ?? 0 } }),
          200,
        ),
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
    const list = bodyOf(
      await client.listHrisUserIdentities({ params: people.params, query: { includeTotalCount: true } }),
      200,
    )
    expect(answers.map(({ status }) => status)).toEqual([204, 404, 404, 404, 404])
    expect(list).toMatchObject({ data: [{ identityId: 'b' }], pagination: { totalCount: 1 } })
  })

  test('sending the key again restores a deleted record with its id, its creation time and its missing fields', async () => {
    const people = await connection()
    await people.put({ identityId: 'a', firstName: 'Ana', separatedAt: firstDate })
    const before = await people.get('a')
    await people.delete('a')
    opened.clock.advance(minuteMs)

    const answer = await people.send({ identityId: 'a', lastName: 'Silva', separatedAt: laterDate })

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

  test('a connection that is missing is 404, and one of another type is 400', async () => {
    const devices = bodyOf(
      await client.createCustomConnection({ body: { name: 'Devices', providerTypes: ['MDM'] } }),
      201,
    )
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
    expect(await ask(devices.id)).toEqual([400, 400, 400, 400, 400])
    const stored = opened.platform.database.db
      .selectFrom('hris_user_identities')
      .where('connection_id', '=', devices.id)
    expect(await stored.select('id').execute()).toEqual([])
  })
})
