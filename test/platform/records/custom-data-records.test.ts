import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases } from '../../helpers/servers/databases.ts'
import { hostSchema, newRecords } from '../helpers/data-records.ts'
import {
  bodyOf,
  newHrisConnection,
  openTestPlatform,
  type TestAccount,
  type TestPlatform,
} from '../helpers/platforms.ts'

const minuteMs = 60_000
const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/

describe.each(databases)('custom data records on $name', ({ createDatabase }) => {
  let opened: TestPlatform
  let account: TestAccount

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
    account = await opened.newAccount()
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  const records = (schema?: Record<string, unknown>) => newRecords(opened, account, schema)
  const now = () => opened.clock.now().toISOString()
  const statuses = (answers: readonly { status: unknown }[]) => answers.map(({ status }) => status)

  test('a new record is created with 201 and listed with its attributes', async () => {
    const hosts = await records()

    const answer = await hosts.send({ id: 'web-1', hostname: 'web-1.example', cpus: 4, tags: ['a', null] })

    const data = { id: 'web-1', hostname: 'web-1.example', cpus: 4, tags: ['a', null] }
    expect(answer).toMatchObject({ status: 201 })
    expect(bodyOf(answer, 201)).toEqual({ id: 'web-1', createdAt: now(), updatedAt: now(), statusCode: 201, data })
    expect(await hosts.list()).toEqual([
      { id: 'web-1', attributes: data, sessionId: null, createdAt: now(), updatedAt: now() },
    ])
  })

  test('a known key replaces the record with 200', async () => {
    const hosts = await records()
    const { createdAt } = bodyOf(await hosts.send({ id: 'a', hostname: 'old', cpus: 4 }), 201)
    opened.clock.advance(minuteMs)

    const answer = await hosts.send({ id: 'a', hostname: 'new' })

    expect(bodyOf(answer, 200)).toMatchObject({ statusCode: 200, createdAt, updatedAt: now() })
    expect(await hosts.list()).toMatchObject([{ attributes: { id: 'a', hostname: 'new' }, createdAt }])
    expect((await hosts.list())[0]?.attributes).not.toHaveProperty('cpus')
  })

  test('an unchanged record keeps its timestamps', async () => {
    const hosts = await records()
    await hosts.send({ id: 'a', hostname: 'one', cpus: 4 })
    const before = await hosts.list()
    opened.clock.advance(minuteMs)

    const answer = await hosts.send({ cpus: 4, hostname: 'one', id: 'a' })

    expect(bodyOf(answer, 200)).toMatchObject({ statusCode: 200, updatedAt: before[0]?.updatedAt })
    expect(await hosts.list()).toEqual(before)
  })

  test('a record without a key gets a UUID', async () => {
    const hosts = await records()

    const { id, data } = bodyOf(await hosts.send({ hostname: 'one' }), 201)

    expect(id).toMatch(uuid)
    expect(data).toEqual({ hostname: 'one' })
    expect(await hosts.list()).toMatchObject([{ id, attributes: { hostname: 'one' } }])
  })

  test('a list answers for every record in its order, and a bad one does not stop the others', async () => {
    const hosts = await records()
    await hosts.send({ id: 'known', hostname: 'old' })

    const answer = await hosts.send([
      { id: 'new', hostname: 'one' },
      { id: 'bad', cpus: 'four' },
      { id: 'known', hostname: 'changed' },
      { id: 'twice', hostname: 'one' },
      { id: 7, hostname: 'one' },
      { id: '', hostname: 'one' },
      { id: 'k'.repeat(192), hostname: 'one' },
      { id: 'nul', hostname: 'a\0b' },
      { id: 'large', hostname: 'x'.repeat(1024 * 1024) },
      { id: 'twice', hostname: 'two' },
      { hostname: 'keyless' },
    ])

    const results = bodyOf(answer, 200)
    expect(results).toMatchObject([
      { statusCode: 201, id: 'new' },
      { statusCode: 400, id: 'bad', error: { code: 28022 }, data: { id: 'bad', cpus: 'four' } },
      { statusCode: 200, id: 'known' },
      { statusCode: 400, id: 'twice', error: { message: expect.stringContaining('more than once') } },
      { statusCode: 400, error: { message: expect.stringContaining('id must be') } },
      { statusCode: 400, error: { message: expect.stringContaining('id must be') } },
      { statusCode: 400, error: { message: expect.stringContaining('id must be') } },
      { statusCode: 400, id: 'nul', error: { message: expect.stringContaining('cannot be stored') } },
      { statusCode: 400, id: 'large', error: { message: expect.stringContaining('larger than 1024 KiB') } },
      { statusCode: 400, id: 'twice' },
      { statusCode: 201, id: expect.stringMatching(uuid) },
    ])
    expect(await hosts.keys()).toHaveLength(3)
  })

  test('a schema error names the path and the reason, and shows no value', async () => {
    const hosts = await records()

    const answer = await hosts.send({ id: 'a', hostname: 17, cpus: 'secret' })

    expect(answer).toMatchObject({ status: 400, error: { code: 28022, name: 'SchemaMismatch' } })
    const { message } = (answer as { error: { message: string } }).error
    const [intro, list] = message.split(/(?<=for data: )/)
    expect(intro).toBe('Schema validation failed for data: ')
    expect(JSON.parse(list ?? '')).toEqual([
      { instancePath: '/cpus', keyword: 'type', params: { type: 'number' }, message: 'must be number' },
      { instancePath: '/hostname', keyword: 'type', params: { type: 'string' }, message: 'must be string' },
    ])
    expect(await hosts.list()).toEqual([])
  })

  test('an empty list is nothing to do, and too long a one is refused', async () => {
    const hosts = await records()

    const answers = [
      await hosts.send([]),
      await hosts.send(Array.from({ length: 10_001 }, () => ({ hostname: 'one' }))),
    ]

    expect(answers).toMatchObject([{ status: 200, body: [] }, { status: 400 }])
    expect(await hosts.list()).toEqual([])
  })

  test('hostile JSON is refused with 400 or kept as it is', async () => {
    const hosts = await records()

    const answers = [
      await hosts.sendText('{"data":{"id":"a","hostname":"x","__proto__":{"isAdmin":true}}}'),
      await hosts.sendText('{"data":{"id":"b","hostname":"x","cpus":1e999}}'),
      await hosts.sendText(`{"data":{"id":"c","hostname":"x","deep":${'['.repeat(200)}${']'.repeat(200)}}}`),
      await hosts.sendText('{"data":{"id":"d","hostname":"x","\\ud800":1}}'),
      await hosts.sendText('{"data":["text"]}'),
      await hosts.sendText('{"data":null}'),
      await hosts.sendText('{}'),
      await hosts.sendText('{"data":{"id":"e","hostname":"x","toString":1,"constructor":"y","cpus":1e308}}'),
    ]

    expect(statuses(answers)).toEqual([400, 400, 400, 400, 400, 400, 400, 201])
    expect(await hosts.list()).toMatchObject([{ attributes: { toString: 1, constructor: 'y', cpus: 1e308 } }])
    expect({}).not.toHaveProperty('isAdmin')
  })

  test('a property that objects in general have does not satisfy a schema', async () => {
    const hosts = await records({ type: 'object', required: ['toString'] })

    const answer = await hosts.send({ id: 'a' })

    expect(answer).toMatchObject({ status: 400, error: { code: 28022 } })
  })

  test('an update merges properties into the record', async () => {
    const hosts = await records()
    await hosts.send({ id: 'a', hostname: 'one', cpus: 4, note: 'x' })
    opened.clock.advance(minuteMs)

    const answer = await hosts.update('a', { cpus: 8, note: null })

    const attributes = { id: 'a', hostname: 'one', cpus: 8, note: null }
    expect(bodyOf(answer, 200)).toMatchObject({ id: 'a', attributes, sessionId: null, updatedAt: now() })
    expect(await hosts.list()).toMatchObject([{ attributes, updatedAt: now() }])
  })

  test('an update that changes nothing leaves updatedAt alone', async () => {
    const hosts = await records()
    await hosts.send({ id: 'a', hostname: 'one', cpus: 4 })
    const [before] = await hosts.list()
    opened.clock.advance(minuteMs)

    const answers = [await hosts.update('a', {}), await hosts.update('a', { id: 'a', cpus: 4 })]

    expect(answers.map((answer) => bodyOf(answer, 200))).toEqual([before, before])
  })

  test('an update is refused where the whole would not satisfy the schema, has another key or is too large', async () => {
    const hosts = await records()
    await hosts.send({ id: 'a', hostname: 'one', half: 'x'.repeat(600 * 1024) })
    const before = await hosts.list()

    const answers = [
      await hosts.update('a', { hostname: null }),
      await hosts.update('a', { id: 'b' }),
      await hosts.update('a', { note: '\0' }),
      await hosts.update('a', { other: 'x'.repeat(600 * 1024) }),
      await hosts.update('unknown', { cpus: 1 }),
    ]

    expect(statuses(answers)).toEqual([400, 400, 400, 413, 404])
    expect(answers[0]).toMatchObject({ error: { code: 28022 } })
    expect(await hosts.list()).toEqual(before)
  })

  test('an update of a record whose numbers have more digits than a double keeps them', async () => {
    const hosts = await records()
    await hosts.send({ id: 'a', hostname: 'one' })
    const { db } = opened.platform.database
    const digits = '12345678901234567890.125'
    await sql`
      update custom_data_records set attributes = attributes || ${`{"serial":${digits}}`}::jsonb
      where resource_id = ${hosts.params.resourceId}
    `.execute(db)

    const answer = await hosts.update('a', { cpus: 8 })

    expect(answer.status).toBe(200)
    const { rows } = await sql<{ serial: string; cpus: string }>`
      select attributes ->> 'serial' as serial, attributes ->> 'cpus' as cpus from custom_data_records
      where resource_id = ${hosts.params.resourceId}
    `.execute(db)
    expect(rows).toEqual([{ serial: digits, cpus: '8' }])
  })

  test('updates of one record at the same time all hold', async () => {
    const hosts = await records()
    await hosts.send({ id: 'a', hostname: 'one' })
    const names = Array.from({ length: 8 }, (_, index) => `p${index}`)

    const answers = await Promise.all(names.map((name) => hosts.update('a', { [name]: true })))

    expect(new Set(statuses(answers))).toEqual(new Set([200]))
    const [record] = await hosts.list()
    expect(record?.attributes).toEqual({
      id: 'a',
      hostname: 'one',
      ...Object.fromEntries(names.map((name) => [name, true])),
    })
  })

  test('a deleted record is gone, and its key can come back', async () => {
    const hosts = await records()
    await hosts.send([
      { id: 'a', hostname: 'one' },
      { id: 'b', hostname: 'two' },
    ])

    const answers = [await hosts.delete('a'), await hosts.delete('a'), await hosts.update('a', { cpus: 1 })]

    expect(statuses(answers)).toEqual([204, 404, 404])
    expect(await hosts.keys()).toEqual(['b'])
    expect((await hosts.send({ id: 'a', hostname: 'one' })).status).toBe(201)
  })

  test('a record is found by its key, whatever characters that has', async () => {
    const hosts = await records()
    const keys = ['emp/001', 'a b', '100%', 'who?', '#1', '..', 'Zoë', '인사', 'k'.repeat(191), '-7', '__proto__']
    await hosts.send(keys.map((id) => ({ id, hostname: 'one' })))

    const updates = await Promise.all(keys.map((key) => hosts.update(key, { cpus: 1 })))
    const deletions = await Promise.all(keys.map((key) => hosts.delete(key)))

    expect(new Set(statuses(updates))).toEqual(new Set([200]))
    expect(new Set(statuses(deletions))).toEqual(new Set([204]))
    expect(await hosts.list()).toEqual([])
  })

  test('an invalid key is a bad request in every operation', async () => {
    const hosts = await records()

    const answers = [
      await hosts.update('a\0', { cpus: 1 }),
      await hosts.delete('a\0'),
      await hosts.delete('k'.repeat(192)),
    ]

    expect(statuses(answers)).toEqual([400, 400, 400])
  })

  test('a walk finds every record once, in the order asked for', async () => {
    const hosts = await records()
    const keys = Array.from({ length: 23 }, (_, index) => `r${String(index).padStart(2, '0')}`)
    await hosts.send(keys.slice(0, 12).map((id) => ({ id, hostname: id })))
    opened.clock.advance(1)
    await hosts.send(keys.slice(12).map((id) => ({ id, hostname: id })))
    opened.clock.advance(1)
    await hosts.send({ id: 'r00', hostname: 'changed' })

    const first = await hosts.page({ size: 20, includeTotalCount: true })
    const second = await hosts.page({ size: 20, cursor: first.pagination.cursor ?? '' })
    const newest = await hosts.page({ size: 1, sort: 'updatedAt', sortDir: 'DESC' })

    expect([...first.data, ...second.data].map(({ id }) => id).toSorted()).toEqual(keys)
    expect([first.pagination.totalCount, second.pagination]).toEqual([23, {}])
    expect(newest.data).toMatchObject([{ id: 'r00' }])
  })

  test('a cursor holds for its list and filter only', async () => {
    const [hosts, others] = [await records(), await records()]
    await hosts.send(['a', 'b'].map((id) => ({ id, hostname: id })))
    const cursor = (await hosts.page({ size: 1 })).pagination.cursor ?? ''

    const answers = [
      await account.client.listCustomDataRecords({ params: others.params, query: { cursor } }),
      await account.client.listCustomDataRecords({ params: hosts.params, query: { cursor, sessionId: 'abc' } }),
      await account.client.listCustomDataRecords({ params: hosts.params, query: { sessionId: 'a b' } }),
      await account.client.listCustomDataRecords({ params: hosts.params, query: { sessionId: 'ab' } }),
    ]

    expect(statuses(answers)).toEqual([400, 400, 400, 400])
  })

  test("another account's records are as absent as none", async () => {
    const hosts = await records()
    await hosts.send({ id: 'a', hostname: 'one' })
    const stranger = await opened.newAccount()
    const own = await newRecords(opened, stranger)
    const { client } = stranger
    const record = { ...hosts.params, recordId: 'a' }
    const session = { ...hosts.params, sessionId: 'abc' }
    const mixed = { connectionId: own.params.connectionId, resourceId: hosts.params.resourceId }
    const body = { data: { id: 'a', hostname: 'stolen' } }

    const answers = [
      await client.listCustomDataRecords({ params: hosts.params, query: {} }),
      await client.upsertCustomDataRecords({ params: hosts.params, body }),
      await client.updateCustomDataRecord({ params: record, body }),
      await client.deleteCustomDataRecord({ params: record }),
      await client.listCustomDataSessions({ params: hosts.params, query: {} }),
      await client.uploadSessionRecords({ params: session, body }),
      await client.performSessionAction({ params: session, body: { action: 'complete' } }),
      await client.listCustomDataRecords({ params: mixed, query: {} }),
      await client.upsertCustomDataRecords({ params: mixed, body }),
      await client.deleteCustomDataRecord({ params: { ...mixed, recordId: 'a' } }),
      await client.listCustomDataRecords({ params: { connectionId: 999_999, resourceId: 1 }, query: {} }),
    ]

    expect(new Set(statuses(answers))).toEqual(new Set([404]))
    expect(await hosts.list()).toMatchObject([{ attributes: { hostname: 'one' } }])
  })

  test('a connection of another type holds no records, which is 400', async () => {
    const params = { connectionId: await newHrisConnection(account.client), resourceId: 1 }
    const { client } = account

    const answers = [
      await client.listCustomDataRecords({ params, query: {} }),
      await client.upsertCustomDataRecords({ params, body: { data: {} } }),
      await client.deleteCustomDataRecord({ params: { ...params, recordId: 'a' } }),
      await client.performSessionAction({ params: { ...params, sessionId: 'abc' }, body: { action: 'cancel' } }),
    ]

    expect(statuses(answers)).toEqual([400, 400, 400, 400])
  })

  test('every operation asks for its own permission', async () => {
    const hosts = await records()
    await hosts.send({ id: 'a', hostname: 'one' })
    const client = await opened.clientOf(account.name, ['custom-connections-data-put'])
    const params = { ...hosts.params, recordId: 'a' }

    const answers = [
      await client.updateCustomDataRecord({ params, body: { data: { cpus: 1 } } }),
      await client.deleteCustomDataRecord({ params }),
      await client.upsertCustomDataRecords({ params: hosts.params, body: { data: {} } }),
      await client.listCustomDataRecords({ params: hosts.params, query: {} }),
    ]

    expect(statuses(answers)).toEqual([200, 403, 403, 403])
  })

  test('uploads that share keys all succeed, and each key is created once', async () => {
    const hosts = await records()
    const keys = Array.from({ length: 150 }, (_, index) => `k${index}`)

    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, run) =>
        hosts.send((run % 2 === 0 ? keys : keys.toReversed()).map((id) => ({ id, hostname: `${run}` }))),
      ),
    )

    const results = answers.flatMap((answer) => bodyOf(answer, 200) as { statusCode: number }[])
    expect(results.filter(({ statusCode }) => statusCode === 201)).toHaveLength(keys.length)
    expect(results.filter(({ statusCode }) => statusCode === 200)).toHaveLength(keys.length * 7)
    expect(new Set((await hosts.list()).map(({ attributes }) => attributes.hostname)).size).toBe(1)
  })

  test('a connection is deleted with its records and sessions while uploads arrive', async () => {
    const hosts = await records()
    const batch = Array.from({ length: 200 }, (_, index) => ({ id: `${index}`, hostname: 'one' }))

    const answers = await Promise.all([
      ...Array.from({ length: 4 }, () => hosts.send(batch)),
      hosts.stage('abc', batch),
      account.client.deleteCustomConnection({ params: hosts.params }),
      hosts.act('abc', 'complete'),
      ...Array.from({ length: 4 }, () => hosts.send(batch)),
      hosts.update('1', { cpus: 1 }),
    ])

    const unexpected = statuses(answers).filter((status) => ![200, 201, 204, 404].includes(Number(status)))
    expect(unexpected).toEqual([])
    const { db } = opened.platform.database
    const remaining = await Promise.all(
      (['custom_data_records', 'custom_data_sessions'] as const).map((table) =>
        db.selectFrom(table).select('id').where('resource_id', '=', hosts.params.resourceId).execute(),
      ),
    )
    expect(remaining).toEqual([[], []])
  })

  test('a schema that keeps the validator busy for ever costs its own request only', async () => {
    const stuck = await records({ ...hostSchema, properties: { hostname: { type: 'string', pattern: '^(a+)+$' } } })
    const stranger = await opened.newAccount()
    const others = await newRecords(opened, stranger)
    let finished = false
    const sent = stuck.send({ id: 'a', hostname: `${'a'.repeat(40)}!` }).finally(() => {
      finished = true
    })

    const meanwhile = await others.send({ id: 'a', hostname: 'one' })

    expect([meanwhile.status, finished]).toEqual([201, false])
    expect(await sent).toMatchObject({ status: 400, error: { message: expect.stringContaining('takes longer than') } })
    expect((await stuck.send({ id: 'a', hostname: 'aaa' })).status).toBe(201)
  })
})
