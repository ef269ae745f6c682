import { type EmploymentFacts, expectedStatus, isFormer, showsStatus } from './expected.ts'

/** Why a person's status on the platform does not match HR's data. */
export type EffectiveCause =
  | 'record_missing'
  | 'not_matched'
  | 'matched_to_other'
  | 'sync_paused'
  | 'set_by_hand'
  | 'out_of_scope'
  | 'overwritten'
  | 'former_by_mistake'
  | 'not_synced'
  | 'duplicate_person'
  | 'stated_by_nobody'
  | 'kind_unknown'
  | 'not_looked_up'
  | 'account_of_leaver'
  | 'account_unknown'
  | 'account_missing'

/** A person as the platform's personnel shows them. */
export type ShownPerson = {
  readonly personId: number
  readonly email: string
  readonly firstName: string | null
  readonly lastName: string | null
  readonly status: string
  readonly startedAt: string | null
  readonly separatedAt: string | null
  /** When the status was set by hand; null: it was not. */
  readonly statusUpdatedAt: string | null
  readonly updatedAt: string
  readonly reason: string | null
  readonly reasonBy: string | null
  /** The platform's HRIS connection with the leading record of the person. */
  readonly hrisConnectionId: number | null
  readonly idpConnectionId: number | null
}

/** The identity record of a person on the platform; `unknown`: it was not looked up, or could not be read. */
export type ShownRecord = 'missing' | 'unknown' | RecordFacts
type RecordFacts = {
  readonly updatedAt: string
  readonly startedAt: string | null
  readonly separatedAt: string | null
}

/** The newest identity sync of the platform. `unknown`: its events cannot be read; null: none has run. */
export type LastSync = Date | null | 'unknown'

/** Who edited a person by hand, and when. */
export type HandEdit = { readonly by: string | null; readonly at: string }

/** Everything known about one person whom HR states. */
type PersonFacts = {
  readonly facts: EmploymentFacts
  readonly email: string | null
  /** The person with that e-mail, or with the record of this key; null: there is none. */
  readonly shown: ShownPerson | null
  readonly record: ShownRecord
  /** The list of changed records was too long to be read to its end, so that a record that was not read may be one of them. */
  readonly mayHaveChanged: boolean
  /** The platform shows somebody under another e-mail by a record of the same connection, who may be this person. */
  readonly mayBeMatched: boolean
  /** The HRIS connection that Rollcall delivers the person to. */
  readonly connectionId: number
  readonly lastSync: LastSync
  /** Another person of HR, with another name, whose record decides about the person with this e-mail. */
  readonly overruledBy: string | null
  /** People with the same name and another e-mail whom no record of this key is known to be matched to. */
  readonly candidates: readonly ShownPerson[]
  readonly edit: HandEdit | null
  readonly now: Date
}

type DifferingDate = { readonly field: string; readonly expected: string | null; readonly shown: string | null }

/** What shows a cause. Texts in `values` are personal. */
export type Evidence = {
  readonly expected?: string
  readonly shown?: string
  readonly fields?: readonly string[]
  /** Dates that differ, as HR states them and as they are shown. */
  readonly dates?: readonly DifferingDate[]
  readonly at?: string | null
  /** The platform's connection that decides instead. */
  readonly otherConnectionId?: number
  readonly otherKey?: string
  readonly otherPeople?: readonly number[]
  readonly note?:
    | 'no_email'
    | 'by_name'
    | 'several'
    | 'several_owners'
    | 'row_waits'
    | 'record_differs'
    | 'record_left'
    | 'identity_provider'
    | 'never'
  /** Of an account: when somebody signed in last, when its person left, and how many accounts the person has. */
  readonly lastSignInAt?: string | null
  readonly leftAt?: string | null
  readonly accounts?: number
  /** Keys of people with the same name, who may be the owner of an account. */
  readonly candidateKeys?: readonly string[]
  readonly values?: {
    readonly emails?: readonly string[]
    readonly logins?: readonly string[]
    readonly by?: string | null
    readonly reason?: string | null
  }
}

/** A finding about a person: the cause, what shows it, and whether a reset of the person's sync helps. */
export type EffectiveFinding = {
  readonly cause: EffectiveCause
  readonly evidence: Evidence
  readonly personId: number | null
  readonly canReset: boolean
}

/** Names why the platform does not show a person as HR's delivered facts imply; null if it does. */
export function findCause(person: PersonFacts): EffectiveFinding | null {
  const { shown, overruledBy } = person
  if (overruledBy !== null) return finding(person, 'matched_to_other', { otherKey: overruledBy })
  return shown === null ? causeOfAbsence(person) : causeOfShown(person, shown)
}

