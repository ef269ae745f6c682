import { setTimeout as pause } from 'node:timers/promises'
import { isEndedOrHeld, type Run } from '../../contract/control/shapes.ts'
import { Failure, failures } from '../../errors.ts'
import { standardError } from '../../text/print.ts'
import { createProgress, noProgress, type Progress } from '../render/progress.ts'
import { renderOutcome } from '../render/run.ts'
import type { Paint } from '../render/text.ts'
import { number, pluralize, shortId } from '../render/text.ts'
import type { Control } from './control-client.ts'
import type { Session } from './session.ts'

const pollMs = 250
const slowPollMs = 1000
/** How long a run may stand still before the status is read for the reason. */
const maxIdleMs = 2000
/** States in which a run does not wait for the platform. */
const statesWithoutPlatform: ReadonlySet<Run['state']> = new Set(['reading', 'planned'])

/** How many of the newest runs of a connection are searched for those of a command, and how many of them are waited for. */
const maxOthers = 20

type FollowedRun = {
  /**
   * The result of `endedOrHeldRunIds` before the run was requested. Runs that are not among them are reported too, such as that of due leaving
   * dates.
   */
  readonly endedOrHeldBefore?: ReadonlySet<string> | null
}

/** Follows a run until it ends or is held, prints the result, and returns the exit code. */
export async function followAndReport(
  session: Session,
  run: Run,
  waitSeconds: number,
  { endedOrHeldBefore = null }: FollowedRun = {},
): Promise<number> {
  const { control, output } = session
  const ended = await waitForEnd(session, run, waitSeconds)
  if (ended.state === 'held' && ended.wentOn !== null) {
    const sentPart = await control.getRun({ params: { runId: ended.wentOn } })
    const endedPart = await waitForEnd(session, sentPart, waitSeconds)
    if (!output.quiet) output.printMessage(renderOutcome(endedPart, output.paint))
  }
  const alongside: Run[] = []
  for (const { id } of ended.also) {
    const other = await control.getRun({ params: { runId: id } })
    alongside.push(await waitForEnd(session, other, waitSeconds))
  }
  const known = [ended, ...alongside]
  const knownIds = new Set([
    ...idsOf(known),
    ...(ended.wentOn === null ? [] : [ended.wentOn]),
    ...(endedOrHeldBefore ?? []),
  ])
  const others = endedOrHeldBefore === null ? noOthers : await endedOthers(session, ended, knownIds, waitSeconds)
  const also = [...alongside, ...others.runs]
  output.printResult(also.length === 0 ? ended : { ...ended, alongside: also }, renderOutcomes)
  const exits = [ended, ...also].map(exitCodeOf)
  const exit = exits.find((code) => code !== 0)
  if (others.failure !== null && exit === undefined) throw others.failure
  if (others.failure !== null) output.printMessage(others.failure.message)
  return exit ?? 0
}

type Others = { readonly runs: readonly Run[]; readonly failure: Failure | null }
const noOthers: Others = { runs: [], failure: null }

/**
 * The ids of the runs that have ended or are held, of a connection and of those linked to it; null if a daemon is running, which finishes
 * the other runs. A command without a daemon reads this first and reports every later run: one that ended at once may have failed.
 */
export async function endedOrHeldRunIds(session: Session, connection: string): Promise<ReadonlySet<string> | null> {
  if ((await session.control.about({})).daemon !== null) return null
  return new Set((await newestRuns(session, connection)).filter(isEndedOrHeld).map(({ id }) => id))
}

/** Waits for the runs that are not known yet. Without a daemon, nothing would finish them after the command. */
async function endedOthers(
  session: Session,
  { connection }: Run,
  knownIds: Set<string>,
  waitSeconds: number,
): Promise<Others> {
  const runs: Run[] = []
  try {
    for (;;) {
      const next = (await newestRuns(session, connection)).find(({ id }) => !knownIds.has(id))
      // If a daemon on another machine works as well, new runs may never cease.
      if (next === undefined || runs.length === maxOthers) return { runs, failure: null }
      const run = await waitForEnd(session, next, waitSeconds)
      for (const id of [next.id, ...idsOf([run])]) knownIds.add(id)
      runs.push(run)
    }
  } catch (error) {
    if (error instanceof Failure) return { runs, failure: error }
    throw error
  }
}

/** The newest runs of a connection, then of each linked connection; of each, the oldest first. */
async function newestRuns({ control, config }: Session, connection: string): Promise<Run[]> {
  const linked = [...config.connections.values()].filter(({ linkedTo }) => linkedTo === connection)
  const runs: Run[] = []
  for (const name of [connection, ...linked.map((one) => one.name)]) {
    const { data } = await control.listRuns({ query: { connection: name, limit: maxOthers } })
    runs.push(...data.toReversed())
  }
  return runs
}

