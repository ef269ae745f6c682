import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Event } from '../../../src/contract/platform/events.ts'
import { databases } from '../../helpers/servers/databases.ts'
import {
  bodyOf,
  newHrisConnection,
  openTestPlatform,
  type TestAccount,
  type TestPlatform,
} from '../helpers/platforms.ts'

const minuteMs = 60_000
const absent = '00000000-0000-4000-8000-000000000000'

type Query = NonNullable<Parameters<TestAccount['client']['listEvents']>[0]['query']>

describe.each(databases)('events on $name', ({ createDatabase }) => {
  let opened: TestPlatform
  let account: TestAccount
  let connectionId: number
  let userId: number

  // One event a minute, from 11:00 on: two of the connection, two of the workspace, one of the schedule, one without actor and object.
  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
    account = await opened.newAccount()
    connectionId = await newHrisConnection(account.client)
    userId = bodyOf(await account.client.listUsers({ query: {} }), 200).data[0]?.id ?? 0
    const { db } = opened.platform.database
    await db.deleteFrom('events').where('account_id', '=', account.id).execute()
    const rows = [
      { type: 'PROVIDER_CONNECTION_CREATED', category: 'CONNECTION', user_id: userId, connection_id: connectionId },
      { type: 'PROVIDER_CONNECTION_UPDATED', category: 'CONNECTION', user_id: userId, connection_id: connectionId },
      { type: 'CREATE_CONTROL', category: 'GRC', user_id: userId, workspace_id: 7 },
      { type: 'EDIT_CONTROL_INFO', category: 'GRC', user_id: userId, workspace_id: 7 },
      { type: 'USER_IDENTITY_PERSONNEL_SYNCED', category: 'PERSONNEL', source: 'SCHEDULED' as const },
      { type: 'TERMS_AGREED', category: 'COMPANY', source: 'APP' as const, connection_id: 999_999 },
    ]
    await db
      .insertInto('events')
      .values(
        rows.map((row, index) => ({
          account_id: account.id,
          source: 'PUBLIC_API' as const,
          description: `event ${index}`,
          request_description: null,
          user_id: null,
          connection_id: null,
          workspace_id: null,
          metadata: JSON.stringify({ targetEntity: { kind: 'thing', id: index } }),
          created_at: new Date(Date.parse('2026-03-02T11:00:00.000Z') + index * minuteMs),
          ...row,
        })),
      )
      .execute()
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  const list = async (query: Query): Promise<readonly Event[]> =>
    bodyOf(await account.client.listEvents({ query }), 200).data
  const numbersOf = async (query: Query) =>
    (await list(query)).map(({ description }) => Number(description.split(' ')[1]))

  test.each<[string, Query, number[]]>([
    ['nothing', {}, [0, 1, 2, 3, 4, 5]],
    ['the type', { type: 'CREATE_CONTROL' }, [2]],
    ['a type that never happened', { type: 'AP_42' }, []],
    ['the source', { source: 'SCHEDULED' }, [4]],
    ['the category', { category: 'GRC' }, [2, 3]],
    ['a workspace', { workspaceId: 7 }, [2, 3]],
    ['no connection', { connectionId: null }, [2, 3, 4]],
    ['a connection that is gone', { connectionId: 999_999 }, [5]],
    ['no user', { userId: null }, [4, 5]],
    ['the greatest ids', { userId: 9_007_199_254_740_991, connectionId: 9_007_199_254_740_991 }, []],
    ['a start, which is inclusive', { createdAtStartDate: '2026-03-02T11:04:00Z' }, [4, 5]],
    ['an end, which is inclusive', { createdAtEndDate: '2026-03-02T11:01:00.000Z' }, [0, 1]],
    [
      'a time between, with an offset',
      { createdAtStartDate: '2026-03-02T12:01:00+01:00', createdAtEndDate: '2026-03-02T08:02:59-03:00' },
      [1, 2],
    ],
    ['an offset as large as clocks never have', { createdAtStartDate: '2026-03-03T10:04:00+23:00' }, [4, 5]],
    [
      'an end before the start',
      { createdAtStartDate: '2026-03-02T11:03:00Z', createdAtEndDate: '2026-03-02T11:02:00Z' },
      [],
    ],
    ['all at once', { type: 'CREATE_CONTROL', category: 'GRC', source: 'PUBLIC_API', workspaceId: 7 }, [2]],
    ['the order backwards', { sortDir: 'DESC', category: 'GRC', sort: 'createdAt' }, [3, 2]],
  ])('are filtered by %s', async (_what, query, expected) => {
    expect(await numbersOf(query)).toEqual(expected)
  })

  test('are filtered by a connection and by a user', async () => {
    expect(await numbersOf({ connectionId })).toEqual([0, 1])
    expect(await numbersOf({ userId })).toEqual([0, 1, 2, 3])
  })

  test('blank filters by connection and user mean none, however a client writes them', async () => {
    const { key } = await opened.operator.createKey({
      body: { account: account.name, name: 'raw', permissions: 'all-read' },
    })
    const read = async (query: string) => {
      const answer = await fetch(`${opened.platform.baseUrl}/events?${query}`, {
        headers: { authorization: `Bearer ${key}` },
      })
      const { data } = (await answer.json()) as { data: Event[] }
      return data.map(({ description }) => description).filter((description) => description.startsWith('event '))
    }

    expect(await read('connectionId=')).toEqual(['event 2', 'event 3', 'event 4'])
    expect(await read('connectionId=null')).toEqual(['event 2', 'event 3', 'event 4'])
    expect(await read('userId=&connectionId=')).toEqual(['event 4'])
  })

  test('a walk by filter meets every match once and counts them on its first page', async () => {
    const first = bodyOf(
      await account.client.listEvents({ query: { category: 'GRC', size: 1, includeTotalCount: true } }),
      200,
    )
    const cursor = first.pagination.cursor ?? ''
    const second = bodyOf(await account.client.listEvents({ query: { category: 'GRC', size: 1, cursor } }), 200)
    const other = await account.client.listEvents({ query: { category: 'PERSONNEL', size: 1, cursor } })
    const withoutUser = await account.client.listEvents({ query: { category: 'GRC', userId: null, size: 1, cursor } })

    expect(first.pagination.totalCount).toBe(2)
    expect([...first.data, ...second.data].map(({ description }) => description)).toEqual(['event 2', 'event 3'])
    expect(second.pagination).toEqual({})
    expect([other.status, withoutUser.status]).toEqual([400, 400])
  })

  test('an event is plain unless extras are asked for', async () => {
    const [event] = await list({ type: 'PROVIDER_CONNECTION_CREATED' })

    expect(event).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      type: 'PROVIDER_CONNECTION_CREATED',
      category: 'CONNECTION',
      source: 'PUBLIC_API',
      description: 'event 0',
      status: null,
      createdAt: '2026-03-02T11:00:00.000Z',
      userId,
      connectionId,
      requestDescription: null,
    })
  })

  test('extras show who did it, to which connection and to what', async () => {
    const [event] = await list({
      type: 'PROVIDER_CONNECTION_CREATED',
      'expand[]': ['connection', 'metadata', 'testId', 'testName', 'user'],
    })

    expect(event).toMatchObject({
      user: { id: userId },
      connection: { id: connectionId, clientType: 'CUSTOM_HRIS' },
      metadata: { targetEntity: { kind: 'thing', id: 0 } },
      issues: [],
      testId: null,
      testName: null,
    })
  })

  test('expansions of deleted rows are null', async () => {
    const [event] = await list({ type: 'TERMS_AGREED', 'expand[]': ['connection', 'user', 'issues'] })

    expect(event).toMatchObject({ connectionId: 999_999, connection: null, user: null, issues: [] })
  })

  test('one event is read by its id, in whatever case, with its extras', async () => {
    const [listed] = await list({ type: 'CREATE_CONTROL' })
    const eventId = listed?.id ?? ''

    const plain = await account.client.getEvent({ params: { eventId }, query: {} })
    const extra = await account.client.getEvent({
      params: { eventId: eventId.toUpperCase() },
      query: { 'expand[]': ['metadata'] },
    })

    expect(bodyOf(plain, 200)).toEqual(listed)
    expect(bodyOf(extra, 200)).toEqual({
      ...listed,
      metadata: { targetEntity: { kind: 'thing', id: 2 } },
      issues: [],
    })
  })

  test("an unknown event and another account's event are 404", async () => {
    const stranger = await opened.newAccount()
    const [listed] = await list({ type: 'CREATE_CONTROL' })

    const answers = [
      await account.client.getEvent({ params: { eventId: absent }, query: {} }),
      await stranger.client.getEvent({ params: { eventId: listed?.id ?? '' }, query: {} }),
    ]

    expect(answers.map(({ status }) => status)).toEqual([404, 404])
    const events = bodyOf(await stranger.client.listEvents({ query: { size: 500 } }), 200).data
    expect(events.map(({ id }) => id)).not.toContain(listed?.id)
  })

  test.each(['1', 'abc', `${absent}0`, '%00'])('the id %s is refused with 400', async (eventId) => {
    expect((await account.client.getEvent({ params: { eventId }, query: {} })).status).toBe(400)
  })

  test.each<Record<string, unknown>>([
    { type: 'create_control' },
    { type: '' },
    { type: 'A'.repeat(192) },
    { source: 'NOWHERE' },
    { category: 'NOTHING' },
    { sort: 'updatedAt' },
    { connectionId: 'none' },
    { userId: 0 },
    { userId: 1e21 },
    { workspaceId: '' },
    { workspaceId: null },
    { createdAtStartDate: '2026-03-02' },
    { createdAtEndDate: 'yesterday' },
    { createdAtEndDate: '0000-01-01T00:00:00Z' },
    { 'expand[]': ['everything'] },
  ])('the query %j is refused with 400', async (query) => {
    expect((await account.client.listEvents({ query: query as Query })).status).toBe(400)
  })
})
