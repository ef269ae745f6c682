import fc from 'fast-check'
import type { HrPerson } from '../world.ts'

/** What happens to one person of an HR system on one day: a departure in one of its forms, a return, a mistake in the row, or its mending. */
const happenings = [
  'leaves on a date',
  'leaves tomorrow',
  'leaves in some days',
  'leaves by status',
  'vanishes',
  'leaves by event',
  'stays after all',
  'is hired again',
  'is hired again with the old date',
  'bad email',
  'bad start',
  'bad leaving date',
  'unlisted status',
  'stands there twice',
  'is mended',
  'is mended',
  'is retracted',
  'is restored',
] as const
type Happening = (typeof happenings)[number]

/** A day with the night that ends it. */
export type Day = {
  readonly happens: readonly { readonly who: number; readonly happening: Happening }[]
  /** Whether HR exports in this night. */
  readonly exports: boolean
  /** Whether somebody decides about what is held. */
  readonly awake: boolean
}

export const headcount = 40

export const day: fc.Arbitrary<Day> = fc.record({
  happens: fc.array(fc.record({ who: fc.nat(headcount - 1), happening: fc.constantFrom(...happenings) }), {
    minLength: 1,
    maxLength: 6,
  }),
  exports: fc.integer({ min: 1, max: 6 }).map((number) => number > 1),
  awake: fc.integer({ min: 1, max: 3 }).map((number) => number > 1),
})

/** What the test has to do besides the export: send an event, or decide about one person. */
export type Act =
  | { readonly kind: 'event'; readonly id: string; readonly leavingDate: string }
  | { readonly kind: 'retract' | 'restore'; readonly id: string }

/** What HR holds of a person's employment. */
type Facts = {
  readonly start: string
  readonly leavingDate: string
  readonly status: 'Active' | 'Inactive'
  readonly listed: boolean
}
type Fault = 'email' | 'start' | 'leavingDate' | 'status' | 'twice'
type Employee = {
  readonly id: string
  facts: Facts
  /** The facts that HR has sent, by an export or an event. */
  reported: Facts
  fault: Fault | null
  /** Left once, if only in HR's own books. */
  hasEverLeft: boolean
  retracted: boolean
}

const hired: Facts = { start: '2020-01-06', leavingDate: '', status: 'Active', listed: true }

/**
 * What HR knows and has told, without a look at the code that reads it: who has left, from which day on, who is employed again, what
 * is wrong with whose row, and who was sent in error.
 */
export function untidyHr() {
  const people: Employee[] = Array.from({ length: headcount }, (_, at) => {
    // A first export in which all start on one day is held.
    const facts = { ...hired, start: `2020-01-${10 + (at % 20)}` }
    const id = `E${String(at + 1).padStart(4, '0')}`
    return { id, facts, reported: facts, fault: null, hasEverLeft: false, retracted: false }
  })
  const known = { faults: new Set<string>(), statuses: new Set<string>() }
  let shown: { readonly faults: readonly string[]; readonly statuses: readonly string[] } = { faults: [], statuses: [] }
  const keysOf = (fits: (person: Employee) => boolean) => people.filter(fits).map(({ id }) => id)

  return {
    /** Answers what is to be done besides the next export; null for nothing. */
    happen({ who, happening }: Day['happens'][number], today: string): Act | null {
      const person = people[who]
      if (person === undefined) return null
      const { id, facts } = person
      if (happening === 'is retracted' || happening === 'is restored') {
        const retracts = happening === 'is retracted'
        if (person.retracted === retracts) return null
        person.retracted = retracts
        return { kind: retracts ? 'retract' : 'restore', id }
      }
      if (returns.has(happening)) {
        if (hasGone(facts, today)) person.facts = returned(happening, facts, today)
        return null
      }
      if (!facts.listed) return null
      const days = (count: number) => Temporal.PlainDate.from(today).add({ days: count }).toString()
      if (happening === 'leaves by event' || departures.has(happening)) {
        if (isLeaving(facts, today)) return null
        person.hasEverLeft = true
        // A status either says that the person has left, or is in no list.
        if (happening === 'leaves on a date' || happening === 'leaves by status') person.fault = null
        person.facts = { ...facts, ...leaving(happening, days) }
        if (happening !== 'leaves by event') return null
        person.reported = { ...person.reported, leavingDate: days(0) }
        return { kind: 'event', id, leavingDate: days(0) }
      }
      if (happening === 'unlisted status' && facts.status === 'Inactive') return null
      person.fault = faultOf[happening] ?? null
      return null
    },

    mendAll(): void {
      for (const person of people) person.fault = null
    },

    /** The rows of tonight's export, with the number of faults and of statuses in it that no accepted export has had. */
    takeExport(): { rows: HrPerson[]; newFaults: number; newStatuses: number } {
      for (const person of people) person.reported = person.facts
      const listed = people.filter(({ facts }) => facts.listed)
      shown = {
        faults: listed.flatMap(({ id, fault }) => (fault === null ? [] : [`${id} ${fault}`])),
        statuses: listed.flatMap(({ id, fault }) => (fault === 'status' ? [unlistedOf(id)] : [])),
      }
      return {
        rows: listed.flatMap(rowsOf),
        newFaults: shown.faults.filter((fault) => !known.faults.has(fault)).length,
        newStatuses: new Set(shown.statuses.filter((status) => !known.statuses.has(status))).size,
      }
    },

    /** The last export was accepted. */
    accepted(): void {
      known.faults = new Set(shown.faults)
      for (const status of shown.statuses) known.statuses.add(status)
    },

    /** The statuses of the last export that no list holds. */
    unlisted: (): readonly string[] => shown.statuses,

    /** People who have left by now according to HR and are on the platform. */
    gone: (today: string): string[] => keysOf(({ reported, retracted }) => !retracted && hasGone(reported, today)),

    /** Those who left some days ago by their date, while their status says that they are employed. */
    contradicted: (today: string): string[] =>
      keysOf(({ facts, retracted }) => !retracted && hasGone(facts, today) && isContradicted(facts, today)),

    /** Those who never left. */
    stayed: (): string[] => keysOf(({ hasEverLeft }) => !hasEverLeft),

    retracted: (): string[] => keysOf(({ retracted }) => retracted),
    everybody: (): string[] => keysOf(() => true),
  }
}

