import type { HrEvent } from '../events.ts'
import type { HrPerson } from '../world.ts'

/** A person as the platform has to return them. Dates are full instants; a field that HR never stated is null. */
export type ExpectedPerson = {
  readonly email: string | null
  readonly firstName: string | null
  readonly jobTitle: string | null
  readonly startedAt: string | null
  /** The last day of employment: as HR stated it or, where HR only fell silent, the day of the export that showed it first. */
  readonly separatedAt: string | null
}

/** An export of HR: everybody listed at that moment. */
export type Night = {
  readonly asOf: string
  readonly rows: readonly HrPerson[]
  readonly csv: string
  /** Whether what was accepted of it is about this person; left out: it was accepted as a whole. */
  readonly isAbout?: (id: string) => boolean
}

/** What HR sent to the daemon: a whole export, or one event. */
export type HrMessage = Night | HrEvent

type Details = Pick<HrPerson, 'email' | 'first' | 'title' | 'start'>
/** `listed`: an export has a row of them. */
export type Employee = HrPerson & { readonly listed: boolean }

const columns = {
  'Worker ID': 'id',
  Email: 'email',
  'First Name': 'first',
  'Job Title': 'title',
  'Start Date': 'start',
  'Leaving Date': 'leavingDate',
  Status: 'status',
} as const

/**
 * An imaginary HR department and what has to come of what it says, worked out from the rules of the product and from nothing of its code:
 *
 * - An export speaks of everybody at its time, an event of one person at its own. Newer facts win: what is older than what was last
 *   accepted about a person changes nothing, and an accepted export has spoken about everybody who was known when it was accepted.
 * - Whether somebody works here is a fact of its own, with a time of its own: exports, hires and departures speak of it, an event that
 *   tells of a change does not. The other fields are facts too: an event that tells of a departure does not speak of them. What is older
 *   than the newest word about the one still counts for the other. Here whoever speaks of one other field speaks of all of them. A word
 *   about fields that nobody has told yet counts however old it is.
 * - The silence of an export about somebody counts, unless everything known of them is newer and nobody has spoken of their employment.
 * - A leaving date is the last day of employment, in UTC. It lies in the past here: nothing is ever deferred.
 * - Somebody who is inactive, or whom an export does not list, without a date that HR once stated, left on the day of the export (or
 *   event) that showed it first. That date stays until HR states one, or lists the person as active again.
 * - An event that tells of a change does not bring a leaver back; one that tells of a hire does.
 * - Nobody is ever deleted.
 *
 * Every field has a value, and no value needs quoting in CSV.
 */
export function createHr(count = 0) {
  const people = new Map<string, Employee>()
  const nights: Night[] = []

  const hr = {
    hire(id: string, details: Details = {}): void {
      if (people.has(id)) throw new Error(`${id} was hired before; they can come back`)
      people.set(id, { id, ...detailsOf(id), ...details, status: 'Active', listed: true })
    },

    change(id: string, details: Details): void {
      set(id, details)
    },

    /** Without a date HR only says that the person is inactive, which a source has to read from the status. */
    leave(id: string, date?: string): void {
      set(id, { leavingDate: date ?? '', status: 'Inactive' })
    },

    /** Somebody who left, or whom the export had ceased to list, works here again. */
    comeBack(id: string, startDate: string): void {
      set(id, { start: startDate, leavingDate: '', status: 'Active', listed: true })
    },

    /** Replaces the leaving date that HR stated. */
    correct(id: string, date: string): void {
      set(id, { leavingDate: date })
    },

    /** The export does not list the person any more. Whoever is listed last should stay: an export without them looks cut off. */
    vanish(id: string): void {
      set(id, { listed: false })
    },

    /** Everybody whom an export lists now, in the order of hiring. */
    rows(): HrPerson[] {
      return [...people.values()].filter(({ listed }) => listed).map(({ listed: _listed, ...person }) => person)
    },

    csv(): string {
      return csvOf(hr.rows())
    },

    /** Takes an export of this moment; `asOf`: the time as of which it states HR's data. */
    night(asOf: string): Night {
      const rows = hr.rows()
      const night = { asOf, rows, csv: csvOf(rows) }
      nights.push(night)
      return night
    },

    /** The event with HR's current data of a person: the leaving date of a leaver, the other fields of others. */
    event(type: 'hired' | 'updated' | 'terminated', id: string, at: string): HrEvent {
      const { email = '', first = '', title = '', start = '', leavingDate = '' } = employee(id)
      const employed = { id, email, first, title, start }
      return {
        type,
        at,
        employee: type === 'terminated' ? { id, ...(leavingDate !== '' && { left: leavingDate }) } : employed,
      }
    },

    /**
     * Everybody whom the platform has to hold once these events were accepted, in this order. Default: every night so far. A number: that
     * many first nights. Messages in between (of a run that failed or is held) have no effect.
     */
    expected(accepted: readonly HrMessage[] | number = nights.length): Map<string, ExpectedPerson> {
      return whatFollows(typeof accepted === 'number' ? nights.slice(0, accepted) : accepted)
    },

    /** The nights whose exports are these, by the time of their facts and in that order, as the runs that accepted them have it. */
    nightsOf(times: readonly string[]): Night[] {
      return times.map((asOf) => {
        const night = nights.find((one) => Date.parse(one.asOf) === Date.parse(asOf))
        if (!night) throw new Error(`HR took no export at ${asOf}`)
        return night
      })
    },

    /** Whom HR knows, whether an export lists them or not. */
    people: people as ReadonlyMap<string, Employee>,
    nights: nights as readonly Night[],
  }

  for (let number = 1; number <= count; number++) hr.hire(`E${String(number).padStart(4, '0')}`)
  return hr

  function employee(id: string): Employee {
    const known = people.get(id)
    if (!known) throw new Error(`HR knows no ${id}`)
    return known
  }

  function set(id: string, news: Partial<Employee>): void {
    people.set(id, { ...employee(id), ...news })
  }
}

