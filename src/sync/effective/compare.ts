import {
  type EffectiveFinding,
  findCause,
  type HandEdit,
  isAsImplied,
  type LastSync,
  type ShownPerson,
  type ShownRecord,
} from '../../identity/effective/cause.ts'
import { isCurrent } from '../../identity/effective/expected.ts'
import type { NewFinding } from '../../store/effective/findings.ts'
import { namesOf, peopleNamed } from '../../store/effective/people.ts'
import type { Db } from '../../store/schema.ts'
import type { Endpoint } from '../target/endpoint.ts'
import { readChangedRecords, readEdits, readRecord } from './details.ts'
import {
  type ComparedConnection,
  type ExpectedPerson,
  nameKey,
  type RosterBook,
  remaining,
  takeOut,
} from './roster-book.ts'

/** Maximum number of people whose records are looked up in one comparison, so that it stays below its number of requests. */
export const defaultMaxLookUps = 40

/** What a comparison works with. */
type Comparison = {
  readonly db: Db
  readonly endpoint: Endpoint
  readonly connections: readonly ComparedConnection[]
  readonly lastSync: LastSync
  readonly maxLookUps: number
  readonly now: Date
}

/** A person who is not shown as implied, before the reason is known. */
type Suspect = {
  readonly person: ExpectedPerson
  readonly shown: ShownPerson | null
  readonly overruledBy: string | null
  readonly candidates: readonly ShownPerson[]
}

/** Compares everybody in the book with everybody shown, and yields what differs. */
export async function compareEveryone(
  comparison: Comparison,
  book: RosterBook,
  everybody: AsyncIterable<ShownPerson>,
): Promise<NewFinding[]> {
  const { suspects, shared, strangers } = await meet(comparison, book, everybody)
  const overruled = await findOverruled(comparison, shared)
  const absent = await findAbsent(comparison, remaining(book), strangers)
  const findings = await explain(comparison, [...absent.suspects, ...suspects, ...overruled])
  return [...findings, ...(await findUnstated(comparison, absent.strangers))]
}

type Meeting = {
  readonly suspects: Suspect[]
  /** People of several keys with one e-mail, the one whose record decides first. */
  readonly shared: (readonly ExpectedPerson[])[]
  /** Shown people whose e-mail no connection of Rollcall states, unless another HRIS connection states them. */
  readonly strangers: ShownPerson[]
}

async function meet(
  { connections, now }: Comparison,
  book: RosterBook,
  everybody: AsyncIterable<ShownPerson>,
): Promise<Meeting> {
  const ours = new Set(connections.map(({ endpoint }) => endpoint.connectionId))
  const meeting: Meeting = { suspects: [], shared: [], strangers: [] }
  for await (const shown of everybody) {
    const people = takeOut(book, shown, now)
    const [person] = people
    if (person === undefined) {
      if (shown.hrisConnectionId === null || ours.has(shown.hrisConnectionId)) meeting.strangers.push(shown)
      continue
    }
    if (people.length > 1) meeting.shared.push(people)
    if (!isImplied(person, shown, now)) meeting.suspects.push({ person, shown, ...plain })
  }
  return meeting
}

const plain = { overruledBy: null, candidates: [] } as const

function isImplied(person: ExpectedPerson, shown: ShownPerson, now: Date): boolean {
  return isAsImplied({ facts: person, shown, connectionId: person.connection.endpoint.connectionId, now })
}

/** People with the e-mail of somebody with another name. The same name is one person with several keys. */
async function findOverruled({ db }: Comparison, shared: Meeting['shared']): Promise<Suspect[]> {
  const names = new Map(
    (await namesOf(db, shared.flat().map(storedKey))).map((named) => [keyOf(named), nameKey(named)]),
  )
  return shared.flatMap(([lead, ...others]) =>
    lead === undefined
      ? []
      : others
          .filter((person) => names.get(keyOf(storedKey(person))) !== names.get(keyOf(storedKey(lead))))
          .map((person) => ({ person, shown: null, overruledBy: lead.identityId, candidates: [] })),
  )
}

function storedKey({ connection, identityId }: ExpectedPerson) {
  return { connection: connection.name, identityId }
}

function keyOf({ connection, identityId }: { readonly connection: string; readonly identityId: string }): string {
  return `${connection}\0${identityId}`
}

/**
 * People whose e-mail the platform does not show. Somebody with the same name whose record is of the same connection is the person under
 * another e-mail; others with that name are candidates.
 */