const departures: ReadonlySet<Happening> = new Set([
  'leaves on a date',
  'leaves tomorrow',
  'leaves in some days',
  'leaves by status',
  'vanishes',
])

const returns: ReadonlySet<Happening> = new Set([
  'stays after all',
  'is hired again',
  'is hired again with the old date',
])

const faultOf: Partial<Record<Happening, Fault>> = {
  'bad email': 'email',
  'bad start': 'start',
  'bad leaving date': 'leavingDate',
  'unlisted status': 'status',
  'stands there twice': 'twice',
}

function leaving(happening: Happening, days: (count: number) => string): Partial<Facts> {
  if (happening === 'leaves on a date') return { leavingDate: days(-1), status: 'Inactive' }
  if (happening === 'leaves tomorrow') return { leavingDate: days(1) }
  if (happening === 'leaves in some days') return { leavingDate: days(4) }
  if (happening === 'leaves by event') return { leavingDate: days(0) }
  return happening === 'vanishes' ? { listed: false } : { status: 'Inactive' }
}

function returned(happening: Happening, { start, leavingDate }: Facts, today: string): Facts {
  if (happening === 'stays after all') return { ...hired, start }
  const keepsDate = happening === 'is hired again with the old date' && leavingDate !== '' && leavingDate < today
  return { ...hired, start: today, leavingDate: keepsDate ? leavingDate : '' }
}

/** A start after the leaving date means that the person was hired again. */
function hasGone({ start, leavingDate, status, listed }: Facts, today: string): boolean {
  const isOver = start > leavingDate && start <= today
  return !listed || status === 'Inactive' || (leavingDate !== '' && leavingDate <= today && !isOver)
}

function isContradicted({ start, leavingDate, status, listed }: Facts, today: string): boolean {
  const shownFrom = Temporal.PlainDate.from(today).subtract({ days: 4 }).toString()
  return listed && status === 'Active' && start < leavingDate && leavingDate <= shownFrom
}

function isLeaving(facts: Facts, today: string): boolean {
  return hasGone(facts, today) || facts.leavingDate > today
}

/** Several people share a status that the company has made up. */
function unlistedOf(id: string): string {
  return `Leave ${Number(id.slice(1)) % 7}`
}

function rowsOf({ id, facts: { start, leavingDate, status }, fault }: Employee): HrPerson[] {
  const row = {
    id,
    email: fault === 'email' ? 'DISABLED' : `${id.toLowerCase()}@acme.example`,
    first: `Person ${id}`,
    title: 'Engineer',
    start: fault === 'start' ? '2026-02-31' : start,
    leavingDate: fault === 'leavingDate' ? 'soon' : leavingDate,
    status: fault === 'status' ? unlistedOf(id) : status,
  }
  return fault === 'twice' ? [row, row] : [row]
}