/** The runs and their held parts, which are reported with the run that they were part of. */
function idsOf(runs: readonly Run[]): string[] {
  return runs.flatMap(({ id, heldPart }) => (heldPart === null ? [id] : [id, heldPart]))
}

/** The results of a run and of the runs of linked connections. */
function renderOutcomes(
  { alongside = [], ...run }: Run & { readonly alongside?: readonly Run[] },
  paint: Paint,
): string {
  return [run, ...alongside].map((one) => renderOutcome(one, paint)).join('\n')
}

/** The run once it has ended or is held. */
export async function waitForEnd({ control, output, signal }: Session, run: Run, waitSeconds: number): Promise<Run> {
  const progress = output.quiet ? noProgress : createProgress(standardError)
  return await followRun(control, run, { waitSeconds, progress, signal })
}

type FollowOptions = { readonly waitSeconds: number; readonly progress: Progress; readonly signal: AbortSignal }

/**
 * Watches a run until it ends or is held. Throws `blocked` if the platform refused its connection, and `platform_unreachable` if nothing
 * moved for `waitSeconds`; the run itself remains, and continues when it can.
 */
export async function followRun(
  control: Control,
  first: Run,
  { waitSeconds, progress, signal }: FollowOptions,
): Promise<Run> {
  using _progressLine = { [Symbol.dispose]: () => progress.end() }
  const lastProgress = watchProgress()
  let run = first
  for (;;) {
    progress.show(run)
    if (isEndedOrHeld(run)) return run
    const idleMs = lastProgress.idleMs(run)
    if (idleMs > maxIdleMs) {
      const { working, platform, delay } = await findWorkingRun(control, run)
      if (lastProgress.idleMs(working) > waitSeconds * 1000)
        throw stalledFailure(working, { platform, delay, waitSeconds })
    }
    await pause(idleMs > maxIdleMs ? slowPollMs : pollMs, undefined, { signal })
    run = await control.getRun({ params: { runId: run.id } })
  }
}

/** Measures how long it is since a run reached a new state or new counts. */
function watchProgress(): { idleMs(run: Run): number } {
  const observed = new Set<string>()
  let movedAt = performance.now()
  return {
    idleMs(run) {
      const mark = JSON.stringify([run.id, run.state, run.confirmed, run.problems, run.remaining])
      // Reading a source and storing its plan take time that says nothing about the platform.
      if (!observed.has(mark) || statesWithoutPlatform.has(run.state)) movedAt = performance.now()
      observed.add(mark)
      return performance.now() - movedAt
    },
  }
}

type WorkingRun = { readonly working: Run; readonly platform: string; readonly delay: string | undefined }

/** Finds the run that makes progress: this one, or the one that it waits for. Throws `blocked` if the connection is blocked. */
async function findWorkingRun(control: Control, run: Run): Promise<WorkingRun> {
  const { platform, platformDelay, connections } = await control.status({ query: { connection: run.connection } })
  const [connection] = connections
  const working = connection?.active ?? run
  if (connection?.blocked) {
    throw new Failure(
      'blocked',
      `${run.connection} is blocked: ${connection.blocked.reason}; ${remainingText(working)}`,
    )
  }
  return { working, platform, delay: platformDelay }
}

function stalledFailure(
  run: Run,
  { platform, delay, waitSeconds }: Omit<WorkingRun, 'working'> & { readonly waitSeconds: number },
): Failure {
  const why = delay === undefined ? '' : `: ${delay}`
  const message = `the platform at ${platform} accepted nothing for ${pluralize(waitSeconds, 'second')}${why}; ${remainingText(run)}`
  return new Failure('platform_unreachable', message)
}

function remainingText(run: Run): string {
  return `${pluralize(run.confirmed, 'change')} delivered, ${number(run.remaining)} to go in run ${shortId(run.id)}; the next start continues with it`
}

/** The exit code for the end of a run. */
export function exitCodeOf(run: Run): number {
  switch (run.state) {
    case 'held':
      return failures.run_held.exit
    case 'finished_with_problems':
      return failures.finished_with_problems.exit
    case 'failed':
      return isFailureCode(run.failure) ? failures[run.failure].exit : failures.run_failed.exit
    case 'rejected':
    case 'superseded':
    case 'cancelled':
      return failures.conflict.exit
    default:
      // What was delivered went well; a part of the plan is held all the same.
      return run.heldPart === null ? 0 : failures.run_held.exit
  }
}

function isFailureCode(code: string | null): code is keyof typeof failures {
  return code !== null && Object.hasOwn(failures, code)
}
