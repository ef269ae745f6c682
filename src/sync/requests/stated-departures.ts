import { Failure } from '../../errors.ts'
import { isLeaver } from '../../identity/employment.ts'
import type { RosterEntry } from '../../identity/record.ts'
import { recordAuditEntry } from '../../store/audit/trail.ts'
import { claimLearnedDeparture } from '../../store/connections/learned-departures.ts'
import { holdBacks } from '../../store/hold-backs.ts'
import { markPlansOutdated, resolveKey } from '../../store/key-answers.ts'
import { rosterEntry } from '../../store/roster/roster.ts'
import { addWaitingRun } from '../../store/runs/runs.ts'
import type { Db } from '../../store/schema.ts'
import {
  approveStatedDeparture,
  proposeDeparture,
  type StatedDeparture,
  statedDeparture,
  statedDepartures,
  storeStatedDeparture,
} from '../../store/stated-departures.ts'
import { requireConnection, type SyncConnection, type SyncContext } from '../context/context.ts'
import { refuseWhilePlanning } from '../context/refuse-while-planning.ts'
import { sweep } from '../run/sweep.ts'
import { readDay, todayOf, zoneOf } from './days.ts'
import {
  describeProposal,
  findWaitingDay,
  openProposal,
  proposalEnd,
  refuseSamePerson,
  requireSeenDay,
} from './departure-proposals.ts'
import { refuseRecords } from './separations.ts'
import { isSamePerson, whySamePerson } from './two-people.ts'

const hourMs = 60 * 60_000
/** A day farther away is a slip of the pen. */
const maxDays = 366
const dayLength = 'yyyy-mm-dd'.length

type Person = { readonly connection: string; readonly identityId: string }

type Statement = Person & {
  /** The last day of employment (`YYYY-MM-DD`); default: today. A second person names the day that they approve. */
  readonly on?: string
  /** It is the statement of a second person, and is refused unless another person states this day. */
  readonly approves?: boolean
  readonly reason: string
  /** One person is enough. Everybody is alerted. */
  readonly emergency?: boolean
  readonly by: string
  readonly principal: string
}

/**
 * The person, the last day (null: the statement was withdrawn), whether that applies, whether what was asked waits for a second person, and
 * the roster run that follows at once, if any.
 */
export type StatementResult = {
  readonly identityId: string
  readonly leavingDate: string | null
  readonly applies: boolean
  readonly waits: boolean
  readonly runId: string | null
}

/**
 * States the departure of a person before HR does. A roster run, which needs no export, sends it on its day. It applies until HR states a
 * leaving date or an approver withdraws it. Under `approvals.twoPeople` a second person approves it by stating the same, also another day
 * for a departure that applies.
 */
export async function stateDeparture(ctx: SyncContext, statement: Statement): Promise<StatementResult> {
  const connection = requireConnection(ctx, statement.connection)
  refuseRecords(connection)
  const now = ctx.now()
  const { isKept = false, ...result } = await ctx.store.db.transaction().execute(async (tx): Promise<Answer> => {
    await refuseWhilePlanning(tx, connection.name)
    const person = { connection: connection.name, identityId: await resolveKey(tx, statement) }
    const known = await statedDeparture(tx, person)
    // After a restore a person has left on the platform whose departure is stated anew.
    const mayHaveLeft = known !== null && (known.isLearned || !known.applies)
    const entry = await employedEntry(tx, connection, { person, mayHaveLeft, now })
    const open = known === null || known.isLearned || hasExpired(known, connection, now) ? null : known
    const { twoPeople } = connection.approvals
    if (twoPeople || statement.approves) requireSeenDay(open && twoPeople ? findWaitingDay(open, now) : null, statement)
    const at = { person, entry, statement, connection, now }
    if (twoPeople && open?.applies) {
      const proposed = await answerProposal(tx, open, at)
      if (proposed !== null) return proposed
    }
    const isSecond = twoPeople && open !== null && !isSamePerson(open, statement)
    if (open !== null) refuseAgain(open, { statement, isSecond, twoPeople })
    return isSecond ? await approveStated(tx, open, at) : await storeStated(tx, known, at)
  })
  const { identityId, runId, waits } = result
  const about = { connection: connection.name, identityId, by: statement.by }
  if (!waits && !isKept) ctx.events.departureStated({ ...about, statement: 'stated' })
  if (runId !== null) await sweep(ctx)
  return result
}

/** `isKept`: the present day stays, and only what was proposed is dropped. */
type Answer = StatementResult & { readonly isKept?: boolean }

type StatementAt = {
  readonly person: Person
  readonly entry: RosterEntry
  readonly statement: Statement
  readonly connection: SyncConnection
  readonly now: Date
}

