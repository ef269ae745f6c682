import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases } from '../../helpers/servers/databases.ts'
import { isFull } from '../../helpers/tier.ts'
import { pagesOf } from '../helpers/pages-of.ts'
import { openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'
import { openRawClient, type RawClient } from '../helpers/raw-requests.ts'
import type { Company, Thing } from './fixtures/fixture.ts'
import { alternativesOf, jsonSchemaOf } from './json-schema.ts'
import { everyList, type NamedOperation } from './operations.ts'
import { openCompany, rowsFor } from './world.ts'

const [steady, leaving] = isFull ? [14, 6] : [8, 3]
const pageSize = 3

/** Every list in every order. In the small form every list in one of its orders, and every column in the order of some list. */
const walks = everyList.flatMap((list, position) =>
  ordersOf(list)
    .filter((_order, index, { length }) => isFull || index === (2 * position + 1) % length)
    .map((order) => ({ list, order, name: list.name, by: Object.values(order).join(' ') || 'no order' })),
)

describe.each(databases)('lists on $name', ({ createDatabase }) => {
  let opened: TestPlatform
  let http: RawClient
  let shared: Promise<Company>
  let ofEvents: Promise<Company>
  let added = 0

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
    http = openRawClient(opened.platform.baseUrl)
    shared = openCompany(opened)
    ofEvents = openCompany(opened)
    await Promise.all([shared, ofEvents])
  })
  afterAll(async () => {
    await http[Symbol.asyncDispose]()
    await opened[Symbol.asyncDispose]()
  })

  /** The company of a list. Events have their own, because writing to any other list adds events. */
  function companyOf({ name }: NamedOperation): Promise<Company> {
    return name === 'listEvents' ? ofEvents : shared
  }

  const of = async (list: NamedOperation) => pagesOf(http, await companyOf(list), list)

  /** More records of a list, each a millisecond younger than the one before. */
  async function add(list: NamedOperation, count: number): Promise<Thing[]> {
    const company = await companyOf(list)
    const ids: Thing[] = []
    for (; ids.length < count; added += 1) {
      opened.clock.advance(1)
      ids.push(await rowsFor(list.name).add(company, added))
    }
    return ids
  }

  /** The pages of a list that has at least three records, and how many it has. */
  async function filled(list: NamedOperation) {
    const pages = await of(list)
    const { ids } = await pages.page({ size: 500 })
    if (ids.length >= 3) return { pages, ids }
    await add(list, 3 - ids.length)
    return filled(list)
  }

  test.each(walks)(
    '$name by $by returns every row that exists throughout while others are added, changed and removed',
    async (walk) => {
      const { list, order } = walk
      const company = await companyOf(list)
      const pages = await of(list)
      const rows = rowsFor(list.name)
      const there = await add(list, steady + leaving)
      const leavers = there.filter((_id, index) => index % 3 === 2).slice(0, leaving)
      const stayers = (await pages.walk({ ...order, size: 500 })).flat().filter((id) => !leavers.includes(id))
      expect(stayers).toEqual(expect.arrayContaining(there.filter((id) => !leavers.includes(id))))
      const newcomers: Thing[] = []

      const met = await pages.walk({ ...order, size: pageSize }, async (number) => {
        if (number >= leaving) return
        opened.clock.advance(1)
        await rows.remove(company, leavers[number] ?? 0)
        newcomers.push(...(await add(list, 1)))
        opened.clock.advance(1)
        await rows.change(company, stayers[(number * 5) % stayers.length] ?? 0, number)
      })

      const times = new Map(stayers.map((id) => [id, met.flat().filter((one) => one === id).length]))
      const wrong = [...times].filter(([, count]) => (order.sort === 'updatedAt' ? count < 1 : count !== 1))
      expect(wrong).toEqual([])
      expect(met.length).toBeGreaterThan(steady / pageSize)
      for (const id of [...there.filter((one) => !leavers.includes(one)), ...newcomers]) await rows.remove(company, id)
    },
  )

  test.each(everyList)('$name is in the order that was asked for', async (list) => {
    const pages = await of(list)
    const there = await add(list, 3)
    opened.clock.advance(1)
    await rowsFor(list.name).change(await companyOf(list), there[0] ?? 0, 1)
    const orders = ordersOf(list)

    const walkedIds = await Promise.all(orders.map(async (order) => (await pages.walk({ ...order, size: 2 })).flat()))

    const changed = [...there.slice(1), there[0]]
    const expected = orders.map(({ sort, sortDir }) => {
      const ids = sort === 'updatedAt' ? changed : there
      return sortDir === 'DESC' ? ids.toReversed() : ids
    })
    expect(walkedIds.map((ids) => ids.filter((id) => there.includes(id)))).toEqual(expected)
  })

  test.each(everyList)('$name has pages of 1 to 500 entries', async (list) => {
    const { pages } = await filled(list)

    const allowed = await Promise.all([1, 2, 499, 500].map((size) => pages.page({ size })))
    const refused = await Promise.all(
      ['0', '501', '-1', '1.5', 'abc', '', '1e2', '٣'].map((size) => pages.page({ size })),
    )

    expect(allowed.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(allowed.slice(0, 2).map(({ ids }) => ids.length)).toEqual([1, 2])
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 400))
  })

  test.each(everyList)('the last page of $name has no cursor, also when it is exactly full', async (list) => {
    const { pages, ids } = await filled(list)
    const count = ids.length

    const full = await pages.page({ size: count })
    const short = await pages.page({ size: count - 1 })
    const rest = await pages.page({ size: count - 1, cursor: short.cursor })

    expect([full, rest].map(({ pagination }) => 'cursor' in pagination)).toEqual([false, false])
    expect([...short.ids, ...rest.ids]).toEqual(ids)
  })

  test.each(everyList)('$name counts all matches once and on request if it supports that', async (list) => {
    const { pages, ids } = await filled(list)

    const withTotal = await pages.page({ size: 1, includeTotalCount: true })
    const next = await pages.page({ size: 1, includeTotalCount: true, cursor: withTotal.cursor })
    const others = [await pages.page({ size: 1 }), await pages.page({ size: 1, includeTotalCount: false })]

    expect(withTotal.pagination.totalCount).toBe(offers(list, 'includeTotalCount') ? ids.length : undefined)
    expect([next, ...others].map(({ pagination }) => 'totalCount' in pagination)).toEqual([false, false, false])
  })

  test.each(everyList)(
    'a cursor of $name goes on with another size, other extras and its order spelled out',
    async (list) => {
      const { pages, ids } = await filled(list)
      const { cursor } = await pages.page({ size: 1 })
      const extras = offers(list, 'expand[]') ? { 'expand[]': expansionsOf(list) } : {}
      const order = membersOf(list, 'sort').includes('createdAt') ? { sort: 'createdAt', sortDir: 'ASC' } : {}

      const rest = await pages.page({ size: 500, cursor, ...extras, ...order })

      expect(rest.ids).toEqual(ids.slice(1))
    },
  )

  test.each(everyList.filter((list) => offers(list, 'expand[]')))(
    '$name reads expansions in every spelling',
    async (list) => {
      const pages = await of(list)
      const names = expansionsOf(list)
      const spelled = (name: string) => names.map((value) => `${name}=${value}`).join('&')
      const spellings = ['expand[]', 'expand', 'expand%5B%5D', 'expand%5b%5d'].map(spelled)

      const plain = await pages.page({})
      const answers = await Promise.all(spellings.map(pages.raw))
      const unknown = await Promise.all(
        ['nothing', [...names, ...names].join(), '', names[0]?.toUpperCase()].map((value) =>
          pages.page({ 'expand[]': value }),
        ),
      )

      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
      for (const { data } of answers) expect(data).toEqual(answers[0]?.data)
      expect(answers[0]?.data).not.toEqual(plain.data)
      expect(unknown.map(({ status }) => status)).toEqual([400, 400, 400, 400])
    },
  )
})

type Order = { readonly sort?: unknown; readonly sortDir?: unknown }

/** Every sort and direction that a list offers, and its default. */
function ordersOf(list: NamedOperation): Order[] {
  const orders = membersOf(list, 'sort').flatMap((sort) =>
    membersOf(list, 'sortDir').map((sortDir) => ({ sort, sortDir })),
  )
  return [{}, ...orders]
}

function expansionsOf(list: NamedOperation): string[] {
  return membersOf(list, 'expand[]').map(String)
}

function membersOf({ operation }: NamedOperation, name: string): readonly unknown[] {
  const field = operation.query?.shape[name]
  if (field === undefined) return []
  return alternativesOf(jsonSchemaOf(field)).flatMap(({ enum: members, items }) => members ?? items?.enum ?? [])
}

function offers({ operation }: NamedOperation, name: string): boolean {
  return operation.query !== undefined && name in operation.query.shape
}