export type Hr = ReturnType<typeof createHr>

function detailsOf(id: string): Required<Details> {
  // Where all dates of a column are the same, every row is looked at.
  const day = 10 + ([...id].reduce((sum, character) => sum + character.charCodeAt(0), 0) % 20)
  return { email: `${id.toLowerCase()}@acme.example`, first: `First ${id}`, title: 'Engineer', start: `2020-01-${day}` }
}

function csvOf(rows: readonly HrPerson[]): string {
  const fields = Object.values(columns)
  const lines = rows.map((person) => fields.map((field) => person[field] ?? '').join(','))
  return `${[Object.keys(columns).join(','), ...lines].join('\n')}\n`
}

/** `at`, `employmentAt`, `fieldsAt`: the time of the newest statement about the person, their employment and their other fields. */
type Known = {
  readonly person: ExpectedPerson
  readonly at: number
  readonly employmentAt: number
  readonly fieldsAt: number
}

/** One statement about a person, and which parts of the record it covers. */
type Statement = {
  readonly person: ExpectedPerson
  readonly at: number
  readonly isOfEmployment: boolean
  readonly isOfFields: boolean
}

const never = Number.NEGATIVE_INFINITY

function whatFollows(tellings: readonly HrMessage[]): Map<string, ExpectedPerson> {
  const known = new Map<string, Known>()
  for (const telling of tellings) {
    if ('rows' in telling) applyExport(known, telling)
    else applyEvent(known, telling)
  }
  return new Map([...known].map(([id, { person }]) => [id, person]))
}

function applyExport(known: Map<string, Known>, { asOf, rows, isAbout = () => true }: Night): void {
  const at = Date.parse(asOf)
  const listed = new Map(rows.filter(({ id }) => isAbout(id)).map((row) => [row.id, row]))
  for (const [id, before] of known) {
    if (!isAbout(id)) continue
    const row = listed.get(id)
    const stated = row ? asListed(row, before.person, at) : asMissed(before, at)
    // An accepted export states everything, also by omission; but omission states nothing about fields that were never stated.
    const isOfFields = row !== undefined || before.fieldsAt !== never
    known.set(id, afterStatement(before, { person: stated, at, isOfEmployment: true, isOfFields }))
  }
  for (const [id, row] of listed) {
    if (!known.has(id)) known.set(id, { person: asListed(row, undefined, at), at, employmentAt: at, fieldsAt: at })
  }
}

function applyEvent(known: Map<string, Known>, event: HrEvent): void {
  const at = Date.parse(event.at)
  const id = event.employee.id ?? ''
  const before = known.get(id)
  const stated = afterEvent(event, before?.person, at)
  const isOfEmployment = event.type === 'hired' || event.type === 'terminated'
  const isOfFields = event.type !== 'terminated'
  const unheardOf = { person: stated, at, employmentAt: never, fieldsAt: never }
  known.set(id, afterStatement(before ?? unheardOf, { person: stated, at, isOfEmployment, isOfFields }))
}

/** The known state after a statement about a person; parts older than the known ones are ignored. */
function afterStatement(
  { person, ...before }: Known,
  { person: stated, at, isOfEmployment, isOfFields }: Statement,
): Known {
  const [fieldsAt, employmentAt] = [isOfFields ? at : never, isOfEmployment ? at : never]
  const { separatedAt } = employmentAt >= before.employmentAt ? stated : person
  return {
    person: { ...(fieldsAt >= before.fieldsAt ? stated : person), separatedAt },
    at: Math.max(at, before.at),
    employmentAt: Math.max(employmentAt, before.employmentAt),
    fieldsAt: Math.max(fieldsAt, before.fieldsAt),
  }
}

function asMissed({ person, at, employmentAt }: Known, exportAt: number): ExpectedPerson {
  const firstHeardOfLater = employmentAt === never && exportAt < at
  return firstHeardOfLater ? person : { ...person, separatedAt: person.separatedAt ?? dayOf(exportAt) }
}

function asListed(row: HrPerson, before: ExpectedPerson | undefined, at: number): ExpectedPerson {
  const { email = '', first = '', title = '', start = '', leavingDate = '', status } = row
  const unsaid = status === 'Inactive' ? (before?.separatedAt ?? dayOf(at)) : null
  return {
    email: email || null,
    firstName: first || null,
    jobTitle: title || null,
    startedAt: midnight(start),
    separatedAt: midnight(leavingDate) ?? unsaid,
  }
}

function afterEvent({ type, employee }: HrEvent, before: ExpectedPerson | undefined, at: number): ExpectedPerson {
  const { email, first, title, start, left: leavingDate = '' } = employee
  const until = before?.separatedAt ?? null
  const separatedAt = {
    hired: null,
    updated: until,
    terminated: midnight(leavingDate ?? '') ?? until ?? dayOf(at),
    purged: until,
  }
  return {
    email: email ?? before?.email ?? null,
    firstName: first ?? before?.firstName ?? null,
    jobTitle: title ?? before?.jobTitle ?? null,
    startedAt: start ? midnight(start) : (before?.startedAt ?? null),
    separatedAt: separatedAt[type],
  }
}

function midnight(date: string): string | null {
  return date === '' ? null : `${date}T00:00:00.000Z`
}

function dayOf(at: number): string | null {
  return midnight(new Date(at).toISOString().slice(0, 10))
}