function finding(
  { facts, shown, now }: PersonFacts,
  cause: EffectiveCause,
  evidence: Evidence,
  canReset = false,
): EffectiveFinding {
  const statuses = { expected: expectedStatus(facts, now), ...(shown && { shown: shown.status }) }
  return { cause, evidence: { ...statuses, ...evidence }, personId: shown?.personId ?? null, canReset }
}

function causeOfAbsence(person: PersonFacts): EffectiveFinding | null {
  const { record, candidates, email, lastSync } = person
  if (record === 'missing') return finding(person, 'record_missing', {})
  if (person.mayBeMatched) return null
  if (isUnsynced(person)) return finding(person, 'not_synced', syncEvidence(lastSync))
  if (record === 'unknown') return finding(person, 'not_looked_up', {})
  return notMatched(person, email === null ? 'no_email' : undefined, candidates)
}

function notMatched(person: PersonFacts, note: Evidence['note'], candidates: readonly ShownPerson[]): EffectiveFinding {
  const seen = candidates.length === 0 ? note : candidates.length === 1 ? 'by_name' : 'several'
  return finding(person, 'not_matched', {
    ...(seen && { note: seen }),
    otherPeople: candidates.map(({ personId }) => personId),
    values: { emails: candidates.map((each) => each.email) },
  })
}

function causeOfShown(person: PersonFacts, shown: ShownPerson): EffectiveFinding | null {
  const isAsExpected = showsStatus(shown.status, expectedStatus(person.facts, person.now))
  if (shown.status === 'OUT_OF_SCOPE' || shown.status === 'SERVICE_ACCOUNT') return outOfScope(person, shown)
  if (shown.statusUpdatedAt !== null) return causeOfHandStatus(person, shown, isAsExpected)
  return isAsExpected ? causeOfDates(person, shown) : causeOfStatus(person, shown)
}

function outOfScope(person: PersonFacts, shown: ShownPerson): EffectiveFinding {
  const { statusUpdatedAt: at, reason, reasonBy } = shown
  if (isReset(person, shown)) return finding(person, 'not_synced', syncEvidence(person.lastSync))
  return finding(person, 'out_of_scope', { at, values: { reason, by: reasonBy ?? person.edit?.by ?? null } }, true)
}

/** While a status is set by hand, the platform ignores what HR states. Somebody who has left may be former on purpose. */
function causeOfHandStatus(person: PersonFacts, shown: ShownPerson, isAsExpected: boolean): EffectiveFinding | null {
  const { record, edit, facts, now } = person
  if (isFormer(shown.status) && isFormer(expectedStatus(facts, now))) return null
  const at = shown.statusUpdatedAt
  const dates = editedDates(person, shown)
  const fields = ['employmentStatus', ...dates.map(({ field }) => field)]
  const evidence = { at, fields, ...(dates.length > 0 && { dates }), values: { by: edit?.by ?? null } }
  const isNewer = typeof record === 'object' && at !== null && Date.parse(record.updatedAt) > Date.parse(at)
  if (isAsExpected || isNewer) return finding(person, 'sync_paused', evidence, true)
  const isMistaken = isFormer(shown.status) && !isFormer(expectedStatus(facts, now))
  return finding(person, isMistaken ? 'former_by_mistake' : 'set_by_hand', evidence, true)
}

/** The dates that were edited with the status: they differ from the record, which the identity sync applies except to edited fields. */
function editedDates(person: PersonFacts, shown: ShownPerson): DifferingDate[] {
  const { record, facts } = person
  const isSynced =
    shown.hrisConnectionId === person.connectionId && person.lastSync !== 'unknown' && !isUnsynced(person)
  if (!isSynced || typeof record !== 'object' || differingDates(facts, record).length > 0) return []
  return datesOf(facts, shown)
}

function datesOf(facts: EmploymentFacts, shown: ShownPerson): DifferingDate[] {
  return differingDates(facts, shown).map((field) => ({ field, expected: facts[field] ?? null, shown: shown[field] }))
}

function causeOfDates(person: PersonFacts, shown: ShownPerson): EffectiveFinding | null {
  if (shown.hrisConnectionId !== person.connectionId || person.lastSync === 'unknown' || isUnsynced(person)) return null
  const { edit, facts, record } = person
  const dates = datesOf(facts, shown)
  if (dates.length === 0) return null
  const fields = dates.map(({ field }) => field)
  if (record === 'missing') return finding(person, 'record_missing', { dates })
  if (record === 'unknown' && edit === null) return finding(person, 'not_looked_up', { dates })
  if (record !== 'unknown' && differingDates(facts, record).length > 0)
    return finding(person, 'overwritten', { note: 'record_differs', dates })
  return finding(person, 'set_by_hand', { fields, dates, at: edit?.at ?? null, values: { by: edit?.by ?? null } }, true)
}

