import { noPeople, type PeopleCounts, peopleLimits } from '../../../src/identity/guards/facts.ts'
import { judge } from '../../../src/identity/guards/judge.ts'
import { Guards, otherFieldsOf } from '../../../src/identity/guards/limits.ts'
import type { Observation, Reject } from '../../../src/identity/record.ts'
import { createDice, type Dice } from '../dice.ts'
import { planRows } from '../model/plan.ts'
import { applyPlan, type Roster } from '../model/roster.ts'
import { nightly, observation } from '../records.ts'

type Person = {
  readonly id: string
  email: string
  firstName: string
  lastName: string
  jobTitle: string
  managerId: string
  startedAt: string
  isContractor: boolean
  /** The last day, once HR has entered it. */
  leaves: string | null
  /** From this day on the export has the person. */
  listedFrom: string
  observation: Observation | null
}

const noDate = { date: null, people: 0, base: 0 }

/** A night in which the guards held an ordinary export. */
export type NeedlessHold = { readonly date: string; readonly reasons: readonly string[] }

const firstNight = Temporal.PlainDate.from('2026-01-05')
const titles = ['Engineer', 'Accountant', 'Designer', 'Driver', 'Nurse', 'Recruiter', 'Clerk', 'Analyst'] as const
const guards = Guards.parse({})
const runsLookedAt = 90
/** How long people who left stay in the export. */
const daysListedAfterwards = 60

/**
 * Simulates nights of a company in which nothing is wrong: hires and notices, most of them from the first or to the last day of a month,
 * contractors who become employees, promotions with a round in spring, marriages, managers who change, a summer with interns, corrected dates, some that
 * come back, and a few cells that are broken for a while. Each export is planned and judged as a run does it; what is held is
 * approved in the morning.
 */
export function ordinaryYear({
  people: size,
  seed,
  nights = 365,
}: {
  people: number
  seed: number
  nights?: number
}): NeedlessHold[] {
  const dice = createDice(`${seed}/${size}`)
  const company = createCompany(dice, size)
  const peopleCounts: PeopleCounts[] = []
  const holds: NeedlessHold[] = []
  let roster: Roster = new Map()
  for (let night = 0; night < nights; night++) {
    const date = firstNight.add({ days: night })
    if (night > 0) company.live(date)
    const rows = company.rows(date)
    const asOf = `${date}T01:00:00.000Z`
    const context = nightly({ asOf, exportDate: date.toString(), now: `${date}T03:00:00.000Z`, today: date.toString() })
    const plan = planRows(rows, roster, context)
    const headcount = [...roster.values()].filter(({ desired }) => (desired?.separatedAt ?? null) === null).length
    const facts = {
      mode: 'snapshot',
      rows: rows.length,
      size: null,
      endMissing: false,
      headcount,
      ...plan.people,
      recent: noPeople,
      usual: peopleCounts.length === 0 ? null : { runs: peopleCounts.length, most: largest(peopleCounts) },
      retractions: 0,
      pinned: 0,
      reusedKeys: 0,
      keyChangeCandidates: plan.pairs,
      rejected: 0,
      incomplete: company.newFaults(),
      knownFaulty: 0,
      unlisted: { values: [], count: 0, known: 0 },
      unreadableKeys: 0,
      knownUnreadableKeys: 0,
      absent: plan.absent,
      missingColumns: [],
      absence: 'separate',
      ...{ leftJoiners: 0, unnamedJoiners: 0, sameStart: noDate, sameLeaving: noDate },
    } as const
    const failed = judge(facts, guards).filter(({ ok }) => !ok)
    if (failed.length > 0) {
      holds.push({ date: date.toString(), reasons: failed.map(({ name, reason }) => `${name}: ${reason}`) })
    }
    // Each export is newer than the one before, so that no one needs the times of those of whom it says nothing new.
    roster = applyPlan(roster, { ...plan, spokenAsOf: null })
    peopleCounts.push(plan.people)
    if (peopleCounts.length > runsLookedAt) peopleCounts.shift()
  }
  return holds
}

