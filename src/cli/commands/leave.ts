import { statementNote } from '../../contract/control/person-texts.ts'
import type { Run } from '../../contract/control/shapes.ts'
import type { StatedDeparture, StatementResult } from '../../contract/control/stated-departures.ts'
import { Failure } from '../../errors.ts'
import { renderOutcome } from '../render/run.ts'
import { alignColumns, escapeText, type Paint, roomIn } from '../render/text.ts'
import { exitCodeOf, waitForEnd } from '../session/follow-run.ts'
import { requirePerson } from '../session/person-name.ts'
import { type CommonOptions, requireConnection, withSession } from '../session/session.ts'

/** The options of `rollcall leave`. */
export type LeaveOptions = CommonOptions & {
  readonly by: string
  readonly wait: number
  readonly on?: string
  readonly reason?: string
  readonly emergency?: boolean
  readonly withdraw?: boolean
  readonly showValues?: boolean
}

/** States a departure before HR does, or withdraws it; without a key, lists the stated departures. */
export async function leave(name: string | undefined, options: LeaveOptions): Promise<number> {
  const { by, on, reason, emergency, withdraw = false } = options
  const hasOthers = on !== undefined || emergency !== undefined
  if (name === undefined ? hasOthers || withdraw || reason !== undefined : reason === undefined)
    throw new Failure('usage', 'give a key with --reason, or nothing to list what is stated')
  if (withdraw && hasOthers) throw new Failure('usage', '--withdraw takes neither --on nor --emergency')

  return await withSession(options, { hasWorkers: name !== undefined }, async (session) => {
    const { config, control, output } = session
    if (name === undefined || reason === undefined) {
      const { data } = await control.listStatedDepartures({
        params: { connection: requireConnection(options, config) },
      })
      output.printResult({ people: data }, renderStatedDepartures)
      return 0
    }
    const { connection, identityId } = await requirePerson(session, name, options)
    const params = { connection, identityId }
    const result = withdraw
      ? await control.withdrawDeparture({ params, body: { reason, by } })
      : await control.stateDeparture({ params, body: { on, reason, emergency, by } })
    const requested = result.runId === null ? null : await control.getRun({ params: { runId: result.runId } })
    const run = requested && (await waitForEnd(session, requested, options.wait))
    output.printResult({ ...result, run }, renderStatedDeparture)
    return run === null ? 0 : exitCodeOf(run)
  })
}

/** Confirms that a departure is stated, waits for a second person, or is withdrawn. */
export function renderStatedDeparture(
  { identityId, leavingDate, applies, waits, run }: StatementResult & { readonly run: Run | null },
  paint: Paint,
): string {
  const person = escapeText(identityId)
  const outcomeText =
    leavingDate === null
      ? `what HR says of ${person} applies again`
      : applies && waits
        ? `${person} still leaves on ${leavingDate}, until a second person withdraws it too`
        : applies
          ? `${person} leaves on ${leavingDate}; a leaving date that HR states replaces that day when HR's date is reached`
          : `${person} leaves on ${leavingDate} once a second person states that day too`
  return [`${paint('green', '✔')} ${outcomeText}`, ...(run === null ? [] : [renderOutcome(run, paint)])].join('\n')
}

/** The stated departures, one line each. */
export function renderStatedDepartures(
  { people }: { readonly people: readonly StatedDeparture[] },
  paint: Paint,
): string {
  if (people.length === 0) return 'no departure is stated'
  const rows = people.map((stated) => [escapeText(stated.identityId), escapeText(statementNote(stated))])
  return alignColumns(rows, (cell) => cell, roomIn(paint)).join('\n')
}
