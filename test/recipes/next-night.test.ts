import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { csvOf } from '../helpers/hr-systems/csv.ts'
import { inventJoiner, inventRoster, type Person, readingDay } from '../helpers/hr-systems/roster.ts'
import { requireSystem } from '../helpers/hr-systems/systems.ts'
import { type Plan, planRows } from '../helpers/model/plan.ts'
import { applyPlan, type Roster } from '../helpers/model/roster.ts'
import { nightly } from '../helpers/records.ts'
import { temporaryFolder } from '../helpers/sources/folders.ts'
import { type Certificates, type HttpSettings, makeCertificates, openHttp } from '../helpers/sources/hr-server.ts'
import { isFull } from '../helpers/tier.ts'
import { noon, openSystem } from './opened-system.ts'
import { mapNight, mappingOf, openCsv } from './roster-of.ts'
import { readRecipeFile, systemConnections } from './systems.ts'

const opened = new AsyncDisposableStack()
let certificates: Certificates

beforeAll(async () => {
  const { path } = opened.use(await temporaryFolder())
  certificates = await makeCertificates(path)
})

afterAll(() => opened.disposeAsync())

const [size, pageSize] = isFull ? [2500, undefined] : [45, 20]
/** The last day of the first person who announced it. */
const announcedDay = readingDay.add({ days: 13 })
const later = announcedDay.add({ days: 1 })
const dayBefore = readingDay.subtract({ days: 1 })

/** The company weeks later. The person at 2 announced the day that has come meanwhile, the one at 4 had left. */
const happenings: Readonly<Record<number, (person: Person) => readonly Person[]>> = {
  1: (person) => [{ ...person, employment: 'left', end: dayBefore }],
  3: (person) => [{ ...person, title: 'Head of Harvest', email: `moved.${person.email}` }],
  4: (person) => [{ ...person, employment: 'active', start: later, end: null }],
  8: () => [],
}

function companyLater(people: readonly Person[]): readonly Person[] {
  const changed = people.flatMap((person) => happenings[person.index]?.(person) ?? [person])
  return [...changed, inventJoiner(people.length, people[0] ?? null)]
}

/** What follows from the company on a day, and from the same rows a day later. */
type Night = { readonly plan: Plan; readonly unchanged: Plan }
/** Plans one night after the other, each against the state that the last one left. */
type Planner = (people: readonly Person[], day: Temporal.PlainDate) => Promise<Night>
type ReadNight = (people: readonly Person[], at: Date) => ReturnType<typeof mapNight>

function planner(read: ReadNight): Planner {
  let roster: Roster = new Map()
  const planOn = (day: Temporal.PlainDate, rows: Parameters<typeof planRows>[0]) => {
    const now = noonOf(day).toISOString()
    const plan = planRows(rows, roster, nightly({ asOf: now, now, today: day.toString(), exportDate: day.toString() }))
    roster = applyPlan(roster, plan)
    return plan
  }
  return async (people, day) => {
    const rows = await read(people, noonOf(day))
    return { plan: planOn(day, rows), unchanged: planOn(day.add({ days: 1 }), rows) }
  }
}

function noonOf(day: Temporal.PlainDate): Date {
  return new Date(`${day}T12:00:00Z`)
}

async function csvPlanner(recipe: string, folder: string): Promise<Planner> {
  const generic = parse(await readFile(new URL('../../config/presets/generic.yaml', import.meta.url), 'utf8'))
  const { statusMeans = generic.statusMeans } = await readRecipeFile(recipe)
  const preset = mappingOf({ ...generic, statusMeans })
  return planner(async (people, at) =>
    mapNight(await openCsv(csvOf(requireSystem(recipe), people), folder), preset, at),
  )
}

function facts({ changes, counts, news, people, rejects }: Plan) {
  return { changes, counts, news, people, rejects }
}

test.each(systemConnections)('the next night by $name is that of the CSV', async ({ name, recipe }) => {
  const people = inventRoster(size)
  const next = companyLater(people)
  let now = noon
  await using folder = await temporaryFolder()
  await using system = await openSystem(name, { people, certificates, pageSize, now: () => now.getTime() })
  const preset = mappingOf(await readRecipeFile(recipe))
  const byApi = planner(async (company, at) => {
    now = at
    system.server.changePeople(company)
    const { type: _, ...http } = system.settings
    const options = { folder: folder.path, secrets: system.secrets, options: { now: () => at } }
    const reading = await openHttp(http as HttpSettings, options)
    try {
      return await mapNight(reading, preset, at)
    } finally {
      await reading.close?.()
    }
  })
  const byCsv = await csvPlanner(recipe, folder.path)

  const first = await byApi(people, readingDay)
  const second = await byApi(next, later)

  expect(facts(first.plan)).toEqual(facts((await byCsv(people, readingDay)).plan))
  expect(facts(second.plan)).toEqual(facts((await byCsv(next, later)).plan))
  expect([first.unchanged.changes, second.unchanged.changes]).toEqual([[], []])
  expect(first.plan.changes).toHaveLength(size)
  const { keyOf, facts: stated } = requireSystem(recipe)
  const announced = stated.includes('leavingDate') ? 'leave' : undefined
  const kinds = new Map(second.plan.changes.map(({ identityId, kind }) => [identityId, kind]))
  const keys = [...people, ...next.slice(-1)].map(keyOf)
  expect([1, 2, 3, 4, 8, size].map((index) => kinds.get(keys[index] ?? ''))).toEqual([
    ...['leave', announced, 'update', 'return', 'leave', 'join'],
  ])
})
