import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hrisUserIdentities } from '../../../src/contract/platform/hris-user-identities.ts'
import type { PlatformContext } from '../../../src/platform/core/context.ts'
import { listPage } from '../../../src/platform/core/pages.ts'
import { databases } from '../../helpers/servers/databases.ts'
import {
  bodyOf,
  newHrisConnection,
  openTestPlatform,
  type PlatformClient,
  type TestPlatform,
} from '../helpers/platforms.ts'

type Order = { sort?: 'createdAt' | 'updatedAt'; sortDir?: 'ASC' | 'DESC' }

const orders: readonly (Order & { name: string })[] = [
  { name: 'the default order' },
  { name: 'createdAt backwards', sort: 'createdAt', sortDir: 'DESC' },
  { name: 'updatedAt', sort: 'updatedAt' },
  { name: 'updatedAt backwards', sort: 'updatedAt', sortDir: 'DESC' },
]

describe.each(databases)('pages on $name', ({ createDatabase }) => {
  let opened: TestPlatform
  let client: PlatformClient
  let accountName: string

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
    const account = await opened.newAccount()
    client = account.client
    accountName = account.name
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  /** A connection with that many people. With `apart`, each is written a millisecond after the previous one. */
  async function connectionWith(count: number, { apart = false } = {}) {
    const connectionId = await newHrisConnection(client)
    const keys = Array.from({ length: count }, (_, index) => `p${String(index).padStart(3, '0')}`)
    const batches = apart ? keys.map((key) => [key]) : [keys]
    for (const batch of batches) {
      opened.clock.advance(1)
      await send(
        connectionId,
        batch.map((identityId) => ({ identityId })),
      )
    }
    return { connectionId, keys }
  }

  async function send(connectionId: number, body: { identityId: string; jobTitle?: string }[]) {
    const answer = await client.upsertHrisUserIdentities({ params: { connectionId }, body })
    expect([200, 201]).toContain(answer.status)
  }

  async function page(
    connectionId: number,
    query: Order & { cursor?: string; size?: number; includeTotalCount?: boolean },
  ) {
    const { data, pagination } = bodyOf(await client.listHrisUserIdentities({ params: { connectionId }, query }), 200)
    return { keys: data.map(({ identityId }) => identityId), pagination, cursor: pagination.cursor ?? undefined }
  }

  /** Reads a list to its end, and runs a callback after each page. */
  async function walk(
    connectionId: number,
    query: Order & { size: number },
    between?: (page: number) => Promise<void>,
  ) {
    const pages: string[][] = []
    let cursor: string | undefined
    do {
      const entries = await page(connectionId, { ...query, ...(cursor !== undefined && { cursor }) })
      pages.push(entries.keys)
      cursor = entries.cursor
      if (cursor !== undefined) await between?.(pages.length)
    } while (cursor !== undefined)
    return pages
  }

  test.each(orders)(
    'a walk by $name finds everybody once, also where many share one moment',
    async ({ name: _, ...order }) => {
      const { connectionId, keys } = await connectionWith(23)

      const pages = await walk(connectionId, { ...order, size: 5 })

      expect(pages.map((entries) => entries.length)).toEqual([5, 5, 5, 5, 3])
      expect(pages.flat().toSorted()).toEqual(keys)
    },
  )

  test.each(orders)(
    'a page by $name holds no more bytes than it may, and one row in any case',
    async ({ name: _, ...order }) => {
      const { connectionId, keys } = await connectionWith(7, { apart: true })
      opened.clock.advance(1)
      await send(connectionId, [{ identityId: 'p004', jobTitle: 'x'.repeat(100) }])
      const ctx: Partial<PlatformContext> = {
        db: opened.platform.database.db,
        accountId: 1,
        operation: hrisUserIdentities.listHrisUserIdentities,
        cursorSecret: 'secret',
      }
      const byteLimit = { rowBytes: sql<number>`10 + length(coalesce(job_title, ''))`, maxBytes: 25 }

      const pages: string[][] = []
      let cursor: string | undefined
      do {
        const { rows, pagination } = await listPage(ctx as PlatformContext, {
          table: 'hris_user_identities',
          where: sql`connection_id = ${connectionId}`,
          query: { ...order, size: 3, cursor },
          byteLimit,
        })
        pages.push(rows.map(({ identity_id }) => identity_id))
        cursor = pagination.cursor
      } while (cursor !== undefined)

      expect(pages.flat().toSorted()).toEqual(keys)
      expect(pages.filter((keysOfPage) => keysOfPage.length > 1).flat()).not.toContain('p004')
      expect(Math.max(...pages.map((keysOfPage) => keysOfPage.length))).toBe(2)
    },
  )

  test('a list is in the order asked for', async () => {
    const { connectionId, keys } = await connectionWith(4, { apart: true })
    opened.clock.advance(1)
    await send(connectionId, [{ identityId: 'p001', jobTitle: 'changed' }])

    const pages = await Promise.all(orders.map(({ name: _, ...order }) => page(connectionId, order)))

    expect(pages.map((one) => one.keys)).toEqual([
      keys,
      keys.toReversed(),
      ['p000', 'p002', 'p003', 'p001'],
      ['p001', 'p003', 'p002', 'p000'],
    ])
  })

  test('the last page has no cursor at all, also when it is exactly full', async () => {
    const { connectionId } = await connectionWith(4)

    const first = await page(connectionId, { size: 2 })
    const last = await page(connectionId, { size: 2, cursor: first.cursor ?? '' })

    expect(first.pagination).toEqual({ cursor: expect.any(String) })
    expect(last.pagination).toEqual({})
  })

  test('the total is counted on the first page only, and only when asked for', async () => {
    const { connectionId } = await connectionWith(3)

    const first = await page(connectionId, { size: 2, includeTotalCount: true })
    const second = await page(connectionId, { size: 2, includeTotalCount: true, cursor: first.cursor ?? '' })
    const unasked = await page(connectionId, { size: 2 })

    expect([first, second, unasked].map(({ pagination }) => pagination.totalCount)).toEqual([3, undefined, undefined])
  })

  test.each(orders)(
    'a walk by $name meets everybody who was there throughout, while others come, change and go',
    async ({ name: _, ...order }) => {
      const { connectionId, keys } = await connectionWith(30, { apart: true })
      const goners = keys.filter((_key, index) => index % 5 === 4)
      const changing = keys.filter((_key, index) => index % 5 === 2)

      const pages = await walk(connectionId, { ...order, size: 4 }, async (number) => {
        opened.clock.advance(1)
        await send(connectionId, [{ identityId: `new-${number}` }])
        const [goner, changed] = [goners[number % goners.length], changing[number % changing.length]]
        await client.deleteHrisUserIdentity({ params: { connectionId, userIdentityId: `identity-id:${goner ?? ''}` } })
        if (number <= 12) await send(connectionId, [{ identityId: changed ?? '', jobTitle: `change ${number}` }])
      })

      const met = new Set(pages.flat())
      expect(keys.filter((key) => !goners.includes(key) && !met.has(key))).toEqual([])
    },
  )

  test('a walk backwards in time ends with those who changed since its first page', async () => {
    const { connectionId } = await connectionWith(6, { apart: true })

    const pages = await walk(connectionId, { sort: 'updatedAt', sortDir: 'DESC', size: 2 }, async (number) => {
      opened.clock.advance(1)
      if (number === 1) await send(connectionId, [{ identityId: 'p000', jobTitle: 'changed' }])
    })

    expect(pages).toEqual([
      ['p005', 'p004'],
      ['p003', 'p002'],
      ['p001', 'p000'],
    ])
  })

  test('a cursor outlives who it points at', async () => {
    const { connectionId, keys } = await connectionWith(4)
    const first = await page(connectionId, { size: 2 })
    await client.deleteHrisUserIdentity({ params: { connectionId, userIdentityId: `identity-id:${keys[1] ?? ''}` } })

    const second = await page(connectionId, { size: 2, cursor: first.cursor ?? '' })

    expect(second.keys).toEqual([keys[2], keys[3]])
  })

  test('a cursor of another list, order, connection or account is refused, and so is a changed one', async () => {
    const { connectionId } = await connectionWith(3)
    const other = await connectionWith(3)
    const { cursor = '' } = await page(connectionId, { size: 1 })
    const stranger = await opened.newAccount()
    await newHrisConnection(stranger.client)
    const changed = `${cursor.slice(0, -1)}${cursor.endsWith('A') ? 'B' : 'A'}`
    const list = (query: Order & { cursor: string }, id = connectionId) =>
      client.listHrisUserIdentities({ params: { connectionId: id }, query })

    const answers = [
      await list({ cursor: changed }),
      await list({ cursor: 'x' }),
      await list({ cursor: '' }),
      await list({ cursor, sortDir: 'DESC' }),
      await list({ cursor, sort: 'updatedAt' }),
      await list({ cursor }, other.connectionId),
    ]
    const elsewhere = [
      await client.listCustomConnections({ query: { cursor } }),
      await stranger.client.listCustomConnections({ query: { cursor } }),
    ]

    expect(answers.map(({ status }) => status)).toEqual(Array(answers.length).fill(400))
    expect(elsewhere.map(({ status }) => status)).toEqual([400, 400])
  })

  test("a cursor of one account's list is refused for another account's", async () => {
    const stranger = await opened.newAccount()
    await newHrisConnection(stranger.client)
    await newHrisConnection(client)
    await newHrisConnection(client)
    const { cursor } = bodyOf(await client.listCustomConnections({ query: { size: 1 } }), 200).pagination

    const answer = await stranger.client.listCustomConnections({ query: { cursor: cursor ?? '' } })

    expect(answer.status).toBe(400)
  })

  test('a cursor of a filtered list is refused with another filter', async () => {
    const connectionId = await newHrisConnection(client)
    await send(connectionId, [{ identityId: 'a' }, { identityId: 'b' }, { identityId: 'c' }])
    await opened.operator.syncIdentities({ body: { account: accountName } })
    const unknown = { 'employmentStatus[]': ['UNKNOWN' as const] }
    const { cursor = null } = bodyOf(await client.listPersonnel({ query: { size: 1, ...unknown } }), 200).pagination

    const same = await client.listPersonnel({ query: { cursor: cursor ?? '', ...unknown } })
    const other = await client.listPersonnel({ query: { cursor: cursor ?? '' } })

    expect([same.status, other.status]).toEqual([200, 400])
  })

  test.each([0, 501, 1.5])('a size of %d is refused', async (size) => {
    const answer = await client.listCustomConnections({ query: { size } })

    expect(answer.status).toBe(400)
  })
})
