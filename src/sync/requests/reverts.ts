import { Failure } from '../../errors.ts'
import { recordAuditEntry } from '../../store/audit/trail.ts'
import { lockActiveRun } from '../../store/runs/claims.ts'
import { addRunOfNamedPeople, getRun, type Run, revertOf } from '../../store/runs/runs.ts'
import type { RevertAccount } from '../../store/schema.ts'
import { requireConnection, type SyncContext } from '../context/context.ts'
import { planRevert } from '../plan/revert.ts'
import { memoryStage } from '../plan/stage.ts'
import { sweep } from '../run/sweep.ts'
import { requestersOf } from './requests.ts'

/** Requests a run that reverts what another one did. It reads no source, and guards judge it like every other run. */
export async function requestRevert(
  ctx: SyncContext,
  request: { runId: string; reason: string; by: string; principal?: string; signal: AbortSignal },
): Promise<Run> {
  const { db } = ctx.store
  const { runId, reason, by, signal } = request
  const run = await requireRevertRun(ctx, runId)
  const connection = requireConnection(ctx, run.connection)
  const { name } = connection
  const why = notToRevert(run)
  if (why !== null) throw new Failure('conflict', `run ${runId} cannot be reverted: ${why}`)
  const revert = { runId, reason, by }
  const { account } = await planRevert(ctx, connection, { revert, stage: memoryStage(), signal })
  const now = ctx.now()
  const id = await db.transaction().execute(async (tx) => {
    await lockActiveRun(tx, name)
    const other = await revertOf(tx, runId)
    if (other?.state === 'held')
      throw new Failure('conflict', `run ${other.id}, which reverts run ${runId}, is held: approve or reject it`)
    if (other) throw new Failure('conflict', `run ${runId} was reverted already, by run ${other.id} (${other.state})`)
    if (account.revert.people === 0) throw new Failure('conflict', nothingToRevert(runId, account.revert))
    const added = await addRunOfNamedPeople(tx, {
      connection: name,
      feed: 'revert',
      trigger: 'operator',
      options: { revert },
      requestedBy: requestersOf(request),
      now,
    })
    if (added === null)
      throw new Failure('conflict', `another run of "${name}" that reverts one waits; ask again when it has ended`)
    const details = { reverts: runId, reason, people: account.revert.people }
    await recordAuditEntry(tx, { act: 'revert.requested', connection: name, by, runId: added, details, now })
    return added
  })
  ctx.events.runRequested({ runId: id, connection: name, trigger: 'operator' })
  await sweep(ctx)
  return await requireRevertRun(ctx, id)
}

/** Why a run cannot be reverted, and what can be done instead; null if it can. */
function notToRevert({ id, state, feed, options, confirmed }: Run): string | null {
  if (options.retract) {
    const { identityId } = options.retract
    return `it retracted ${identityId}; \`rollcall retract ${identityId} --undo\` undoes that`
  }
  // Otherwise the person would be employed and in no export, and the next export would separate them again without an approval.
  if (feed === 'separation')
    return 'it separated people whom no export states; `rollcall hold-back KEY` brings one back until HR states them'
  if (feed === 'revert') return 'it is itself a revert; `rollcall sync` sends what HR says now'
  switch (state) {
    case 'waiting':
    case 'reading':
    case 'planned':
    case 'delivering':
      return `it is ${state}; wait until it has ended, or cancel it first`
    case 'held':
      return `it is held, and nothing of it was sent; \`rollcall reject ${id}\` drops it`
    case 'rejected':
    case 'superseded':
    case 'unchanged':
      return `it is ${state}, and nothing of it was sent`
    case 'failed':
      return confirmed > 0 ? null : 'it failed, and nothing of it was acknowledged'
    // Changes that it did not deliver are accepted too: the next run would send them.
    case 'cancelled':
    case 'finished':
    case 'finished_with_problems':
      return null
    default:
      return state satisfies never
  }
}

function nothingToRevert(runId: string, { joiners, retracted, left: unchanged }: RevertAccount): string {
  const [first] = unchanged.people
  const parts = [
    ...(joiners.count > 0 ? [`${joiners.count} joined, such as ${joiners.keys[0]}: \`rollcall retract KEY\``] : []),
    ...(retracted.count > 0
      ? [`${retracted.count} were retracted, such as ${retracted.keys[0]}: \`rollcall retract KEY --undo\``]
      : []),
    ...(first ? [`${unchanged.count} are left as they are, such as ${first.identityId}: ${first.reason}`] : []),
  ]
  return [`nothing of run ${runId} is left to revert`, ...parts].join('; ')
}

async function requireRevertRun({ store }: SyncContext, runId: string): Promise<Run> {
  const run = await getRun(store.db, runId)
  if (!run) throw new Failure('not_found', `there is no run ${runId}`)
  return run
}
