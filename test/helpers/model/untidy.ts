import fc from 'fast-check'
import type { HrPerson } from '../world.ts'

/** What happens to one person of an HR system on one day: a departure in one of its forms, a mistake in the row, or its mending. */
const happenings = [
  'leaves on a date',
  'leaves ahead',
  'leaves by status',
  'vanishes',
  'leaves by event',
  'bad email',
  'bad start',
  'bad leaving date',
  'unlisted status',
  'stands there twice',
  'is mended',
  'is mended',
] as const
type Happening = (typeof happenings)[number]

/** A day with the night that ends it. */
export type Day = {
  readonly happens: readonly { readonly who: number; readonly what: Happening }[]
  /** Whether HR exports in this night. */
  readonly exports: boolean
  /** Whether somebody decides about what is held. */
  readonly awake: boolean
}

export const headcount = 40

export const day: fc.Arbitrary<Day> = fc.record({
  happens: fc.array(fc.record({ who: fc.nat(headcount - 1), what: fc.constantFrom(...happenings) }), { maxLength: 6 }),
  exports: fc.integer({ min: 1, max: 6 }).map((number) => number > 1),
  awake: fc.integer({ min: 1, max: 3 }).map((number) => number > 1),
})

type Employee = {
  readonly id: string
  left: string
  status: 'Active' | 'Inactive'
  listed: boolean
  fault: 'email' | 'start' | 'left' | 'status' | 'twice' | null
}

/**
 * What HR knows, told without a look at the code that reads it: who has left, from which day on, and what is wrong with whose row.
 * Nobody comes back here, so that whoever is separated without having left is a mistake.
 */
export function untidyHr() {
  const people: Employee[] = Array.from({ length: headcount }, (_, at) => ({
    id: `E${String(at + 1).padStart(4, '0')}`,
    left: '',
    status: 'Active',
    listed: true,
    fault: null,
  }))

  return {
    people: people as readonly Readonly<Employee>[],

    /** Answers the leaving date of an event that is to be sent; null where none is. */
    happen({ who, what }: Day['happens'][number], today: string): { id: string; left: string } | null {
      const person = people[who]
      if (person === undefined || (isLeaving(person) && what.includes('leaves')) || !person.listed) return null
      const days = (count: number) => Temporal.PlainDate.from(today).add({ days: count }).toString()
      if (what === 'leaves on a date') Object.assign(person, { left: days(-1), status: 'Inactive', fault: null })
      if (what === 'leaves ahead') Object.assign(person, { left: days(4) })
      // A status is one word: either it says that the person has left, or it is one that no list holds.
      if (what === 'leaves by status') Object.assign(person, { status: 'Inactive', fault: null })
      if (what === 'vanishes') Object.assign(person, { listed: false })
      if (what === 'leaves by event') Object.assign(person, { left: days(0) })
      if (what === 'bad email') person.fault = 'email'
      if (what === 'bad start') person.fault = 'start'
      if (what === 'bad leaving date') person.fault = 'left'
      if (what === 'unlisted status' && person.status === 'Active') person.fault = 'status'
      if (what === 'stands there twice') person.fault = 'twice'
      if (what === 'is mended') person.fault = null
      return what === 'leaves by event' ? { id: person.id, left: person.left } : null
    },

    /** The statuses of tonight's export that no list holds. */
    unlisted: (): string[] => people.flatMap(({ id, fault }) => (fault === 'status' ? [unlistedOf(id)] : [])),

    mendAll(): void {
      for (const person of people) person.fault = null
    },

    /** The rows of tonight's export. */
    rows: (): HrPerson[] => people.filter(({ listed }) => listed).flatMap(rowsOf),

    /** The keys of those who have left by now, as far as HR knows. */
    gone: (today: string): string[] => people.filter((person) => hasGone(person, today)).map(({ id }) => id),
  }
}

function isLeaving({ left, status, listed }: Employee): boolean {
  return left !== '' || status === 'Inactive' || !listed
}

function hasGone({ left, status, listed }: Employee, today: string): boolean {
  return !listed || status === 'Inactive' || (left !== '' && left <= today)
}

/** Several people share a status that the company has made up. */
function unlistedOf(id: string): string {
  return `Leave ${Number(id.slice(1)) % 7}`
}

function rowsOf({ id, left, status, fault }: Employee): HrPerson[] {
  const row = {
    id,
    email: fault === 'email' ? 'DISABLED' : `${id.toLowerCase()}@acme.example`,
    first: `Person ${id}`,
    title: 'Engineer',
    start: fault === 'start' ? '2026-02-31' : '2020-01-06',
    left: fault === 'left' ? 'soon' : left,
    status: fault === 'status' ? unlistedOf(id) : status,
  }
  return fault === 'twice' ? [row, row] : [row]
}
