import fc from 'fast-check'
import type { HrPerson } from '../world.ts'

/** How HR reports an action besides the next export: not at all, by an event, or by an event that arrives days later. */
const channels = ['export', 'event', 'event late', 'event late'] as const

export type HrAction = {
  readonly who: number
  /** Which of the things that can happen to them does. */
  readonly which: number
  readonly by: (typeof channels)[number]
  readonly days: number
}
export type Day = {
  readonly actions: readonly HrAction[]
  readonly exports: boolean
  /** In this night everybody gets another address, for which a guard holds the plan. */
  readonly renames: boolean
}

/** How the source is configured. */
export type Rules = {
  readonly graceRuns: number
  readonly outOfScope: 'keep' | 'separate'
  readonly means: 'lastDayWorked' | 'firstDayGone'
  readonly future: 'defer' | 'send'
  /** Whether an announced departure stands in the person's row, or is a row of its own that takes effect on its day. */
  readonly announcedBy: 'date' | 'row'
  /** Whether something looks every day for dates that have come, or a person asks for a run each night. */
  readonly daemon: boolean
}

export const rules: fc.Arbitrary<Rules> = fc.record({
  graceRuns: fc.constantFrom(1, 2, 3),
  outOfScope: fc.constantFrom('keep', 'separate'),
  means: fc.constantFrom('lastDayWorked', 'firstDayGone'),
  future: fc.constantFrom('defer', 'send'),
  announcedBy: fc.constantFrom('date', 'row'),
  daemon: fc.boolean(),
})

/** People who change: few, so that much happens to each. Others who stay follow them, because an export that lacks its last people looks cut off. */
const headcount = 5
const stayers = 8

export const day: fc.Arbitrary<Day> = fc.record({
  actions: fc.uniqueArray(
    fc.record({
      who: fc.nat(headcount - 1),
      which: fc.nat(100),
      by: fc.constantFrom(...channels),
      days: fc.integer({ min: 1, max: 4 }),
    }),
    { selector: ({ who }) => who, minLength: 2, maxLength: 5 },
  ),
  exports: fc.nat(4).map((number) => number > 0),
  renames: fc.nat(5).map((number) => number === 0),
})

export type EmploymentEvent = { readonly id: string; readonly at: string; readonly leavingDate: string | null }
/** What one statement of HR says about a person's employment. */
type Employment = 'employed' | 'left' | { readonly leavesOn: string }
type Statement = { readonly at: string; readonly employment: Employment }
export type Row = HrPerson & { readonly from?: string }

type Person = {
  readonly id: string
  /** The last day of employment, come or announced; null: employed. */
  lastDay: string | null
  start: string
  listed: boolean
  inScope: boolean
  fault: 'date' | 'twice' | null
  hasEverLeft: boolean
  /** The accepted statements of HR, in any order. */
  statements: Statement[]
  /** The accepted exports in a row that lack the person. */
  missing: number
  /** The day on which a row of the newest export takes effect. */
  waits: string | null
}

/**
 * An HR system whose employees leave, announce it, come back and get untidy rows, and what has to follow from what it said by
 * docs/evidence.md and docs/configure.md: the newest word about a person's employment counts, in whichever order words arrive, an announced
 * day is a departure once it has come, and an export says nothing of people whom it lacks within the grace, keeps out of scope, or
 * whose row cannot be used.
 */
