import {
  type EffectiveFinding,
  findCause,
  type HandEdit,
  isAsImplied,
  type LastSync,
  type ShownPerson,
} from '../../identity/effective/cause.ts'
import { type EmploymentFacts, expectedStatus, isCurrent, isFormer } from '../../identity/effective/expected.ts'
import { nameKey } from '../../identity/effective/name-key.ts'
import { listFindings, type NewFinding, type StoredFinding } from '../../store/effective/findings.ts'
import { namesOf, peopleNamed } from '../../store/effective/people.ts'
import type { Db } from '../../store/schema.ts'
import type { Endpoint } from '../target/endpoint.ts'
import { readEdits } from './details.ts'
import { digestOf } from './read-accounts.ts'
import { readRecords, type Suspect } from './records.ts'
import {
  type ComparedConnection,
  decidingFirst,
  type ExpectedPerson,
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
  /** The number of the comparison. */
  readonly number: number
  readonly now: Date
}

/** Compares everybody in the book with everybody shown, and names what differs. */
export async function compareEveryone(
  comparison: Comparison,
  book: RosterBook,
  everybody: AsyncIterable<ShownPerson>,
): Promise<NewFinding[]> {
  const { suspects, shared, strangers } = await matchByEmail(comparison, book, everybody)
  const overruled = await findOverruled(comparison, shared)
  const absent = await findAbsent(comparison, remaining(book), strangers)
  const findings = await explain(comparison, [...absent.suspects, ...suspects, ...overruled])
  return [...findings, ...(await findUnstated(comparison, absent.strangers))]
}

type EmailMatches = {
  readonly suspects: Suspect[]
  /** People of several keys with one e-mail, the one whose record decides first. */
  readonly shared: (readonly ExpectedPerson[])[]
  /** Shown people whose e-mail no connection of Rollcall states, unless another source states them. */
  readonly strangers: ShownPerson[]
}

async function matchByEmail(
  { connections, now }: Comparison,
  book: RosterBook,
  everybody: AsyncIterable<ShownPerson>,
): Promise<EmailMatches> {
  const ownConnections = new Set(connections.map(({ endpoint }) => endpoint.connectionId))
  const matches: EmailMatches = { suspects: [], shared: [], strangers: [] }
  for await (const shown of everybody) {
    const people = takeOut(book, shown, now)
    const [person] = people
    if (person === undefined) {
      if (shown.hrisConnectionId === null || ownConnections.has(shown.hrisConnectionId)) matches.strangers.push(shown)
      continue
    }
    // Which record decides is open until the platform has acknowledged all of them.
    if (people.some(({ isPending }) => isPending)) continue
    if (people.length > 1) matches.shared.push(people)
    if (!isAnyImplied(people, shown, now)) matches.suspects.push({ person, shown, ...plain })
  }
  return matches
}

const plain = { overruledBy: null, candidates: [], mayBeMatched: false } as const

/** Whether the person is shown as the record implies that decides. Of records with the same rank, the platform takes one that HR cannot know. */
function isAnyImplied([lead, ...others]: readonly ExpectedPerson[], shown: ShownPerson, now: Date): boolean {
  if (lead === undefined) return true
  const order = decidingFirst(shown, now)
  return [lead, ...others.filter((other) => order(lead, other) === 0)].some((one) => isImplied(one, shown, now))
}

function isImplied(person: ExpectedPerson, shown: ShownPerson, now: Date): boolean {
  return isAsImplied({ facts: person, shown, connectionId: person.connection.endpoint.connectionId, now })
}

/**
 * People with the e-mail of somebody with another name. The same name is one person with several keys. Somebody who has left and whose address
 * was given on, or who returned under another key, needs nothing.
 */
async function findOverruled({ db, now }: Comparison, shared: EmailMatches['shared']): Promise<Suspect[]> {
  const names = new Map(
    (await namesOf(db, shared.flat().map(storedKey))).map((named) => [keyOf(named), nameKey(named)]),
  )
  return shared.flatMap(([lead, ...others]) =>
    lead === undefined
      ? []
      : others
          .filter((person) => {
            const [name, leadName] = [person, lead].map((one) => names.get(keyOf(storedKey(one))) ?? null)
            return (name === null || name !== leadName) && !isFollowed(person, lead, now)
          })
          .map((person) => ({ ...plain, person, shown: null, overruledBy: lead.identityId })),
  )
}

