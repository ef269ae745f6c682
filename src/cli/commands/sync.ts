import type { Pause } from '../../contract/control/pauses.ts'
import type { ConnectionStatus, KeptPlan, PersonAccount, Run } from '../../contract/control/shapes.ts'
import { Failure, failures } from '../../errors.ts'
import { renderPersonAccount } from '../render/person-account.ts'
import { renderOutcome } from '../render/run.ts'
import { peopleNotInStep } from '../render/tallies.ts'
import { formatInstant, type Paint, pluralize } from '../render/text.ts'
import { endedOrHeldRunIds, exitCodeOf, followAndReport, waitForEnd } from '../session/follow-run.ts'
import { resolvePersonInSource } from '../session/person-name.ts'
import { readPlanFile } from '../session/plan-file.ts'
import { fetchRunAccount } from '../session/run-account.ts'
import { type CommonOptions, requireConnection, type Session, withSession } from '../session/session.ts'

/** The options of `rollcall sync`. */
export type SyncOptions = CommonOptions & {
  readonly full?: boolean
  /** Whether people whose record on the platform differs from HR's export count as a failure. */
  readonly strict?: boolean
  readonly verify?: boolean
  readonly person?: string
  readonly showValues?: boolean
  /** The file with the plan that the run must produce. */
  readonly plan?: string
  readonly wait: number
  readonly by: string
}

/** Requests a run and follows it until it ends or is held. */
export async function sync({ plan: file, ...options }: SyncOptions): Promise<number> {
  const plan = file === undefined ? undefined : await readExpectedPlan(file, options)
  return await withSession(options, { hasWorkers: true }, async (session) => {
    const { full = false, verify = false, person, by } = options
    if (person !== undefined && plan) throw new Failure('usage', '--plan is for all people: remove --person')
    if (person !== undefined) return await syncPerson(session, { ...options, person })
    const connection = requireConnection(plan ?? options, session.config)
    const body = { full, verify, by, ...(plan && { plan: plan.kept }) }
    const endedOrHeldBefore = await endedOrHeldRunIds(session, connection)
    const run = await session.control.startRun({ params: { connection }, body })
    const { paused } = await session.control.getPause({ params: { connection } })
    if (paused) session.output.printMessage(pausedNote(connection, paused))
    const exit = await followAndReport(session, run, options.wait, { endedOrHeldBefore })
    return exit === 0 && options.strict ? await strictExitCode(session, connection) : exit
  })
}

/** With --strict: 70 if the record of somebody of the connection, or of a linked one, differs from HR's export. */
async function strictExitCode({ control, config, output }: Session, connection: string): Promise<number> {
  // The daemon may not have learned of a linked connection yet.
  const { connections: known } = await control.about({})
  const names = known.filter((name) => name === connection || config.connections.get(name)?.linkedTo === connection)
  const statuses = await Promise.all(names.map((name) => control.status({ query: { connection: name } })))
  const lines = statuses.flatMap(({ connections }) => connections).flatMap(strictFaults)
  for (const line of lines) output.printMessage(`! ${line}`)
  return lines.length === 0 ? 0 : failures.finished_with_problems.exit
}

/** What --strict counts as a failure, in one line each. */
export function strictFaults(connection: ConnectionStatus): string[] {
  const { name, blocked, inbox } = connection
  return [
    ...(blocked === null ? [] : [`${name} is blocked: ${blocked.reason}`]),
    ...peopleNotInStep(connection),
    ...(inbox === null || inbox.rejected === 0
      ? []
      : [`${pluralize(inbox.rejected, 'event')} of ${name} could not be read: rollcall problems`]),
  ]
}

/** A person may start a run of a paused connection, and learns that nothing else runs there. */
function pausedNote(connection: string, { since, until }: Pause): string {
  const end = until === null ? 'until "rollcall resume"' : `until ${formatInstant(until)}`
  return `! ${connection} is paused since ${formatInstant(since)}, ${end}: this run starts, and the schedule stays paused`
}

type PersonOptions = SyncOptions & { readonly person: string }
type PersonRun = Run & { readonly person: PersonAccount | null }

/** Reads and delivers one person, and shows each step from their row to the answer of the platform. */
async function syncPerson(session: Session, { person, wait, by, ...options }: PersonOptions): Promise<number> {
  const { control, output } = session
  const { connection, identityId } = await resolvePersonInSource(session, person, options)
  const started = await control.startRun({ params: { connection }, body: { person: identityId, by } })
  const run = await waitForEnd(session, started, wait)
  const account = await fetchRunAccount(control, run, { values: output.mayShowValues(options) })
  output.printResult({ ...run, person: account?.person ?? null }, renderPersonRun)
  return exitCodeOf(run)
}

function renderPersonRun({ person, ...run }: PersonRun, paint: Paint): string {
  return [...(person ? [renderPersonAccount(person, paint)] : []), renderOutcome(run, paint)].join('\n\n')
}

/** Reads the plan in a file, and its connection. Throws `conflict` if the options name another connection. */
async function readExpectedPlan(file: string, options: CommonOptions): Promise<{ connection: string; kept: KeptPlan }> {
  const { connection, kept } = await readPlanFile(file)
  if (options.connection !== undefined && options.connection !== connection)
    throw new Failure(
      'conflict',
      `${file} holds a plan of the connection "${connection}", not of "${options.connection}"`,
    )
  return { connection, kept }
}
