import type { RosterEntry, Sighting } from './record.ts'

/** What decides about a person's employment besides the facts themselves. Days are calendar dates (`YYYY-MM-DD`) in the source's time zone. */
export type EmploymentRules = {
  readonly mode: 'snapshot' | 'delta'
  /** The snapshots in a row that must lack a person before the absence counts as leaving. */
  readonly graceRuns: number
  /** The day on which the facts were true; an inferred leaving date. */
  readonly exportDate: string
  /** The day on which the run happens; what is still ahead is measured from it. */
  readonly today: string
  /** Whether a leaving date that lies ahead is sent at once or waits for its day. */
  readonly future: 'send' | 'defer'
}

/** The last day of employment as it is wanted on the platform, and what is known of it beyond the date. */
export type Employment = {
  readonly separatedAt: string | null
  readonly inferred: boolean
  readonly deferredTo: string | null
}

const employed: Employment = { separatedAt: null, inferred: false, deferredTo: null }

/** What is known of a person's employment before this run. */
export function knownEmployment(entry: RosterEntry | undefined): Employment {
  if (entry === undefined) return employed
  const known = entry.wanted ?? entry.confirmed
  return { separatedAt: known?.separatedAt ?? null, inferred: entry.inferred, deferredTo: entry.deferredTo }
}

/** Whether accepted facts say that the person is employed. */
export function isEmployed(entry: RosterEntry | undefined): boolean {
  return (entry?.wanted ?? null) !== null && (entry?.wanted?.separatedAt ?? null) === null
}

/** Whether a row says anything of employment. To be spoken of is not to be employed; to stand in a snapshot is. */
export function speaksOfEmployment(sighting: Sighting, { mode }: Pick<EmploymentRules, 'mode'>): boolean {
  return mode === 'snapshot' || sighting.leavingDate !== null || sighting.left || sighting.statesEmployment
}

/** Employment after a row that names the person. A stated date rules; a status without a date keeps or infers one; silence means employed. */
export function employmentSeen(known: Employment, sighting: Sighting, rules: EmploymentRules): Employment {
  if (sighting.leavingDate !== null) return statedDate(known, sighting.leavingDate, rules)
  if (sighting.left) return leftWithoutDate(known, rules)

  // What happens to a leaver's record afterwards does not bring them back.
  return speaksOfEmployment(sighting, rules) ? employed : employmentUntouched(known, rules)
}

/** Employment after a run in which nothing was said about the person: as it was, except that a deferred day may have come. */
export function employmentUntouched(known: Employment, rules: EmploymentRules): Employment {
  if (known.deferredTo === null || rules.today < known.deferredTo) return known
  return { separatedAt: utcMidnight(known.deferredTo), inferred: false, deferredTo: null }
}

/** Employment after a snapshot that lacks the person for the `absences`-th time in a row. A date that HR once stated goes before an inferred one. */
export function employmentAbsent(known: Employment, absences: number, rules: EmploymentRules): Employment {
  if (known.separatedAt !== null || known.deferredTo !== null) return employmentUntouched(known, rules)
  return absences >= rules.graceRuns ? inferredDate(rules) : known
}

/** The platform's form of a calendar date. */
export function utcMidnight(date: string): string {
  return `${date}T00:00:00.000Z`
}

function statedDate(known: Employment, date: string, rules: EmploymentRules): Employment {
  const separatedAt = utcMidnight(date)
  const ahead = rules.future === 'defer' && rules.today < date
  // A future date that is wanted already was accepted under `future: send`; taking it back would bring the person back for nothing.
  if (ahead && known.separatedAt !== separatedAt) return { separatedAt: null, inferred: false, deferredTo: date }
  return { separatedAt, inferred: false, deferredTo: null }
}

function leftWithoutDate(known: Employment, rules: EmploymentRules): Employment {
  const now = employmentUntouched(known, rules)
  return now.separatedAt === null ? inferredDate(rules) : now
}

function inferredDate(rules: EmploymentRules): Employment {
  return { separatedAt: utcMidnight(rules.exportDate), inferred: true, deferredTo: null }
}