function isFollowed(person: EmploymentFacts, lead: EmploymentFacts, now: Date): boolean {
  if (!isFormer(expectedStatus(person, now))) return false
  const [started, leadStarted] = [instantOf(person.startedAt), instantOf(lead.startedAt)]
  return started === null || leadStarted === null || leadStarted > started
}

function instantOf(at: string | null | undefined): number | null {
  return at ? Date.parse(at) : null
}

function storedKey({ connection, identityId }: ExpectedPerson) {
  return { connection: connection.name, identityId }
}

function keyOf({ connection, identityId }: { readonly connection: string; readonly identityId: string }): string {
  return `${connection}\0${identityId}`
}

/**
 * People whose e-mail the platform does not show. Somebody with the same name whose record is of the same connection is the person under
 * another e-mail; others with that name are candidates. Where names do not tell who is who, somebody with a record may be each of them.
 */
async function findAbsent(
  { db, now }: Comparison,
  absent: readonly ExpectedPerson[],
  strangers: readonly ShownPerson[],
): Promise<{ readonly suspects: readonly Suspect[]; readonly strangers: readonly ShownPerson[] }> {
  const byName = Map.groupBy(strangers, (shown) => nameKey(shown))
  const names = new Map((await namesOf(db, absent.map(storedKey))).map((named) => [keyOf(named), nameKey(named)]))
  const taken = new Set<ShownPerson>()
  const namesakes = new Set<ShownPerson>()
  const own = Map.groupBy(strangers, ({ hrisConnectionId }) => hrisConnectionId)
  const suspects = absent.flatMap((person): Suspect[] => {
    const name = names.get(keyOf(storedKey(person))) ?? null
    const candidates = name === null ? [] : (byName.get(name) ?? []).filter((each) => !taken.has(each))
    const shown = samePerson(person, candidates)
    const { connectionId } = person.connection.endpoint
    const mayBe = name === null ? (own.get(connectionId) ?? []) : candidates
    const mayBeMatched = mayBe.some(({ hrisConnectionId }) => hrisConnectionId === connectionId)
    if (shown !== null) taken.add(shown)
    for (const each of shown === null ? candidates : [shown]) namesakes.add(each)
    if (shown === null) return [{ person, shown, overruledBy: null, candidates, mayBeMatched }]
    return isImplied(person, shown, now) ? [] : [{ person, shown, ...plain }]
  })
  return { suspects, strangers: strangers.filter((shown) => !namesakes.has(shown)) }
}

function samePerson(person: ExpectedPerson, candidates: readonly ShownPerson[]): ShownPerson | null {
  const own = candidates.filter(({ hrisConnectionId }) => hrisConnectionId === person.connection.endpoint.connectionId)
  const started = instantOf(person.startedAt)
  const [only, second] = own.length > 1 ? own.filter((each) => instantOf(each.startedAt) === started) : own
  return second === undefined ? (only ?? null) : null
}

/** Looks up what the list does not show of these people, and names each cause. */
async function explain(comparison: Comparison, suspects: readonly Suspect[]): Promise<NewFinding[]> {
  const { endpoint, lastSync, number, now } = comparison
  const known = await findKnown(comparison, suspects)
  const knownOf = ({ person }: Suspect) => known.get(keyOf(storedKey(person)))
  const waiting = suspects.map((suspect) => ({ suspect, ...turnOf(suspect, { known: knownOf(suspect), number }) }))
  const order = waiting.toSorted(byTurn).map(({ suspect }) => suspect)
  const { records, incomplete } = await readRecords(comparison, order)
  const edited = suspects.flatMap(({ shown }) => (shown === null ? [] : [shown.personId]))
  const edits: ReadonlyMap<number, HandEdit> = await readEdits(endpoint, new Set(edited))
  return suspects.flatMap((suspect): NewFinding[] => {
    const { person, shown } = suspect
    const { connection, identityId } = person
    const record = records.get(suspect) ?? 'unknown'
    const finding = findCause({
      ...suspect,
      facts: person,
      email: person.email,
      record,
      mayHaveChanged: incomplete.has(connection),
      connectionId: connection.endpoint.connectionId,
      lastSync,
      edit: (shown && edits.get(shown.personId)) ?? null,
      now,
    })
    if (finding === null) return []
    const explained = record === 'unknown' ? asKnown(finding, knownOf(suspect)) : finding
    return [{ ...explained, connection: connection.name, identityId }]
  })
}