function createCompany(dice: Dice, size: number) {
  const people: Person[] = []
  let named = 0
  let faults = 0
  const listed = (date: string) => people.filter(({ listedFrom }) => listedFrom <= date)
  const staff = (date: string) => listed(date).filter(({ leaves }) => leaves === null)

  function hire(startedAt: string, listedFrom: string, isContractor = dice.chance(0.12)): void {
    const id = `W${++named}`
    people.push({
      id,
      email: `${id}@acme.example`,
      firstName: `First${named % 211}`,
      lastName: `Last${named % 997}`,
      jobTitle: dice.pick(titles),
      managerId: `W${Math.max(1, Math.floor(named / 9))}`,
      startedAt,
      isContractor,
      leaves: null,
      listedFrom,
      observation: null,
    })
  }

  /** A number that is `mean` on average. */
  function drawCount(mean: number): number {
    return Math.floor(mean) + (dice.chance(mean - Math.floor(mean)) ? 1 : 0) + (mean >= 4 ? dice.integer(-2, 2) : 0)
  }

  function pickFrom(all: readonly Person[]): Person | undefined {
    return all[dice.integer(0, Math.max(0, all.length - 1))]
  }

  function edit(count: number, all: readonly Person[], change: (person: Person) => void): void {
    for (let remaining = count; remaining > 0; remaining--) {
      const person = pickFrom(all)
      if (!person) return
      change(person)
      person.observation = null
    }
  }

  for (let at = 0; at < size; at++) hire('2020-01-06', '2020-01-06')
  return {
    /** What happens in the company on a day. About a seventh of its people leave in a year, and as many are hired. */
    live(date: Temporal.PlainDate): void {
      const today = date.toString()
      if (date.dayOfWeek > 5) return
      const employees = staff(today)
      const aMonth = size * 0.012
      // Notices are given on any day, for the last of a month mostly; some leave at once.
      edit(drawCount(aMonth / 21), employees, (person) => {
        const last = date.add({ months: dice.integer(0, 2) })
        const end = last.with({ day: last.daysInMonth })
        person.leaves = (dice.chance(0.7) ? end : date.add({ days: dice.integer(0, 30) })).toString()
      })
      // Half of the hires are entered ahead, the others when they start; most start on the first of a month.
      for (let hires = drawCount(aMonth / 42); hires > 0; hires--) {
        const start = dice.chance(0.6)
          ? date.add({ months: 1 }).with({ day: 1 })
          : date.add({ days: dice.integer(3, 30) })
        hire(start.toString(), today)
      }
      const isFirstWorkday = date.day <= 3 && date.dayOfWeek === (date.day === 1 ? date.dayOfWeek : 1)
      for (let hires = drawCount(isFirstWorkday ? aMonth / 3 : aMonth / 126); hires > 0; hires--) hire(today, today)
      edit(isFirstWorkday ? drawCount(size * 0.004) : 0, employees, (person) => {
        person.isContractor = !person.isContractor
      })
      const isRound = isFirstWorkday && date.month === 4
      edit(drawCount(size * (isRound ? 0.05 : isFirstWorkday ? 0.006 : 0.0003)), employees, (person) => {
        person.jobTitle = `${isRound ? 'Senior ' : 'Lead '}${person.jobTitle}`
      })
      edit(drawCount(size * 0.0002), employees, (person) => {
        person.lastName = `${person.lastName}-${date.month}`
        person.email = `${person.lastName}.${person.id}@acme.example`
      })
      const moves = date.day === 15 && date.month % 3 === 2 ? drawCount(size * 0.05) : drawCount(size * 0.0006)
      edit(moves, employees, (person) => {
        person.managerId = pickFrom(employees)?.id ?? person.managerId
      })
      if (date.month === 6 && isFirstWorkday)
        for (let interns = drawCount(size * 0.02); interns > 0; interns--) hire(today, today, false)
      if (date.month === 8 && date.day === 20) {
        edit(drawCount(size * 0.02), employees.slice(-Math.ceil(size * 0.03)), (person) => {
          person.leaves = date.with({ day: 31 }).toString()
        })
      }
      const gone = people.filter(({ leaves }) => leaves !== null && leaves <= today)
      edit(drawCount(size * 0.0001), gone.slice(-20), (person) => {
        person.leaves = Temporal.PlainDate.from(person.leaves ?? today)
          .subtract({ days: dice.integer(1, 9) })
          .toString()
      })
      edit(drawCount(size * 0.00005), gone.slice(-20), (person) => {
        person.leaves = null
        person.startedAt = today
      })
      faults = dice.integer(0, 2)
    },

    /** How many cells are broken in tonight's export that were not before. */
    newFaults: () => faults,

    rows(date: Temporal.PlainDate): (Observation | Reject)[] {
      const forgotten = date.subtract({ days: daysListedAfterwards }).toString()
      const today = date.toString()
      return people
        .filter(({ listedFrom, leaves }) => listedFrom <= today && (leaves === null || leaves > forgotten))
        .map((person) => (person.observation ??= rowOf(person)))
    },
  }
}

function rowOf({
  id,
  leaves,
  startedAt,
  email,
  firstName,
  lastName,
  jobTitle,
  managerId,
  isContractor,
}: Person): Observation {
  const fields = {
    email,
    firstName,
    lastName,
    jobTitle,
    managerId,
    isContractor,
    startedAt: `${startedAt}T00:00:00.000Z`,
  }
  return observation(id, { fields, leavingDate: leaves })
}

function largest(all: readonly PeopleCounts[]): PeopleCounts {
  const fields = (kind: 'changed' | 'blanked') =>
    Object.fromEntries(
      otherFieldsOf(...all.map((one) => one[kind])).map((field) => [
        field,
        Math.max(...all.map((one) => one[kind][field] ?? 0)),
      ]),
    )
  const limits = Object.fromEntries(peopleLimits.map((name) => [name, Math.max(...all.map((one) => one[name]))]))
  return { ...noPeople, ...limits, changed: fields('changed'), blanked: fields('blanked') }
}