/** Stores what the first person states. `known`: an earlier statement, which it replaces. Its day is the default. */
async function storeStated(tx: Db, known: StatedDeparture | null, at: StatementAt): Promise<StatementResult> {
  const { person, entry, statement, connection, now } = at
  const { by, principal, reason, emergency = false } = statement
  const { twoPeople } = connection.approvals
  if (emergency && !twoPeople)
    throw new Failure('usage', '"approvals.twoPeople" is off, so nothing waits for a second person: state no emergency')
  const leavingDate = dayFor(statement.on ?? known?.leavingDate, todayOf(connection, now))
  refuseBeforeHire(entry, leavingDate)
  const applies = emergency || !twoPeople
  const dueAt = dueAtOf(connection, leavingDate, now)
  const unconfirmedUntil = known?.unconfirmedUntil ?? null
  const stated = { ...person, leavingDate, dueAt, reason, by, principal, applies, isEmergency: emergency }
  await storeStatedDeparture(tx, { ...stated, approvedBy: null, unconfirmedUntil, now })
  if (unconfirmedUntil !== null && applies) await claimLearnedDeparture(tx, person)
  const details = { on: leavingDate, reason, ...(emergency && { emergency }), ...(!applies && { waits: true }) }
  await recordAuditEntry(tx, { act: 'departure.stated', ...person, by, details, now })
  const runId = applies ? await planAt(tx, leavingDate, at) : null
  return { identityId: person.identityId, leavingDate, applies, waits: !applies, runId }
}

/** The beginning of a last day. A roster run before `now` does not count as one that has sent the departure. */
function dueAtOf(connection: SyncConnection, leavingDate: string, now: Date): Date {
  const beginsAt = Temporal.PlainDate.from(leavingDate).toZonedDateTime(zoneOf(connection)).epochMilliseconds
  return new Date(Math.max(beginsAt, now.getTime()))
}

async function approveStated(tx: Db, open: StatedDeparture, at: StatementAt): Promise<StatementResult> {
  const { person, statement, now } = at
  const { leavingDate, applies } = open
  const { by, reason } = statement
  await approveStatedDeparture(tx, { ...person, by, now })
  if (!applies && open.unconfirmedUntil !== null) await claimLearnedDeparture(tx, person)
  const details = { on: leavingDate, statedBy: open.by, reason }
  await recordAuditEntry(tx, { act: 'departure.approved', ...person, by, details, now })
  const runId = applies ? null : await planAt(tx, leavingDate, at)
  return { identityId: person.identityId, leavingDate, applies: true, waits: false, runId }
}

/**
 * Under `approvals.twoPeople`, proposes another day for a departure that applies, or carries it out as the second person. The present day,
 * stated again, drops what is proposed. Null: none of these.
 */
async function answerProposal(tx: Db, open: StatedDeparture, at: StatementAt): Promise<Answer | null> {
  const { person, entry, statement, connection, now } = at
  const { by, principal, reason, emergency = false } = statement
  const proposal = openProposal(open, now)
  const leavingDate = dayFor(statement.on ?? proposal?.leavingDate ?? open.leavingDate, todayOf(connection, now))
  const about = { ...person, by, now }
  if (leavingDate === open.leavingDate) {
    if (proposal === null || statement.on === undefined) return null
    await proposeDeparture(tx, person, null)
    const details = { on: leavingDate, reason, drops: describeProposal(proposal) }
    await recordAuditEntry(tx, { act: 'departure.stated', ...about, details })
    if (open.isEmergency && open.approvedBy === null && !isSamePerson(open, statement)) return null
    return { identityId: person.identityId, leavingDate, applies: true, waits: false, runId: null, isKept: true }
  }
  if (emergency)
    throw new Failure(
      'usage',
      'another day for a departure that applies waits for a second person: leave --emergency out',
    )
  refuseBeforeHire(entry, leavingDate)
  if (proposal?.leavingDate !== leavingDate) {
    const until = proposalEnd(connection, now)
    await proposeDeparture(tx, person, { leavingDate, by, principal, reason, at: now, until })
    const drops = proposal && describeProposal(proposal)
    const details = { on: leavingDate, reason, waits: true, ...(drops && { drops }) }
    await recordAuditEntry(tx, { act: 'departure.stated', ...about, details })
    return { identityId: person.identityId, leavingDate, applies: false, waits: true, runId: null }
  }
  refuseSamePerson(
    proposal,
    statement,
    `the departure of ${person.identityId} on ${leavingDate} is stated already by ${proposal.by}`,
  )
  const dueAt = dueAtOf(connection, leavingDate, now)
  const first = { by: proposal.by, principal: proposal.principal, reason: proposal.reason }
  const stated = { ...person, ...first, leavingDate, dueAt, applies: true, isEmergency: false, approvedBy: by }
  await storeStatedDeparture(tx, { ...stated, unconfirmedUntil: open.unconfirmedUntil, now })
  const details = { on: leavingDate, statedBy: proposal.by, reason }
  await recordAuditEntry(tx, { act: 'departure.approved', ...about, details })
  const runId = await planAt(tx, leavingDate, at)
  return { identityId: person.identityId, leavingDate, applies: true, waits: false, runId }
}

