import { expect, test } from 'vitest'
import type { SourceRow } from '../../../src/connectors/connector.ts'
import { createDecider } from '../../../src/identity/decide/decider.ts'
import type { Page } from '../../../src/identity/decide/row-book.ts'
import { exportRows } from '../../../src/identity/decide/row-models.ts'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import { wholeSlices } from '../../../src/sync/plan/change-filter/change-filter.ts'
import { collectRows } from '../../../src/sync/plan/collect-rows.ts'
import { mapRows } from '../../../src/sync/plan/map/map-rows.ts'
import { nightly } from '../../helpers/records.ts'

const headers = ['id']
const slice = (...ids: string[]): SourceRow[] =>
  ids.map((id, at) => ({ values: [id], origin: { file: 'people.csv', line: at + 2 } }))

/** Reads slices one by one; `onPage` gets the keys of each page. */
function read(slices: AsyncIterable<readonly SourceRow[]>, onPage: (keys: readonly string[]) => Promise<void>) {
  const context = nightly()
  const mapping = Mapping.parse({ fields: { identityId: 'id' } })
  const rules = { mapping, traps: [], absence: 'separate', graceRuns: 1, timeZone: 'UTC', future: 'defer' } as const
  const opened = { mode: 'snapshot', asOf: context.asOf, source: null, headers, rows: slices } as const
  const decider = createDecider({ context, rows: exportRows, rejectsKept: 10 })
  return collectRows(decider, {
    slices: wholeSlices(slices),
    mapping: mapRows(opened, rules, { now: new Date(context.now) }),
    signal: new AbortController().signal,
    onPage: ({ observed }: Page) => onPage(observed.map(({ identityId }) => identityId)),
  })
}

test('a slice is read while the people of the previous one are looked up, and is used afterwards', async () => {
  const second = Promise.withResolvers<void>()
  const pages: (readonly string[])[] = []
  async function* slices() {
    yield slice('ada', 'bob')
    second.resolve()
    yield slice('cid')
  }

  const rows = await read(slices(), async (keys) => {
    // Resolves only once the second slice is requested.
    await second.promise
    pages.push(keys)
  })

  expect(pages).toEqual([['ada', 'bob'], ['cid']])
  expect(rows).toBe(3)
})

test('an error of the next slice is thrown once the people before it are decided about', async () => {
  const decidedKeys: string[] = []
  async function* slices() {
    yield slice('ada')
    throw new Error('the disk is gone')
  }

  const reading = read(slices(), async (keys) => {
    await new Promise<void>((resolve) => setImmediate(resolve))
    decidedKeys.push(...keys)
  })

  await expect(reading).rejects.toThrow('the disk is gone')
  expect(decidedKeys).toEqual(['ada'])
})

test('the source is closed if deciding about people fails, also if the next slice fails', async () => {
  const closed: string[] = []
  async function* slices() {
    try {
      yield slice('ada')
      yield slice('bob')
    } finally {
      closed.push('people.csv')
    }
  }

  const reading = read(slices(), () => Promise.reject(new Error('another attempt has taken over')))

  await expect(reading).rejects.toThrow('another attempt has taken over')
  expect(closed).toEqual(['people.csv'])
})

test('other work runs between the rows of a source that never waits', async () => {
  const turns: number[] = []
  const takeTurn = () => {
    turns.push(1)
    next = setImmediate(takeTurn)
  }
  let next = setImmediate(takeTurn)
  async function* slices() {
    yield slice(...Array.from({ length: 1000 }, (_, at) => `W${at}`))
  }

  await read(slices(), async () => {})
  clearImmediate(next)

  expect(turns.length).toBeGreaterThanOrEqual(4)
})
