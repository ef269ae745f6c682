import { Failure } from '../../errors.ts'
import { recordAuditEntry } from '../../store/audit/trail.ts'
import { findForeign, findNamed } from '../../store/foreign/people.ts'
import { rosterEntries } from '../../store/roster/roster.ts'
import { lockActiveRun } from '../../store/runs/claims.ts'
import { addRunOfNamedPeople, type Run, separationOf } from '../../store/runs/runs.ts'
import type { Db } from '../../store/schema.ts'
import { requireConnection, type SyncConnection, type SyncContext } from '../context/context.ts'
import { sweep } from '../run/sweep.ts'
import { readDay, todayOf } from './days.ts'
import { requestersOf, requireRequester, requireRun } from './requests.ts'

type Request = {
  readonly connection: string
  readonly identityIds: readonly string[]
  /** The last day of employment (`YYYY-MM-DD`); default: today. */
  readonly on?: string
  readonly reason: string
  readonly by: string
  readonly principal?: string
}

/**
 * Requests a run that separates people whom only the platform knows. It reads no source, and its plan always waits for an approval. Nothing
 * is deleted.
 */
export async function requestSeparation(ctx: SyncContext, request: Request): Promise<Run> {
  const { db } = ctx.store
  const connection = requireConnection(ctx, request.connection)
  const { name } = connection
  refuseRecords(connection)
  const requestedBy = requestersOf(request)
  requireRequester(connection, requestedBy)
  const { by, reason } = request
  const now = ctx.now()
  const on = lastDay(connection, request.on, now)
  const identityIds = [...new Set(request.identityIds)].sort()
  const id = await db.transaction().execute(async (tx) => {
    await lockActiveRun(tx, name)
    await refuseOthers(tx, name, identityIds)
    const options = { separate: { identityIds, on, reason, by } }
    const added = await addRunOfNamedPeople(tx, {
      connection: name,
      feed: 'separation',
      trigger: 'operator',
      options,
      requestedBy,
      now,
    })
    if (added === null)
      throw new Failure('conflict', `another run of "${name}" that separates people waits; ask again when it has ended`)
    const details = { people: identityIds.length, on, reason }
    await recordAuditEntry(tx, { act: 'separation.requested', connection: name, by, runId: added, details, now })
    return added
  })
  ctx.events.runRequested({ runId: id, connection: name, trigger: 'operator' })
  await sweep(ctx)
  return await requireRun(ctx, id)
}

/** Refuses a connection of custom records, which have no leaving date. */
export function refuseRecords({ name, records }: SyncConnection): void {
  if (records === undefined) return
  throw new Failure(
    'conflict',
    `the records of "${name}" have no leaving date, so that nobody can be separated: a whole upload leaves out what no source states ("deliver: session")`,
  )
}

function lastDay(connection: SyncConnection, text: string | undefined, now: Date): string {
  const today = todayOf(connection, now)
  if (text === undefined) return today
  const day = readDay(text).toString()
  if (day > today) throw new Failure('usage', `${text} lies ahead: today is ${today}. Ask on that day`)
  return day
}

/** Refuses people who are known from HR, missing or separated on the platform, retracted, or in another separation run. */
async function refuseOthers(tx: Db, connection: string, identityIds: readonly string[]): Promise<void> {
  const foreign = await findForeign(tx, { connection, identityIds })
  const stranger = identityIds.find((identityId) => foreign.get(identityId)?.isSeparated !== false)
  if (stranger !== undefined) {
    if (foreign.has(stranger)) throw new Failure('conflict', `person ${stranger} is separated on the platform already`)
    throw await whyNotForeign(tx, connection, stranger)
  }
  await refuseStatedInHeld(tx, { connection, identityIds })
  const retracted = (await rosterEntries(tx, { connection, identityIds })).values().find((entry) => entry.retracted)
  if (retracted)
    throw new Failure(
      'conflict',
      `person ${retracted.identityId} was retracted at ${retracted.retracted?.at}; \`rollcall retract ${retracted.identityId} --undo\` takes that back`,
    )
  const other = await separationOf(tx, { connection, identityIds })
  if (other)
    throw new Failure(
      'conflict',
      `run ${other.id} separates some of these people already (${other.state})${other.state === 'held' ? ': approve or reject it' : ''}`,
    )
}

/** Refuses people whom a held plan states as employed. */
export async function refuseStatedInHeld(
  tx: Db,
  { connection, identityIds }: { connection: string; identityIds: readonly string[] },
): Promise<void> {
  const named = await findNamed(tx, { connection, identityIds })
  const stated = named.find((person) => person.heldRun !== null)
  if (stated === undefined) return
  const { identityId, heldRun } = stated
  throw new Failure(
    'conflict',
    `run ${heldRun} is held, and states ${identityId} as employed: approve or reject it first`,
  )
}

async function whyNotForeign(tx: Db, connection: string, identityId: string): Promise<Failure> {
  const entry = (await rosterEntries(tx, { connection, identityIds: [identityId] })).get(identityId)
  if (entry?.desired)
    return new Failure(
      'conflict',
      entry.desired.separatedAt
        ? `person ${identityId} is known, and has left on ${entry.desired.separatedAt.slice(0, 10)}: there is nothing to separate`
        : `person ${identityId} is known from HR, which says when they leave: \`rollcall person ${identityId}\` shows it`,
    )
  const [named] = await findNamed(tx, { connection, identityIds: [identityId] })
  if (named?.hasRow)
    return new Failure(
      'conflict',
      `an export holds a row of person ${identityId} that cannot be read, or waits for its day: \`rollcall person ${identityId}\` shows it`,
    )
  return new Failure(
    'not_found',
    `nobody with the key ${identityId} is known only to the platform of "${connection}": \`rollcall problems\` lists these people, and \`rollcall resync --verify\` reads the list of the platform again`,
  )
}
