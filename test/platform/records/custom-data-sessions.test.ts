import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases } from '../../helpers/servers/databases.ts'
import { newRecords, type Records } from '../helpers/data-records.ts'
import { bodyOf, openTestPlatform, type TestAccount, type TestPlatform } from '../helpers/platforms.ts'

const minuteMs = 60_000

describe.each(databases)('custom data sessions on $name', ({ createDatabase }) => {
  let opened: TestPlatform
  let account: TestAccount

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
    account = await opened.newAccount()
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  const records = () => newRecords(opened, account)
  const now = () => opened.clock.now().toISOString()
  const hosts = (...ids: string[]) => ids.map((id) => ({ id, hostname: id }))
  const statuses = (answers: readonly { status: unknown }[]) => answers.map(({ status }) => status)

  test('the first upload begins a session, whose records are listed with it and not live', async () => {
    const site = await records()
    await site.send({ id: 'direct', hostname: 'one' })

    const single = await site.stage('load_1', { id: 'a', hostname: 'one' })
    const bulk = await site.stage('load_1', hosts('a', 'b'))

    expect(bodyOf(single, 201)).toMatchObject({ id: 'a', statusCode: 201 })
    expect(bodyOf(bulk, 200)).toMatchObject([{ statusCode: 200 }, { statusCode: 201 }])
    expect(await site.keys()).toEqual(['direct'])
    expect(await site.list({ sessionId: 'load_1' })).toMatchObject([
      { id: 'a', sessionId: 'load_1', attributes: { id: 'a', hostname: 'a' } },
      { id: 'b', sessionId: 'load_1' },
    ])
    expect(await site.sessions()).toEqual([
      {
        id: expect.any(Number),
        sessionId: 'load_1',
        status: 'IN_PROGRESS',
        createdAt: now(),
        updatedAt: now(),
        activatedAt: null,
        canceledAt: null,
      },
    ])
  })

  test('completing makes its records the live ones and deletes those that were uploaded directly', async () => {
    const site = await records()
    await site.send(hosts('direct', 'shared'))
    await site.stage('load-1', hosts('shared', 'b'))
    opened.clock.advance(minuteMs)

    const answer = await site.act('load-1', 'complete')

    expect(bodyOf(answer, 200)).toEqual({
      sessionId: 'load-1',
      status: 'ACTIVE',
      action: 'complete',
      ...site.params,
    })
    expect(await site.list()).toMatchObject([
      { id: 'b', sessionId: 'load-1' },
      { id: 'shared', sessionId: 'load-1' },
    ])
    expect(await site.sessions()).toMatchObject([{ status: 'ACTIVE', activatedAt: now(), canceledAt: null }])
  })

  test('the next session that completes archives the one before and deletes its records for good', async () => {
    const site = await records()
    await site.stage('one', hosts('a', 'b'))
    await site.act('one', 'complete')
    await site.stage('two', hosts('b', 'c'))

    await site.act('two', 'complete')

    expect(await site.states()).toEqual({ one: 'ARCHIVED', two: 'ACTIVE' })
    expect([await site.keys(), await site.keys('one'), await site.keys('two')]).toEqual([['b', 'c'], [], ['b', 'c']])
    const { db } = opened.platform.database
    const kept = await db
      .selectFrom('custom_data_records')
      .select('id')
      .where('resource_id', '=', site.params.resourceId)
      .execute()
    expect(kept).toHaveLength(2)
  })

  test('cancelling discards the staged records and leaves the live ones alone', async () => {
    const site = await records()
    await site.stage('one', hosts('a'))
    await site.act('one', 'complete')
    const before = await site.list()
    await site.stage('two', hosts('a', 'b'))
    opened.clock.advance(minuteMs)

    const answer = await site.act('two', 'cancel')

    expect(bodyOf(answer, 200)).toMatchObject({ status: 'CANCELED', action: 'cancel' })
    expect(await site.list()).toEqual(before)
    expect(await site.keys('two')).toEqual([])
    expect(await site.sessions({ status: 'CANCELED' })).toMatchObject([
      { sessionId: 'two', canceledAt: now(), activatedAt: null },
    ])
  })

  test('records that are uploaded directly join the active session', async () => {
    const site = await records()
    await site.stage('one', hosts('a', 'b'))
    await site.act('one', 'complete')

    const results = [await site.send({ id: 'a', hostname: 'new' }), await site.send({ id: 'c', hostname: 'c' })]
    await site.update('b', { cpus: 2 })
    await site.delete('a')

    expect(statuses(results)).toEqual([200, 201])
    expect(await site.list({ sort: 'createdAt' })).toMatchObject([
      { id: 'b', sessionId: 'one', attributes: { cpus: 2 } },
      { id: 'c', sessionId: 'one' },
    ])
  })

  test('staged records are out of reach of update and delete', async () => {
    const site = await records()
    await site.stage('one', hosts('a'))

    const answers = [await site.update('a', { cpus: 1 }), await site.delete('a')]

    expect(statuses(answers)).toEqual([404, 404])
    expect(await site.keys('one')).toEqual(['a'])
  })

  test('a resource has one session in progress at most, and other resources do not mind', async () => {
    const [site, other] = [await records(), await records()]
    await site.stage('one', hosts('a'))

    const answers = [
      await site.stage('two', hosts('a')),
      await other.stage('two', hosts('a')),
      await site.act('one', 'cancel'),
      await site.stage('two', hosts('a')),
    ]

    expect(statuses(answers)).toEqual([400, 200, 200, 200])
    expect(await site.states()).toEqual({ one: 'CANCELED', two: 'IN_PROGRESS' })
  })

  test('an ended session accepts no records and no action', async () => {
    const site = await records()
    for (const [key, action] of [
      ['archived', 'complete'],
      ['active', 'complete'],
      ['canceled', 'cancel'],
    ] as const) {
      await site.stage(key, hosts('a'))
      await site.act(key, action)
    }
    const over = ['archived', 'active', 'canceled']

    const uploads = await Promise.all(over.map((key) => site.stage(key, hosts('b'))))
    const completions = await Promise.all(over.map((key) => site.act(key, 'complete')))
    const cancellations = await Promise.all(over.map((key) => site.act(key, 'cancel')))

    expect(statuses(uploads)).toEqual([400, 400, 400])
    expect(statuses([...completions, ...cancellations])).toEqual([422, 422, 422, 422, 422, 422])
    expect(await site.states()).toEqual({ archived: 'ARCHIVED', active: 'ACTIVE', canceled: 'CANCELED' })
    expect(await site.keys()).toEqual(['a'])
  })

  test('an unknown session is 404, and an action or a key that cannot be is 400', async () => {
    const site = await records()

    const answers = [
      await site.act('never', 'complete'),
      await site.act('abc', 'archive' as 'cancel'),
      await site.act('a b', 'cancel'),
      await site.stage('ab', hosts('a')),
      await site.stage('s'.repeat(65), hosts('a')),
      await site.stage('söße', hosts('a')),
      await site.stage('s'.repeat(64), hosts('a')),
    ]

    expect(statuses(answers)).toEqual([404, 400, 400, 400, 400, 400, 200])
  })

  test('an upload that is refused as a whole begins no session', async () => {
    const site = await records()

    const answer = await site.stage('one', { id: 'a' })

    expect(answer).toMatchObject({ status: 400, error: { code: 28022 } })
    expect(await site.sessions()).toEqual([])
  })

  test.each<[string, Parameters<Records['stage']>[1]]>([
    ['is empty', []],
    ['holds no valid record', [{ id: 'a' }]],
  ])('a first upload that %s begins a session; completing it empties the resource', async (_what, data) => {
    const site = await records()
    await site.send(hosts('live'))

    const upload = await site.stage('empty', data)
    const before = [await site.states(), await site.keys()]
    const completion = await site.act('empty', 'complete')

    expect(upload.status).toBe(200)
    expect(before).toEqual([{ empty: 'IN_PROGRESS' }, ['live']])
    expect(completion).toMatchObject({ status: 200, body: { status: 'ACTIVE' } })
    expect([await site.states(), await site.keys()]).toEqual([{ empty: 'ACTIVE' }, []])
  })

  test('a session without a record can be cancelled', async () => {
    const site = await records()
    await site.send(hosts('live'))
    await site.stage('empty', [])

    const cancellation = await site.act('empty', 'cancel')

    expect(cancellation).toMatchObject({ status: 200, body: { status: 'CANCELED' } })
    expect(await site.keys()).toEqual(['live'])
  })

  test('sessions are listed by status, in pages, with a count', async () => {
    const site = await records()
    for (const key of ['s-1', 's-2', 's-3', 's-4']) {
      opened.clock.advance(1)
      await site.stage(key, hosts('a'))
      await site.act(key, key === 's-2' ? 'cancel' : 'complete')
    }
    const { client } = account
    const { params } = site

    const first = bodyOf(
      await client.listCustomDataSessions({ params, query: { status: 'ARCHIVED', size: 1, includeTotalCount: true } }),
      200,
    )
    const cursor = first.pagination.cursor ?? ''
    const second = await client.listCustomDataSessions({ params, query: { status: 'ARCHIVED', size: 1, cursor } })
    const foreign = await client.listCustomDataSessions({ params, query: { status: 'ACTIVE', size: 1, cursor } })
    const newest = await site.sessions({ sort: 'updatedAt', sortDir: 'DESC', size: 1 })

    expect(first).toMatchObject({ data: [{ sessionId: 's-1' }], pagination: { totalCount: 2 } })
    expect(bodyOf(second, 200)).toMatchObject({ data: [{ sessionId: 's-3' }] })
    expect(bodyOf(second, 200).pagination).toEqual({})
    expect(foreign.status).toBe(400)
    expect(newest).toMatchObject([{ sessionId: 's-4', status: 'ACTIVE' }])
    const unknown = await client.listCustomDataSessions({ params, query: { status: 'DONE' as 'ACTIVE' } })
    expect(unknown.status).toBe(400)
  })

  test('of actions at the same time one is carried out', async () => {
    const site = await records()
    await site.stage('one', hosts('a'))

    const answers = await Promise.all([
      site.act('one', 'complete'),
      site.act('one', 'cancel'),
      site.act('one', 'complete'),
      site.act('one', 'cancel'),
    ])

    expect(statuses(answers).toSorted()).toEqual([200, 422, 422, 422])
  })

  test('of sessions that begin at the same time one does', async () => {
    const site = await records()
    const keys = ['s-1', 's-2', 's-3', 's-4']

    const answers = await Promise.all(keys.map((key) => site.stage(key, hosts('a', 'b'))))

    expect(statuses(answers).toSorted()).toEqual([200, 400, 400, 400])
    expect(Object.values(await site.states())).toEqual(['IN_PROGRESS'])
  })

  test('uploads that arrive while a session completes are replaced by it or join it', async () => {
    const site = await records()
    const before = hosts(...Array.from({ length: 50 }, (_, index) => `old-${index}`))
    await site.send(before)
    await site.stage('one', hosts('a', 'b', 'c'))

    const [completed, ...answers] = await Promise.all([
      site.act('one', 'complete'),
      ...Array.from({ length: 6 }, (_, index) => site.send(hosts('a', `direct-${index}`))),
      site.update('old-1', { cpus: 1 }),
      site.delete('old-2'),
      site.stage('one', hosts('late')),
    ])

    const unexpected = statuses(answers).filter((status) => ![200, 204, 400, 404].includes(Number(status)))
    expect([completed.status, unexpected]).toEqual([200, []])
    const live = await site.list()
    expect(new Set(live.map(({ sessionId }) => sessionId))).toEqual(new Set(['one']))
    expect(live.map(({ id }) => id)).toEqual(expect.arrayContaining(['a', 'b', 'c']))
    expect(live.filter(({ id }) => id.startsWith('old-'))).toEqual([])
  })

  test('a walk through the live records does not see a session halfway', async () => {
    const site = await records()
    await site.send(hosts('a', 'b', 'c'))
    await site.stage('one', hosts('d', 'e', 'f'))

    const pages = await Promise.all([
      ...Array.from({ length: 8 }, () => site.keys()),
      site.act('one', 'complete').then(() => site.keys()),
      ...Array.from({ length: 8 }, () => site.keys()),
    ])

    const observed = new Set(pages.map((keys) => keys.join('')))
    expect([...observed].filter((keys) => keys !== 'abc' && keys !== 'def')).toEqual([])
    expect(await site.keys()).toEqual(['d', 'e', 'f'])
  })
})
