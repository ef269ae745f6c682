import { expect, test, vi } from 'vitest'
import type { SourceRow } from '../../../src/connectors/connector.ts'
import { createDecider } from '../../../src/identity/decide/decider.ts'
import { exportRows } from '../../../src/identity/decide/row-models.ts'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import { wholeSlices } from '../../../src/sync/plan/change-filter/change-filter.ts'
import { collectRows } from '../../../src/sync/plan/collect-rows.ts'
import { mapRows } from '../../../src/sync/plan/map/map-rows.ts'
import { RowTreatments } from '../../../src/sync/plan/row-treatments.ts'
import { nightly } from '../../helpers/records.ts'

const headers = ['id', 'on']

/** How the rows of an export are treated. `loses`: the number of rows that the plan loses. */
async function treat(rows: readonly (readonly string[])[], { loses = 0 } = {}) {
  const context = nightly()
  const mapping = Mapping.parse({ fields: { identityId: 'id' }, severalRows: { latest: { column: 'on' } } })
  const slice: SourceRow[] = rows.map((values, at) => ({ values, origin: { file: 'people.csv', line: at + 2 } }))
  const rules = { mapping, traps: [], absence: 'separate', graceRuns: 1, timeZone: 'UTC', future: 'defer' } as const
  async function* slices() {
    yield slice
  }
  const opened = { mode: 'snapshot', asOf: context.asOf, source: null, headers, rows: slices() } as const
  const decider = createDecider({ context, rows: exportRows, rejectsKept: 10 })
  const { add } = decider.book
  let lost = 0
  vi.spyOn(decider.book, 'add').mockImplementation((observation) => {
    if (lost === loses) add.call(decider.book, observation)
    else lost += 1
  })
  const treatments = new RowTreatments()
  await collectRows(decider, {
    slices: wholeSlices(slices()),
    mapping: mapRows(opened, rules, { now: new Date(context.now) }),
    signal: new AbortController().signal,
    treatments,
  })
  return treatments.counts(decider)
}

const delivered = [
  ['E1', '1'],
  ['E2', '1'],
  ['E1', '2'],
  ['E2', '1'],
  ['E3', '1'],
] as const

test('of several rows of a person, those that are replaced or contradict each other are further rows', async () => {
  expect(await treat(delivered)).toMatchObject({ used: 2, further: 3, later: 0, rejected: 0 })
})

test('a row that the plan loses is in no part', async () => {
  const counts = await treat(delivered, { loses: 1 })

  expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(delivered.length - 1)
})