export function createHrWithEvents({ graceRuns, outOfScope, means, announcedBy }: Rules) {
  const people: Person[] = Array.from({ length: headcount + stayers }, (_, at) => ({
    id: `E${String(at + 1).padStart(4, '0')}`,
    lastDay: null,
    start: '2020-01-06',
    listed: true,
    inScope: true,
    fault: null,
    hasEverLeft: false,
    statements: [],
    missing: 0,
    waits: null,
  }))
  let domain = 1

  function rowsOf(person: Person, today: string): Row[] {
    const { id, start, lastDay, inScope, fault, listed } = person
    if (!listed) return []
    const hasLeft = lastDay !== null && lastDay <= today
    const isOwnRow = announcedBy === 'row' && lastDay !== null && !hasLeft && fault === null && inScope
    const row = {
      id,
      email: `${id.toLowerCase()}@acme${domain}.example`,
      first: `Person ${id}`,
      title: inScope ? 'Engineer' : 'Board',
      start,
      leavingDate: fault === 'date' ? 'soon' : lastDay === null || isOwnRow ? '' : dateColumn(lastDay),
      // HR works the status out from the date.
      status: hasLeft && fault !== 'date' ? 'Inactive' : 'Active',
    }
    if (isOwnRow) return [row, { ...row, leavingDate: dateColumn(lastDay), status: 'Inactive', from: lastDay }]
    return fault === 'twice' ? [row, row] : [row]
  }

  function dateColumn(lastDay: string): string {
    return means === 'lastDayWorked' ? lastDay : plus(lastDay, 1)
  }

  /** What tonight's export states about a person; null: nothing. */
  function employmentInExport(
    { lastDay, inScope, fault, listed, missing, statements: words }: Person,
    today: string,
  ): Employment | null {
    if (!listed) return missing >= graceRuns || hasGone(words, today) ? 'left' : null
    if (!inScope) return outOfScope === 'keep' ? null : 'left'
    if (fault === 'date') return null
    if (lastDay !== null && lastDay <= today) return 'left'
    if (fault === 'twice') return null
    return lastDay === null || announcedBy === 'row' ? 'employed' : { leavesOn: lastDay }
  }

  return {
    /** Returns what HR sends besides the next export, and the day on which it arrives. */
    happen(
      { who, which, by, days }: HrAction,
      today: string,
    ): { readonly event: EmploymentEvent; readonly arrives: string } | null {
      const person = people[who]
      if (person === undefined) return null
      const effect = applyAction(person, { which, today, days })
      const changesEmployment = effect === 'leaves' || effect === 'announces' || effect === 'comes back'
      // Only people whom HR has always reported as employed have a departure announced by an event.
      if (!changesEmployment || by === 'export' || (effect === 'announces' && person.hasEverLeft)) return null
      const event = { id: person.id, at: `${today}T10:00:00.000Z`, leavingDate: person.lastDay }
      return { event, arrives: by === 'event' ? today : plus(today, days) }
    },

    mendAll(): void {
      for (const person of people) person.fault = null
    },

    /** The rows of an export of this day. `renames`: everybody has another address in it. */
    export({ today, renames }: { readonly today: string; readonly renames: boolean }): Row[] {
      if (renames) domain++
      return people.flatMap((person) => rowsOf(person, today))
    },

    /** An event was accepted. */
    hear({ id, at, leavingDate }: EmploymentEvent): void {
      const person = people.find((one) => one.id === id)
      if (person === undefined) return
      // The newest statement shows that the person was listed: absences are counted from then on.
      if (person.statements.every((statement) => statement.at < at)) person.missing = 0
      person.statements.push({ at, employment: leavingDate === null ? 'employed' : { leavesOn: leavingDate } })
    },

    /** The export of this day was accepted. */
    accept(today: string): void {
      for (const person of people) {
        person.missing = person.listed ? 0 : person.missing + 1
        const employment = employmentInExport(person, today)
        if (employment !== null) person.statements.push({ at: `${today}T01:00:00.000Z`, employment })
        const isOwnRow = rowsOf(person, today).some(({ from }) => from !== undefined)
        // Two equal rows cannot be used, and a kept row out of scope states nothing: neither cancels a waiting row.
        const isSilent = person.listed && employment === null && (!person.inScope || person.fault === 'twice')
        if (isOwnRow || !isSilent) person.waits = isOwnRow ? person.lastDay : null
      }
    },

    /** Applies waiting rows whose day has come. */
    dawn(today: string): void {
      for (const person of people) {
        if (person.waits === null || person.waits > today) continue
        person.statements.push({ at: `${person.waits}T00:00:00.000Z`, employment: 'left' })
        person.waits = null
      }
    },

    /** Who has left by this day according to HR. */
    gone: (today: string): string[] =>
      people.filter(({ statements: words }) => hasGone(words, today)).map(({ id }) => id),
  }
}

/** Applies one of the possible actions and returns its name. */
function applyAction(
  person: Person,
  { which, today, days }: { readonly which: number; readonly today: string; readonly days: number },
): string | undefined {
  const hasLeft = !person.listed || (person.lastDay !== null && person.lastDay <= today)
  const isLeaving = person.lastDay !== null
  const back = { lastDay: null, listed: true, start: today, fault: null, inScope: true, hasEverLeft: true }
  const all: readonly [can: boolean, name: string, changed: Partial<Person>][] = [
    [!hasLeft, 'leaves', { lastDay: today, hasEverLeft: true }],
    [!hasLeft, 'leaves', { lastDay: today, hasEverLeft: true }],
    [!isLeaving && !hasLeft, 'announces', { lastDay: plus(today, days), fault: null }],
    [isLeaving && !hasLeft, 'stays after all', { lastDay: null, hasEverLeft: true }],
    [hasLeft, 'comes back', back],
    [!hasLeft, 'vanishes', { listed: false, hasEverLeft: true }],
    [person.inScope, 'moves out of scope', { inScope: false, hasEverLeft: true }],
    [!person.inScope, 'moves into scope', { inScope: true }],
    [!hasLeft && person.fault === null, 'date gets illegible', { fault: 'date' }],
    [person.fault === null, 'stands there twice', { fault: 'twice' }],
    [person.fault !== null, 'is mended', { fault: null }],
  ]
  const possible = all.filter(([can]) => can)
  const [, name, changed] = possible[which % possible.length] ?? []
  Object.assign(person, changed)
  return name
}

/** Whether the newest statement says that the person left. An announced day applies once it has come. */
function hasGone(words: readonly Statement[], today: string): boolean {
  const newest = words.toSorted((a, b) => (a.at < b.at ? -1 : 1)).at(-1)?.employment ?? 'employed'
  return typeof newest === 'string' ? newest === 'left' : newest.leavesOn <= today
}

function plus(date: string, days: number): string {
  return Temporal.PlainDate.from(date).add({ days }).toString()
}
