import { expect, test } from 'vitest'
import { company, nextNight, type Person, toCsv, usualNight } from '../../../src/cli/demo/company.ts'
import { readPresets } from '../../../src/daemon/config/presets.ts'
import { compileMapping, Mapping, mergePreset } from '../../../src/identity/mapping/mapping.ts'
import { isReject } from '../../../src/identity/mapping/rows.ts'
import type { Observation, Reject } from '../../../src/identity/record.ts'
import { plan } from '../../helpers/model/plan.ts'
import { applyPlan, type Roster } from '../../helpers/model/roster.ts'
import { nightly } from '../../helpers/records.ts'
import { allRows, openCsv } from '../../helpers/sources/csv.ts'
import { exportFolder } from '../../helpers/sources/exports.ts'

const firstDay = '2026-11-19'
const secondDay = '2026-11-20'
const seeds = [1, 2, 3, 42, 4711]

test('equal seeds and days give equal exports, other seeds give others', () => {
  const texts = [7, 7, 8].map((seed) => {
    const people = company({ seed, size: 60, today: firstDay })
    return toCsv(nextNight(people, { seed, today: secondDay }).people)
  })

  expect(texts[0]).toBe(texts[1])
  expect(texts[0]).not.toBe(texts[2])
})

test('a company of hundreds of thousands of people has a next night', () => {
  const [ana] = company({ seed: 1, size: 50, today: firstDay })
  const people = Array.from({ length: 300_000 }, (_, index) => {
    const workerId = `W${index + 1}`
    return { ...(ana as Person), workerId, managerId: workerId }
  })
  const counts = { ...usualNight, mover: 0, leaver: 0, absentee: 0, futureLeaver: 0, returner: 0, correction: 0 }

  const { story } = nextNight(people, { seed: 1, today: secondDay, counts: { ...counts, brokenRow: 0, joiner: 1 } })

  expect(story.joiner).toEqual(['W300001'])
})

test.for(seeds)('everybody has a unique key and address, and an existing manager (seed %i)', (seed) => {
  const people = company({ seed, size: 250, today: firstDay })

  const keys = new Set(people.map(({ workerId }) => workerId))
  expect(keys.size).toBe(250)
  expect(new Set(people.map(({ email }) => email)).size).toBe(250)
  expect(people.filter(({ managerId }) => !keys.has(managerId))).toHaveLength(1)
  expect(people.some(({ lastName }) => /[^ -~]/.test(lastName))).toBe(true)
  expect(people.every(({ email }) => /^[a-z]+\.[a-z]+\.\d+@example\.com$/.test(email))).toBe(true)
})

test.for(seeds)('the plan of a usual night has exactly the changes of its story (seed %i)', async (seed) => {
  const before = company({ seed, size: 250, today: firstDay })
  const { people: after, story } = nextNight(before, { seed, today: secondDay })
  const first = await readExport(before)
  const second = await readExport(after)

  const evening = plan(first.observations, new Map(), nightly({ asOf: `${firstDay}T01:00:00.000Z`, today: firstDay }))
  const roster: Roster = applyPlan(new Map(), evening)
  const night = plan(second.observations, roster, nightly())

  expect(first.rejects).toEqual([])
  expect(second.rejects).toEqual([])
  const badCells = second.observations.flatMap((row) => row.badCells ?? [])
  expect(badCells.map(({ identityId, column }) => [identityId, column])).toEqual([[story.brokenRow[0], 'Hire Date']])
  expect(evening.counts.join).toBe(250)
  const kinds = Map.groupBy(night.changes, ({ kind }) => kind)
  const keysOf = (kind: 'join' | 'update' | 'leave' | 'return' | 'correct') =>
    (kinds.get(kind) ?? []).map(({ identityId }) => identityId)
  expect(keysOf('join')).toEqual(story.joiner.toSorted())
  expect(keysOf('update')).toEqual(story.mover.toSorted())
  expect(keysOf('leave')).toEqual([...story.leaver, ...story.absentee].sort())
  expect(keysOf('return')).toEqual(story.returner)
  expect(keysOf('correct')).toEqual(story.correction)
  expect(night.absent).toBe(usualNight.absentee)
  expect(night.entries.get(story.futureLeaver[0] ?? '')).toMatchObject({ deferredTo: expect.any(String) })
})

test.for(seeds)('the story has the requested number of events, each about another person (seed %i)', (seed) => {
  const { story } = nextNight(company({ seed, size: 50, today: firstDay }), { seed, today: secondDay })

  const counts = Object.fromEntries(Object.entries(story).map(([event, ids]) => [event, ids.length]))
  const everybody = Object.values(story).flat()
  expect(counts).toEqual(usualNight)
  expect(new Set(everybody).size).toBe(everybody.length)
})

test('several nights in a row never use a key twice', () => {
  let people = company({ seed: 5, size: 60, today: firstDay })
  for (const [seed, today] of ['2026-11-20', '2026-11-21', '2026-11-22'].entries()) {
    people = nextNight(people, { seed, today }).people
  }

  expect(new Set(people.map(({ workerId }) => workerId)).size).toBe(people.length)
})

test('cells that hold the delimiter or a quote are enclosed', () => {
  const [person] = company({ seed: 1, size: 50, today: firstDay })
  if (!person) throw new Error('the company is empty')

  const [, row] = toCsv([{ ...person, jobTitle: 'Chief of "Staff", Operations' }]).split('\n')

  expect(row).toContain(',"Chief of ""Staff"", Operations",')
})

/** The observations and rejects that the csv connector and the generic preset read from an export. */
async function readExport(people: readonly Person[]): Promise<{ observations: Observation[]; rejects: Reject[] }> {
  await using folder = await exportFolder()
  await folder.write('people.csv', toCsv(people))
  const reading = await openCsv(folder)
  const mapping = compileMapping(
    Mapping.parse(mergePreset((await readPresets()).get('generic')?.mapping ?? {}, {})),
    reading.headers,
  )
  if (!mapping.ok) throw new Error(mapping.missing.join('; '))
  const rows = (await allRows(reading)).map(mapping.map)
  return {
    observations: rows.flatMap((one) => (isReject(one) ? [] : [one])),
    rejects: rows.filter(isReject),
  }
}
