import type { HrEvent } from './events.ts'
import type { HrPerson } from './world.ts'

/** A person as the platform has to answer them. Dates are full instants; what HR never said is null. */
export type ExpectedPerson = {
  readonly email: string | null
  readonly firstName: string | null
  readonly jobTitle: string | null
  readonly startedAt: string | null
  /** The last day of employment: as HR stated it or, where HR only fell silent, the day of the export that showed it first. */
  readonly separatedAt: string | null
}

/** An export of HR: everybody listed at that moment. */
export type Night = { readonly asOf: string; readonly rows: readonly HrPerson[]; readonly csv: string }

/** What HR told the daemon: a whole export, or one event. */
export type Telling = Night | HrEvent

type Details = Pick<HrPerson, 'email' | 'first' | 'title' | 'start'>
/** `listed`: an export has a row of them. */
export type Employee = HrPerson & { readonly listed: boolean }

const columns = {
  'Worker ID': 'id',
  Email: 'email',
  'First Name': 'first',
  'Job Title': 'title',
  'Start Date': 'start',
  'Leaving Date': 'left',
  Status: 'status',
} as const

/**
 * An imaginary HR department and what has to come of what it says, worked out from the rules of the product and from nothing of its code:
 *
 * - An export speaks of everybody at its time, an event of one person at its own. Newer facts win: what is older than what was last
 *   accepted about a person changes nothing, and an accepted export has spoken about everybody.
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
      set(id, { left: date ?? '', status: 'Inactive' })
    },

    /** Somebody who left, or whom the export had ceased to list, works here again. */
    comeBack(id: string, startDate: string): void {
      set(id, { start: startDate, left: '', status: 'Active', listed: true })
    },

    /** Another leaving date than the one that HR had said. */
    correct(id: string, date: string): void {
      set(id, { left: date })
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

    /** Takes an export of this moment; `asOf` is when its facts are true. */
    night(asOf: string): Night {
      const rows = hr.rows()
      const night = { asOf, rows, csv: csvOf(rows) }
      nights.push(night)
      return night
    },

    /** The event that tells of what HR now holds of a person: of a leaver their date, of others the rest. */
    event(type: 'hired' | 'updated' | 'terminated', id: string, at: string): HrEvent {
      const { email = '', first = '', title = '', start = '', left = '' } = employee(id)
      const employed = { id, email, first, title, start }
      return { type, at, employee: type === 'terminated' ? { id, ...(left !== '' && { left }) } : employed }
    },

    /**
     * Everybody whom the platform has to hold once these tellings were accepted, in this order; without an argument every night so
     * far, with a number the first so many. What was told in between (a run that failed, or is held) has changed nothing.
     */
    expected(accepted: readonly Telling[] | number = nights.length): Map<string, ExpectedPerson> {
      return whatFollows(typeof accepted === 'number' ? nights.slice(0, accepted) : accepted).people
    },

    /** Those of whom it cannot be said what is to become: they first appear in a fact that is older than an accepted export without them. */
    doubtful(accepted: readonly Telling[]): Set<string> {
      return whatFollows(accepted).doubtful
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
  return { email: `${id.toLowerCase()}@acme.example`, first: `First ${id}`, title: 'Engineer', start: '2020-01-06' }
}

function csvOf(rows: readonly HrPerson[]): string {
  const fields = Object.values(columns)
  const lines = rows.map((person) => fields.map((field) => person[field] ?? '').join(','))
  return `${[Object.keys(columns).join(','), ...lines].join('\n')}\n`
}

type Known = { person: ExpectedPerson; at: number }

function whatFollows(tellings: readonly Telling[]): { people: Map<string, ExpectedPerson>; doubtful: Set<string> } {
  const known = new Map<string, Known>()
  const doubtful = new Set<string>()
  let lastExport = Number.NEGATIVE_INFINITY

  const isOld = (id: string, at: number): boolean => {
    const before = known.get(id)
    return before !== undefined && at < Math.max(before.at, lastExport)
  }

  for (const telling of tellings) {
    if ('rows' in telling) {
      const at = Date.parse(telling.asOf)
      const listed = new Map(telling.rows.map((row) => [row.id, row]))
      for (const id of new Set([...known.keys(), ...listed.keys()])) {
        if (isOld(id, at)) continue
        const row = listed.get(id)
        const before = known.get(id)?.person
        if (at < lastExport && !before) doubtful.add(id)
        else if (row && (row.left || row.status === 'Active')) doubtful.delete(id)
        if (row) known.set(id, { person: asListed(row, before, at), at })
        else if (before) known.set(id, { person: { ...before, separatedAt: before.separatedAt ?? dayOf(at) }, at })
      }
      lastExport = Math.max(lastExport, at)
    } else {
      const at = Date.parse(telling.at)
      const id = telling.employee.id ?? ''
      if (at < lastExport && !known.has(id)) doubtful.add(id)
      if (!isOld(id, at)) known.set(id, { person: asTold(telling, known.get(id)?.person, at), at })
    }
  }
  return { people: new Map([...known].map(([id, { person }]) => [id, person])), doubtful }
}

function asListed(row: HrPerson, before: ExpectedPerson | undefined, at: number): ExpectedPerson {
  const { email = '', first = '', title = '', start = '', left = '', status } = row
  const unsaid = status === 'Inactive' ? (before?.separatedAt ?? dayOf(at)) : null
  return {
    email: email || null,
    firstName: first || null,
    jobTitle: title || null,
    startedAt: midnight(start),
    separatedAt: midnight(left) ?? unsaid,
  }
}

function asTold({ type, employee }: HrEvent, before: ExpectedPerson | undefined, at: number): ExpectedPerson {
  const { email, first, title, start, left = '' } = employee
  const until = before?.separatedAt ?? null
  const separatedAt = {
    hired: null,
    updated: until,
    terminated: midnight(left ?? '') ?? until ?? dayOf(at),
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