/** The dates that HR states and that differ in a record or for a shown person. */
function differingDates(facts: EmploymentFacts, shown: Pick<ShownPerson, 'startedAt' | 'separatedAt'>) {
  return (['startedAt', 'separatedAt'] as const).filter((field) => {
    const stated = facts[field]
    return stated !== undefined && instantOf(stated) !== instantOf(shown[field])
  })
}

function instantOf(at: string | null): number | null {
  return at === null ? null : Date.parse(at)
}

function causeOfStatus(person: PersonFacts, shown: ShownPerson): EffectiveFinding {
  const { record, lastSync, facts, connectionId, now, candidates } = person
  const { hrisConnectionId, idpConnectionId } = shown
  if (record === 'missing') return finding(person, 'record_missing', {})
  if (record === 'unknown' && !isUnsynced(person) && !isReset(person, shown))
    return finding(person, 'not_looked_up', {})
  if (hrisConnectionId !== null && hrisConnectionId !== connectionId && !isUnsynced(person))
    return finding(person, 'overwritten', { otherConnectionId: hrisConnectionId })
  if (isUnsynced(person) || isReset(person, shown)) return finding(person, 'not_synced', syncEvidence(lastSync))
  if (hrisConnectionId === null && idpConnectionId !== null)
    return finding(person, 'overwritten', { note: 'identity_provider', otherConnectionId: idpConnectionId })
  if (hrisConnectionId === null) return notMatched(person, undefined, candidates)
  if (shown.status === 'UNKNOWN' && (facts.isContractor ?? null) === null) return finding(person, 'kind_unknown', {})
  if (isFormer(shown.status) && !isFormer(expectedStatus(facts, now))) {
    const hasLeft = typeof record === 'object' && record.separatedAt !== null
    return finding(person, 'former_by_mistake', hasLeft ? { note: 'record_left' } : {})
  }
  return finding(person, 'overwritten', { note: 'record_differs' })
}

/** The platform's identity sync runs once a night; a day of grace follows. */
const syncGraceMs = 48 * 60 * 60_000

/** The newest identity sync; if it is not known, a time after which none may have run. */
function effectiveSync(lastSync: LastSync, now: Date): Date | null {
  return lastSync === 'unknown' ? new Date(now.getTime() - syncGraceMs) : lastSync
}

/** Whether the newest identity sync came before the newest change of the record, or before the day that changes the status. */
function isUnsynced({ lastSync, record, mayHaveChanged, facts, shown, now }: PersonFacts): boolean {
  const syncedAt = effectiveSync(lastSync, now)
  if (syncedAt === null || (record === 'unknown' && mayHaveChanged)) return true
  if (typeof record === 'object' && Date.parse(record.updatedAt) > syncedAt.getTime()) return true
  const before = expectedStatus(facts, syncedAt)
  return shown !== null && before !== expectedStatus(facts, now) && showsStatus(shown.status, before)
}

/** Whether the person, whose status is not set by hand any more, changed after the newest identity sync: their sync was reset. */
function isReset({ lastSync, now }: PersonFacts, { statusUpdatedAt, updatedAt }: ShownPerson): boolean {
  const syncedAt = effectiveSync(lastSync, now)
  return syncedAt !== null && statusUpdatedAt === null && Date.parse(updatedAt) > syncedAt.getTime()
}

function syncEvidence(lastSync: LastSync): Evidence {
  if (lastSync === 'unknown') return {}
  return lastSync === null ? { note: 'never' } : { at: lastSync.toISOString() }
}

/** Whether the list alone shows that a person matches HR's data, so that no record or edit has to be looked up. */
export function isAsImplied({
  facts,
  shown,
  connectionId,
  now,
}: Pick<PersonFacts, 'facts' | 'shown' | 'connectionId' | 'now'>): boolean {
  if (shown === null) return false
  const expected = expectedStatus(facts, now)
  if (shown.statusUpdatedAt !== null) return isFormer(shown.status) && isFormer(expected)
  if (!showsStatus(shown.status, expected)) return false
  return shown.hrisConnectionId !== connectionId || differingDates(facts, shown).length === 0
}

/** Whether a finding means that the person, whom HR states, is shown otherwise, and not that they may be later. */
export function isShownOtherwise({
  cause,
  evidence: { shown, expected },
}: Pick<EffectiveFinding, 'cause' | 'evidence'>): boolean {
  if (cause === 'duplicate_person') return false
  return cause !== 'sync_paused' || shown === undefined || expected === undefined || !showsStatus(shown, expected)
}