/** What the comparison before found about these people, by key. */
async function findKnown(
  { db, connections }: Comparison,
  suspects: readonly Suspect[],
): Promise<ReadonlyMap<string, StoredFinding>> {
  if (suspects.length === 0) return new Map()
  const findings = await listFindings(db, {
    connections: connections.map(({ name }) => name),
    keys: suspects.map(({ person }) => person.identityId),
    limit: suspects.length * 3,
  })
  const known = findings.filter(({ cause }) => cause !== 'duplicate_person')
  return new Map(known.map((each) => [`${each.connection}\0${each.identityId}`, each]))
}

/** The place of somebody in the order of look-ups. */
type Turn = { readonly rank: number; readonly text: string }

/** Who waits longest for a look-up goes first, then who was never explained. Of the others, each comparison begins with different ones. */
function turnOf(
  { person }: Suspect,
  { known, number }: { readonly known: StoredFinding | undefined; readonly number: number },
): Turn {
  if (known === undefined) return { rank: 1, text: '' }
  if (known.cause === 'not_looked_up') return { rank: 0, text: known.firstSeenAt.toISOString() }
  return { rank: 2, text: digestOf(`${number} ${keyOf(storedKey(person))}`) }
}

function byTurn(a: Turn, b: Turn): number {
  if (a.rank !== b.rank || a.text === b.text) return a.rank - b.rank
  return a.text < b.text ? -1 : 1
}

/** The known explanation of somebody who was not looked up this time, if the platform and HR still state the same. */
function asKnown(finding: EffectiveFinding, known: StoredFinding | undefined): EffectiveFinding {
  if (known === undefined || known.cause === 'not_synced') return finding
  const { expected, shown } = finding.evidence
  if (known.evidence.expected !== expected || known.evidence.shown !== shown) return finding
  const isOfHand = known.canReset && finding.canReset && known.evidence.at === finding.evidence.at
  if (finding.cause !== 'not_looked_up' && !isOfHand) return finding
  const { cause, evidence, personId, canReset } = known
  return { cause, evidence, personId: finding.personId ?? personId, canReset }
}

/** People shown as current whom nobody states: second entries of a known person, or nobody's. */
async function findUnstated({ db, connections }: Comparison, strangers: readonly ShownPerson[]): Promise<NewFinding[]> {
  const current = strangers.filter(
    ({ status, hrisConnectionId, idpConnectionId }) =>
      isCurrent(status) && hrisConnectionId === null && idpConnectionId === null,
  )
  const [first] = connections
  if (first === undefined || current.length === 0) return []
  const names = new Set(current.flatMap((shown) => nameKey(shown) ?? []))
  const named = await peopleNamed(db, { connections: connections.map(({ name }) => name), names })
  const byName = new Map(named.map((each) => [nameKey(each), each]))
  const ofName = Map.groupBy(current, (shown) => {
    const name = nameKey(shown)
    return name === null ? undefined : byName.get(name)
  })
  return [...ofName].flatMap(([known, people]): NewFinding[] => {
    if (known === undefined)
      return people.map((shown) => ({
        ...unstated([shown], 'stated_by_nobody'),
        connection: first.name,
        identityId: null,
      }))
    // The platform may show somebody with changes to send under the e-mail of before.
    if (known.isPending) return []
    const { connection, identityId } = known
    return [{ ...unstated(people, 'duplicate_person'), connection, identityId }]
  })
}

/** HR states nothing about them, so a reset would leave them as unknown. */
function unstated(people: readonly ShownPerson[], cause: 'stated_by_nobody' | 'duplicate_person'): EffectiveFinding {
  const [one] = people
  const personId = people.length === 1 ? (one?.personId ?? null) : null
  const otherPeople = people.map((each) => each.personId)
  const values = { emails: people.map(({ email }) => email) }
  const evidence = { ...(one && { shown: one.status, at: one.statusUpdatedAt }), otherPeople, values }
  return { cause, evidence, personId, canReset: false }
}
