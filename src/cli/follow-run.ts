import { setTimeout as pause } from 'node:timers/promises'
import { type Run, restingStates } from '../contract/control/shapes.ts'
import { Failure, failures } from '../errors.ts'
import { standardError } from '../text/print.ts'
import type { Control } from './control-client.ts'
import { createProgress, noProgress, type Progress } from './render/progress.ts'
import { renderOutcome } from './render/run.ts'
import type { Paint } from './render/text.ts'
import { counted, number, shortId } from './render/text.ts'
import type { Session } from './session.ts'

const pollMs = 250
const slowPollMs = 1000
/** How long nothing may move before it is worth asking why. */
const standingMs = 2000
/** States in which a run needs no answer of the platform to go on. */
const ownWork: ReadonlySet<Run['state']> = new Set(['reading', 'planned'])

type Settling = {
  /** Whether the other runs of the connection are waited for as well where no daemon does them, such as that of due leaving dates. */
  readonly withOthers?: boolean
}

/** Stays with a run until it has come to rest, prints what became of it, and tells the exit code. */
export async function settle(
  session: Session,
  run: Run,
  waitSeconds: number,
  { withOthers = false }: Settling = {},
): Promise<number> {
  const { control, output } = session
  const settled = await settledRun(session, run, waitSeconds)
  if (settled.state === 'held' && settled.wentOn !== null) {
    const going = await control.getRun({ params: { runId: settled.wentOn } })
    const gone = await settledRun(session, going, waitSeconds)
    if (!output.quiet) output.note(renderOutcome(gone, output.paint))
  }
  const alongside: Run[] = []
  for (const { id } of settled.also) {
    const other = await control.getRun({ params: { runId: id } })
    alongside.push(await settledRun(session, other, waitSeconds))
  }
  const others = withOthers ? await settledOthers(session, [settled, ...alongside], waitSeconds) : nothingElse
  const also = [...alongside, ...others.runs]
  output.result(also.length === 0 ? settled : { ...settled, alongside: also }, renderOutcomes)
  const exits = [settled, ...also].map(exitOf)
  const exit = exits.find((exit) => exit !== 0)
  if (others.failure !== null && exit === undefined) throw others.failure
  if (others.failure !== null) output.note(others.failure.message)
  return exit ?? 0
}

type Others = { readonly runs: readonly Run[]; readonly failure: Failure | null }
const nothingElse: Others = { runs: [], failure: null }
const atWork = ['waiting', 'reading', 'planned', 'delivering'] as const

/** The other runs of the connection once they have come to rest. A daemon does them in any case; without one they would end with the command. */
async function settledOthers(session: Session, known: readonly Run[], waitSeconds: number): Promise<Others> {
  const { control } = session
  const [{ connection } = { connection: '' }] = known
  const seen = new Set(known.map(({ id }) => id))
  const runs: Run[] = []
  if ((await control.about({})).daemon !== null) return nothingElse
  try {
    for (;;) {
      const { data } = await control.listRuns({ query: { connection, state: [...atWork], limit: 20 } })
      const next = data.findLast(({ id }) => !seen.has(id))
      if (next === undefined) return { runs, failure: null }
      seen.add(next.id)
      runs.push(await settledRun(session, next, waitSeconds))
    }
  } catch (error) {
    if (error instanceof Failure) return { runs, failure: error }
    throw error
  }
}

/** What became of a run, and of those that rode along with it. */
function renderOutcomes(
  { alongside = [], ...run }: Run & { readonly alongside?: readonly Run[] },
  paint: Paint,
): string {
  return [run, ...alongside].map((one) => renderOutcome(one, paint)).join('\n')
}

/** The run once it has come to rest. */
export async function settledRun({ control, output, signal }: Session, run: Run, waitSeconds: number): Promise<Run> {
  const progress = output.quiet ? noProgress : createProgress(standardError)
  return await followRun(control, run, { waitSeconds, progress, signal })
}

/**
 * Watches a run until it has come to rest. Throws `blocked` when the platform turned its connection away, and
 * `platform_unreachable` when nothing moved for `waitSeconds`; the run itself stays, and goes on when it can.
 */
export async function followRun(
  control: Control,
  first: Run,
  { waitSeconds, progress, signal }: { waitSeconds: number; progress: Progress; signal: AbortSignal },
): Promise<Run> {
  using _place = { [Symbol.dispose]: () => progress.end() }
  const movement = watchMovement()
  let run = first
  for (;;) {
    progress.show(run)
    if (isResting(run)) return run
    const standsMs = movement.see(run)
    if (standsMs > standingMs) {
      const { working, platform } = await lookAround(control, run)
      if (movement.see(working) > waitSeconds * 1000) throw stalled(working, { platform, waitSeconds })
    }
    await pause(standsMs > standingMs ? slowPollMs : pollMs, undefined, { signal })
    run = await control.getRun({ params: { runId: run.id } })
  }
}

/** Tells for how long nothing has moved: no run has been seen in a state or with counts that it did not have before. */
function watchMovement(): { see(run: Run): number } {
  const seen = new Set<string>()
  let movedAt = performance.now()
  return {
    see(run) {
      const mark = JSON.stringify([run.id, run.state, run.confirmed, run.problems, run.remaining])
      // How long a source takes to be read, and its plan to be stored, says nothing about the platform.
      if (!seen.has(mark) || ownWork.has(run.state)) movedAt = performance.now()
      seen.add(mark)
      return performance.now() - movedAt
    },
  }
}

/** The run that is at work: this one, or the one that it waits for. Throws `blocked` where none can be. */
async function lookAround(control: Control, run: Run): Promise<{ working: Run; platform: string }> {
  const { platform, connections } = await control.status({})
  const connection = connections.find(({ name }) => name === run.connection)
  const working = connection?.active ?? run
  if (connection?.blocked) {
    throw new Failure('blocked', `${run.connection} is blocked: ${connection.blocked.reason}; ${remains(working)}`)
  }
  return { working, platform }
}

/** True once nothing happens to the run by itself any more. */
export function isResting({ state }: Run): boolean {
  return restingStates.some((resting) => resting === state)
}

function stalled(run: Run, { platform, waitSeconds }: { platform: string; waitSeconds: number }): Failure {
  const message = `the platform at ${platform} took nothing for ${counted(waitSeconds, 'second')}: ${remains(run)}`
  return new Failure('platform_unreachable', message)
}

function remains(run: Run): string {
  return `${counted(run.confirmed, 'change')} delivered, ${number(run.remaining)} to go in run ${shortId(run.id)}; the next start goes on with it`
}

/** The exit code that tells how a run ended. */
export function exitOf(run: Run): number {
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
      // What went on went well; a part of the plan waits all the same.
      return run.setAside === null ? 0 : failures.run_held.exit
  }
}

function isFailureCode(code: string | null): code is keyof typeof failures {
  return code !== null && Object.hasOwn(failures, code)
}
