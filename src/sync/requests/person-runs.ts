import { Failure } from '../../errors.ts'
import { recordAuditEntry } from '../../store/audit/trail.ts'
import { unblockConnection } from '../../store/connections/connections.ts'
import { makeDueNow } from '../../store/deliveries/due.ts'
import {
  addRequesters,
  addRunOfNamedPeople,
  ensureConnection,
  getRun,
  type Run,
  waitingRun,
} from '../../store/runs/runs.ts'
import { requireConnection, type SyncContext } from '../context/context.ts'
import { requireSource } from '../plan/dry-run-person.ts'
import { requestedPerson } from '../plan/person-watch.ts'
import { sweep } from '../run/sweep.ts'
import { requestersOf, requireRequester } from './requests.ts'

/**
 * Requests a run of one person, by key or e-mail address: it reads the whole source and delivers only this person. It also unblocks the
 * connection and makes its delayed batches due now. `by` names who asks, and `principal` the account that they signed in with.
 */
export async function requestPerson(
  ctx: SyncContext,
  request: { connection: string; person: string; by?: string; principal?: string },
): Promise<Run> {
  const { db } = ctx.store
  const connection = requireConnection(ctx, request.connection)
  const { name } = connection
  requireSource(connection)
  const requestedBy = requestersOf(request)
  requireRequester(connection, requestedBy)
  const now = ctx.now()
  const person = requestedPerson(request.person)
  await ensureConnection(db, name)
  await unblockConnection(db, name)
  await makeDueNow(db, { connection: name, now })
  const run = { connection: name, feed: 'person', trigger: 'operator', options: { person }, requestedBy, now } as const
  const { by = 'operator' } = request
  const { identityId } = person
  const added = await db.transaction().execute(async (tx) => {
    const id = await addRunOfNamedPeople(tx, run)
    const about = { connection: name, by, ...(identityId !== undefined && { identityId }), now }
    if (id !== null)
      await recordAuditEntry(tx, { act: 'run.requested', ...about, runId: id, details: { feed: 'person' } })
    return id
  })
  const runId = added ?? (await waitingRunFor(ctx, name, person.digest))
  if (added === null) await addRequesters(db, { runId, requestedBy })
  if (added !== null) ctx.events.runRequested({ runId, connection: name, trigger: 'operator' })
  await sweep(ctx)
  const requested = await getRun(db, runId)
  if (!requested) throw new Failure('not_found', `there is no run ${runId}`)
  return requested
}

/** The waiting run for the same person. Throws if it is for another person. */
async function waitingRunFor({ store }: SyncContext, connection: string, digest: string): Promise<string> {
  const waiting = await waitingRun(store.db, { connection, feed: 'person' })
  if (waiting?.options.person?.digest === digest) return waiting.id
  throw new Failure(
    'conflict',
    `run ${waiting?.id ?? ''} of another person waits for "${connection}"; ask again when it has ended`,
  )
}