/** Marks held plans that mention the person as outdated, and requests a roster run if the day has come or had come. Returns that run. */
async function planAt(
  tx: Db,
  leavingDate: string,
  { person, entry, statement, connection, now }: StatementAt,
): Promise<string | null> {
  const { by, principal } = statement
  const reason = `1 person of it leaves on ${leavingDate}, as ${by} states since`
  await markPlansOutdated(tx, { connection: person.connection, identityIds: [person.identityId], reason })
  if (leavingDate > todayOf(connection, now) && !entry.isByOperator) return null
  const run = { connection: person.connection, feed: 'roster', trigger: 'operator', options: {}, now } as const
  return await addWaitingRun(tx, { ...run, requestedBy: [{ by, principal }] })
}

/**
 * A stated departure, without a proposal that has expired. `isExpired`: it has to be stated again, because no second person came in time or
 * nobody knows who stated it.
 */
export type ListedDeparture = StatedDeparture & { readonly isExpired: boolean }

/** The departures of a connection that operators state. */
export async function listStatedDepartures(ctx: SyncContext, name: string): Promise<ListedDeparture[]> {
  const connection = requireConnection(ctx, name)
  const all = await statedDepartures(ctx.store.db, connection.name)
  return all.map((stated) => listed(stated, connection, ctx.now()))
}

/** The stated departure of a person; null if there is none. */
export async function statedDepartureOf(ctx: SyncContext, person: Person): Promise<ListedDeparture | null> {
  const stated = await statedDeparture(ctx.store.db, person)
  return stated && listed(stated, requireConnection(ctx, person.connection), ctx.now())
}

function listed(stated: StatedDeparture, connection: SyncConnection, now: Date): ListedDeparture {
  const isExpired = stated.isLearned || hasExpired(stated, connection, now)
  return { ...stated, proposal: connection.approvals.twoPeople ? openProposal(stated, now) : null, isExpired }
}

/** The entry of a person whose departure can be stated. Refuses one who is unknown, has left, is retracted or held back. */
async function employedEntry(
  tx: Db,
  connection: SyncConnection,
  { person, mayHaveLeft, now }: { readonly person: Person; readonly mayHaveLeft: boolean; readonly now: Date },
): Promise<RosterEntry> {
  const { identityId } = person
  const today = todayOf(connection, now)
  const entry = await rosterEntry(tx, person)
  if (!entry || entry.desired === null)
    throw new Failure(
      'not_found',
      `HR has stated no person ${identityId} in "${connection.name}"; \`rollcall separate\` is for people whom only the platform knows`,
    )
  if (entry.retracted) throw new Failure('conflict', `person ${identityId} was retracted at ${entry.retracted.at}`)
  const { desired, inferred, isByOperator } = entry
  const separatedAt = desired.separatedAt ?? null
  if (!isByOperator && !mayHaveLeft && isLeaver({ separatedAt, inferred }, today))
    throw new Failure('conflict', `person ${identityId} has left on ${separatedAt?.slice(0, dayLength)} already`)
  const [held] = await holdBacks(tx, { ...person, today })
  if (held)
    throw new Failure(
      'conflict',
      `departures of person ${identityId} are held back until ${held.until}, by ${held.by}: end that first (rollcall hold-back --end)`,
    )
  return entry
}

type RepeatedStatement = { readonly statement: Statement; readonly isSecond: boolean; readonly twoPeople: boolean }

/** Refuses what adds nothing to a departure that is stated already. Unless two people have to state it, another day corrects it. */
function refuseAgain(open: StatedDeparture, { statement, isSecond, twoPeople }: RepeatedStatement): void {
  const { identityId, leavingDate, by, applies, isEmergency, approvedBy } = open
  const already = `the departure of ${identityId} on ${leavingDate} is stated already by ${by}`
  if (!twoPeople && (statement.on ?? leavingDate) !== leavingDate) return
  const isComplete = applies && (!isEmergency || approvedBy !== null)
  if (isComplete || (isSecond && (statement.on ?? leavingDate) !== leavingDate))
    throw new Failure('conflict', `${already}: withdraw that first (--withdraw)`)
  if (!isSecond && twoPeople && (applies || statement.emergency !== true))
    throw new Failure(
      'conflict',
      `${already}${whySamePerson(open, statement)}: "approvals.twoPeople" requires another person to state it too`,
    )
}

/** Whether the second person is too late, or nobody waits for one any more. The next person then states the departure anew. */
function hasExpired({ applies, statedAt }: StatedDeparture, { approvals }: SyncConnection, now: Date): boolean {
  const { twoPeople, expireHours } = approvals
  return !applies && (!twoPeople || statedAt.getTime() + expireHours * hourMs <= now.getTime())
}

function dayFor(text: string | undefined, today: string): string {
  if (text === undefined) return today
  const day = readDay(text)
  const ahead = Temporal.PlainDate.from(today).until(day).days
  if (Math.abs(ahead) > maxDays) throw new Failure('usage', `${text} is more than a year from today, ${today}`)
  return day.toString()
}

function refuseBeforeHire({ identityId, desired }: RosterEntry, leavingDate: string): void {
  const startedAt = desired?.startedAt?.slice(0, dayLength)
  if (startedAt === undefined || startedAt <= leavingDate) return
  throw new Failure(
    'usage',
    `person ${identityId} starts on ${startedAt}, after ${leavingDate}: state that day or a later one (--on)`,
  )
}
