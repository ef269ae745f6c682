import type { HeldBack, HoldBack } from '../../contract/control/hold-backs.ts'
import type { Run } from '../../contract/control/shapes.ts'
import { Failure } from '../../errors.ts'
import { renderOutcome } from '../render/run.ts'
import { alignColumns, day, escapeText, type Paint, roomIn } from '../render/text.ts'
import { exitCodeOf, waitForEnd } from '../session/follow-run.ts'
import { requirePerson } from '../session/person-name.ts'
import { type CommonOptions, requireConnection, type Session, withSession } from '../session/session.ts'

/** The options of `rollcall hold-back`. */
export type HoldBackOptions = CommonOptions & {
  readonly by: string
  readonly wait: number
  readonly until?: string
  readonly reason?: string
  readonly end?: boolean
  readonly showValues?: boolean
}

/** Holds departures of a person back until a day, or ends that; without a key, lists the people who are held back. */
export async function holdBack(name: string | undefined, options: HoldBackOptions): Promise<number> {
  const { by, until, reason, end = false } = options
  const hasBoth = until !== undefined && reason !== undefined
  const hasEither = until !== undefined || reason !== undefined
  if (name === undefined ? hasEither || end : end === hasEither || (hasEither && !hasBoth))
    throw new Failure('usage', 'give a key with --until and --reason, or a key with --end, or nothing to list them')

  return await withSession(options, { hasWorkers: name !== undefined }, async (session) => {
    const { config, control, output } = session
    if (name === undefined) {
      const { data } = await control.listHoldBacks({ params: { connection: requireConnection(options, config) } })
      output.printResult({ people: data }, renderHoldBacks)
      return 0
    }
    const { connection, identityId } = await requirePerson(session, name, options)
    const params = { connection, identityId }
    const result = hasBoth
      ? await control.holdBack({ params, body: { until, reason, by } })
      : await control.endHoldBack({ params, body: { by } })
    const run = await waitForRun(session, result, options.wait)
    output.printResult({ ...result, run }, renderHeldBack)
    return run === null ? 0 : exitCodeOf(run)
  })
}

/** Waits for the run that brings the person back or separates them, if there is one. It reads the roster, and no export. */
async function waitForRun(session: Session, { runId }: HeldBack, waitSeconds: number): Promise<Run | null> {
  if (runId === null) return null
  return await waitForEnd(session, await session.control.getRun({ params: { runId } }), waitSeconds)
}

/** Confirms that departures of a person are held back, or no longer. */
export function renderHeldBack(
  { identityId, until, run }: HeldBack & { readonly run: Run | null },
  paint: Paint,
): string {
  const statement =
    until === null
      ? `HR data about ${escapeText(identityId)} applies again`
      : `departures of ${escapeText(identityId)} are held back until ${until}`
  return [`${paint('green', '✔')} ${statement}`, ...(run === null ? [] : [renderOutcome(run, paint)])].join('\n')
}

/** The people whose departure is held back, one line each. */
export function renderHoldBacks({ people }: { readonly people: readonly HoldBack[] }, paint: Paint): string {
  if (people.length === 0) return 'no departure is held back'
  const rows = people.map(({ identityId, until, reason, by, leaving }) => [
    escapeText(identityId),
    `until ${until}`,
    leaving === null ? 'HR states no departure' : `left on ${day(leaving.separatedAt)}`,
    `${escapeText(by)}: ${escapeText(reason)}`,
  ])
  return alignColumns(rows, (cell, _row, column) => (column > 2 ? paint('dim', cell) : cell), roomIn(paint)).join('\n')
}