async function findAbsent(
  { db, now }: Comparison,
  absent: readonly ExpectedPerson[],
  strangers: readonly ShownPerson[],
): Promise<{ readonly suspects: readonly Suspect[]; readonly strangers: readonly ShownPerson[] }> {
  const byName = Map.groupBy(strangers, (shown) => nameKey(shown))
  const names = new Map((await namesOf(db, absent.map(storedKey))).map((named) => [keyOf(named), nameKey(named)]))
  const taken = new Set<ShownPerson>()
  const suspects = absent.flatMap((person): Suspect[] => {
    const name = names.get(keyOf(storedKey(person))) ?? null
    const candidates = name === null ? [] : (byName.get(name) ?? []).filter((each) => !taken.has(each))
    const shown = samePerson(person, candidates)
    for (const each of shown === null ? candidates : [shown]) taken.add(each)
    if (shown === null) return [{ person, shown, overruledBy: null, candidates }]
    return isImplied(person, shown, now) ? [] : [{ person, shown, ...plain }]
  })
  return { suspects, strangers: strangers.filter((shown) => !taken.has(shown)) }
}

function samePerson(person: ExpectedPerson, candidates: readonly ShownPerson[]): ShownPerson | null {
  const own = candidates.filter(({ hrisConnectionId }) => hrisConnectionId === person.connection.endpoint.connectionId)
  const since = (at: string | null | undefined): number | null => (at ? Date.parse(at) : null)
  const [only, second] = own.length > 1 ? own.filter((each) => since(each.startedAt) === since(person.startedAt)) : own
  return second === undefined ? (only ?? null) : null
}

/** Looks up what the list does not show of these people, and names each cause. */
async function explain(comparison: Comparison, suspects: readonly Suspect[]): Promise<NewFinding[]> {
  const { endpoint, lastSync, now } = comparison
  const records = await readRecords(comparison, suspects)
  const edited = suspects.flatMap(({ shown }) => (shown === null ? [] : [shown.personId]))
  const edits: ReadonlyMap<number, HandEdit> = await readEdits(endpoint, new Set(edited))
  return suspects.flatMap((suspect): NewFinding[] => {
    const { person, shown } = suspect
    const { connection, identityId } = person
    const finding = findCause({
      ...suspect,
      facts: person,
      email: person.email,
      record: records.get(suspect) ?? 'unknown',
      connectionId: connection.endpoint.connectionId,
      lastSync,
      edit: (shown && edits.get(shown.personId)) ?? null,
      now,
    })
    return finding === null ? [] : [{ ...finding, connection: connection.name, identityId }]
  })
}

/** Records that changed since the last identity sync come from lists; others are looked up, up to a number. */
async function readRecords(
  { connections, lastSync, maxLookUps }: Comparison,
  suspects: readonly Suspect[],
): Promise<ReadonlyMap<Suspect, ShownRecord>> {
  const records = new Map<Suspect, ShownRecord>()
  const changed = new Map<ComparedConnection, ReadonlyMap<string, ShownRecord>>()
  for (const connection of connections) {
    const isConcerned = suspects.some(({ person }) => person.connection === connection)
    if (isConcerned && lastSync instanceof Date)
      changed.set(connection, await readChangedRecords(connection.endpoint, lastSync))
  }
  let lookUps = 0
  for (const suspect of suspects) {
    const { person, overruledBy } = suspect
    if (overruledBy !== null) continue
    const known = changed.get(person.connection)?.get(person.identityId)
    if (known === undefined && lookUps++ >= maxLookUps) continue
    records.set(suspect, known ?? (await readRecord(person.connection.endpoint, person.identityId)))
  }
  return records
}

/** People shown as current whom no connection states: a second entry of a known person, or nobody's. */
async function findUnstated({ db, connections }: Comparison, strangers: readonly ShownPerson[]): Promise<NewFinding[]> {
  const current = strangers.filter(({ status }) => isCurrent(status))
  const [first] = connections
  if (first === undefined || current.length === 0) return []
  const names = current.map(({ firstName, lastName }) => ({
    firstName: (firstName ?? '').toLowerCase(),
    lastName: (lastName ?? '').toLowerCase(),
  }))
  const named = await peopleNamed(db, { connections: connections.map(({ name }) => name), names })
  const byName = new Map(named.map((each) => [nameKey(each), each]))
  return current.map((shown) => {
    const owner = connections.find(({ endpoint }) => endpoint.connectionId === shown.hrisConnectionId) ?? first
    const name = nameKey(shown)
    const known = name === null ? undefined : byName.get(name)
    return known === undefined
      ? { ...unstated(shown, 'stated_by_nobody'), connection: owner.name, identityId: null }
      : { ...unstated(shown, 'duplicate_person'), connection: known.connection, identityId: known.identityId }
  })
}

function unstated(shown: ShownPerson, cause: 'stated_by_nobody' | 'duplicate_person'): EffectiveFinding {
  const { personId, status, statusUpdatedAt: at, email } = shown
  const evidence = { shown: status, at, otherPeople: [personId], values: { emails: [email] } }
  return { cause, evidence, personId, canReset: at !== null }
}
