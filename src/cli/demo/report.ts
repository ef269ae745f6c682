import type { PlanDocument, Run } from '../../contract/control/shapes.ts'
import type { SyncResult } from '../../platform/identity-sync/sync-result.ts'
import { renderChanges, renderGuards, renderRejects } from '../render/plan.ts'
import { renderOutcome } from '../render/run.ts'
import { countsText } from '../render/tallies.ts'
import { aligned, counted, day, duration, number, type Paint } from '../render/text.ts'
import type { Arrival, Told } from './arrival.ts'
import type { NightEvent } from './company.ts'
import type { SecondAct } from './second-act.ts'

/** What one night brought: the plan, the run, the identity sync after it. */
export type DemoNight = {
  readonly export: string
  readonly plan: PlanDocument
  readonly run: Run
  readonly identitySync: SyncResult | null
}

export type DemoSummary = {
  readonly platform: string
  readonly people: number
  readonly nights: readonly DemoNight[]
  /** The same export once more. */
  readonly again: Run
  /** An export that was cut short. */
  readonly cut: SecondAct
  /** The last export against what the platform then holds, person by person. */
  readonly arrival: Arrival
  readonly durationMs: number
}

/** What each event means, and why the platform shows what it shows. */
const meanings: Readonly<Record<NightEvent, string>> = {
  joiner: 'is new in the export',
  mover: 'has another title, manager or name',
  leaver: 'has a leaving date that has passed',
  absentee: 'is missing from the export: the export is complete, so the date is that of the export',
  futureLeaver: 'has a leaving date ahead: it waits until that day',
  returner: 'had left and was hired again',
  correction: 'had left; HR corrects the date: it is cleared first, since the platform writes it once',
  brokenRow: 'has a row with an impossible hire date: that field stays as it was, the rest of the row counts',
}

/** One night: its plan where it is worth reading, its outcome, and what the identity sync made of it. */
export function renderNight(night: DemoNight, index: number, paint: Paint): string {
  const { plan, run, identitySync } = night
  const first = plan.counts.join === plan.changes.length
  return [
    paint('bold', `Night ${index}: ${night.export}`),
    first
      ? `  ${countsText(plan.counts)} in ${counted(plan.rows, 'row')}`
      : indented(renderChanges(plan.changes, paint)),
    ...(plan.rejects.length > 0 ? [indented(renderRejects(plan.rejects, plan.source?.name ?? 'source', paint))] : []),
    indented(renderOutcome(run, paint)),
    ...(identitySync ? [`  Identity sync: ${statuses(identitySync.counts)}`] : []),
  ].join('\n')
}

export function renderAgain(again: Run, paint: Paint): string {
  return [
    paint('bold', 'The same export once more'),
    indented(renderOutcome(again, paint)),
    `  ${counted(requestsOf(again), 'request')} sent`,
    '',
  ].join('\n')
}

/** So many of the people whom a cut export would separate are named here; a held plan names all of them. */
const namedLeavers = 4

/** The export that was cut short: held, shown with names, rejected, repaired. */
export function renderSecondAct({ export: name, share, held, rejected, repaired }: SecondAct, paint: Paint): string {
  const leavers = held.changes.filter(({ kind }) => kind === 'leave')
  const shownLeavers = renderChanges(leavers.slice(0, namedLeavers), paint, held.counts ?? undefined)
  return [
    paint('bold', `Second act: ${name}, of which ${number(share * 100)} % have arrived`),
    indented(
      renderGuards(
        (held.guards ?? []).filter(({ ok }) => !ok),
        paint,
        'Held, and nothing was sent',
      ),
    ),
    '',
    indented(shownLeavers),
    '',
    `  ${paint('cyan', '$')} rollcall reject @held --reason "${rejected.decidedReason ?? ''}"`,
    indented(renderOutcome(rejected, paint)),
    '',
    `  HR writes the export again, whole.`,
    indented(renderOutcome(repaired, paint)),
    `  ${counted(requestsOf(repaired), 'request')} sent, and nobody was separated by mistake`,
    '',
  ].join('\n')
}

function requestsOf({ sent }: Run): number {
  return sent.upsert.requests + sent.update.requests + sent.delete.requests
}

/** What did not go as the demo says; null if all did. */
export function troubleOf({ arrival, cut }: Pick<DemoSummary, 'arrival' | 'cut'>): string | null {
  if (cut.held.state !== 'held') return 'the export that was cut short was not held'
  return arrival.missing.length === 0 ? null : `the platform differs from HR for ${arrival.missing.join(', ')}`
}

/** What the demo showed, told at its end. */
export function renderDemo(summary: DemoSummary, paint: Paint): string {
  const { arrival, nights, durationMs } = summary
  const trouble = troubleOf(summary)
  const rows = arrival.story.map((told) => [told.identityId, meanings[told.event], outcome(told)])
  const badCells = nights.reduce((sum, { run }) => sum + (run.counts?.incomplete ?? 0), 0)
  const verdict =
    trouble === null
      ? `${paint('green', '✔')} all ${number(arrival.arrived)} people are on the platform as HR says; ${counted(badCells, 'cell')} could not be read, with the reason`
      : `${paint('red', '✖')} ${trouble}`
  return [
    paint('bold', 'What happened to whom, and why'),
    ...aligned(rows, (cell, _row, column) => (column === 1 ? paint('dim', cell) : cell)).map((line) => `  ${line}`),
    '',
    `${verdict} (${duration(durationMs)})`,
  ].join('\n')
}

function outcome({ separatedAt, employmentStatus }: Told): string {
  const status = employmentStatus ?? 'not in personnel'
  return separatedAt === null ? status : `${status}, left ${day(separatedAt)}`
}

function statuses(counts: Readonly<Record<string, number>>): string {
  const present = Object.entries(counts).filter(([, count]) => count > 0)
  return present.map(([status, count]) => `${number(count)} ${status}`).join(', ')
}

function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ')
}
