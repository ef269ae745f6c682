import type { PlanDocument, Run } from '../../contract/control/shapes.ts'
import type { SyncResult } from '../../platform/identity-sync/sync-result.ts'
import { renderChanges, renderGuards, renderRejects } from '../render/plan.ts'
import { renderOutcome } from '../render/run.ts'
import { countsText } from '../render/tallies.ts'
import { alignColumns, day, duration, number, type Paint, pluralize } from '../render/text.ts'
import type { Arrival, PersonOutcome } from './arrival.ts'
import type { NightEvent } from './company.ts'
import type { SecondAct } from './second-act.ts'

/** What one night brought: the plan, the run, the identity sync after it. */
export type DemoNight = {
  readonly export: string
  readonly plan: PlanDocument
  readonly run: Run
  readonly identitySync: SyncResult | null
}

/** The result of a demo, as printed with --json. */
export type DemoSummary = {
  readonly platform: string
  readonly people: number
  readonly nights: readonly DemoNight[]
  /** The second run of the same export. */
  readonly again: Run
  /** An export that was cut. */
  readonly cut: SecondAct
  /** The last export compared with the platform, person by person. */
  readonly arrival: Arrival
  readonly durationMs: number
}

/** What each event means, and the reason for what the platform shows. */
const meanings: Readonly<Record<NightEvent, string>> = {
  joiner: 'is new in the export',
  mover: 'has another title, manager or name',
  leaver: 'has a leaving date that has passed',
  absentee: 'is missing from the export: the export is complete, so the date is that of the export',
  futureLeaver: 'has a leaving date ahead: it waits until that day',
  returner: 'had left and was hired again',
  correction: 'had left; HR corrects the date: it is cleared first, since the platform writes it once',
  brokenRow: 'has a row with an impossible hire date: that field stays as it was, the rest of the row applies',
}

/** One night: its plan if it is worth reading, its outcome, and the effect of the identity sync. */
export function renderNight(night: DemoNight, index: number, paint: Paint): string {
  const { plan, run, identitySync } = night
  const isFirstPlan = plan.counts.join === plan.changes.length
  return [
    paint('bold', `Night ${index}: ${night.export}`),
    isFirstPlan
      ? `  ${countsText(plan.counts)} in ${pluralize(plan.rows, 'row')}`
      : indentLines(renderChanges(plan.changes, paint)),
    ...(plan.rejects.length > 0
      ? [indentLines(renderRejects(plan.rejects, plan.source?.name ?? 'source', paint))]
      : []),
    indentLines(renderOutcome(run, paint)),
    ...(identitySync ? [`  Identity sync: ${statuses(identitySync.counts)}`] : []),
  ].join('\n')
}

/** The second run of the same export. */
export function renderAgain(again: Run, paint: Paint): string {
  return [
    paint('bold', 'The same export once more'),
    indentLines(renderOutcome(again, paint)),
    `  ${pluralize(requestsOf(again), 'request')} sent`,
    '',
  ].join('\n')
}

/** Maximum number of leavers to show of the plan of the cut export; the plan itself names all of them. */
const maxShownLeavers = 4

/** The export that was cut: held, shown with names, rejected, repaired. */
export function renderSecondAct(cut: SecondAct, paint: Paint): string {
  const { export: name, share, held, repaired } = cut
  return [
    paint('bold', `Second act: ${name}, of which ${number(share * 100)} % have arrived`),
    ...(held.state === 'held' ? renderHeld(cut, paint) : [indentLines(renderOutcome(held, paint))]),
    '',
    `  HR writes the export again, whole.`,
    indentLines(renderOutcome(repaired, paint)),
    `  ${sentText(cut)}`,
    '',
  ].join('\n')
}

function renderHeld({ held, rejected }: SecondAct, paint: Paint): string[] {
  const leavers = held.changes.filter(({ kind }) => kind === 'leave')
  const shownLeavers = renderChanges(leavers.slice(0, maxShownLeavers), paint, held.counts ?? undefined)
  const failed = (held.guards ?? []).filter(({ ok }) => !ok)
  const requests = requestsOf(held)
  const title = requests === 0 ? 'Held, and nothing was sent' : `Held, but ${pluralize(requests, 'request')} sent`
  return [
    indentLines(renderGuards(failed, paint, title)),
    '',
    indentLines(shownLeavers),
    '',
    `  ${paint('cyan', '$')} rollcall reject @held --reason "${rejected.decidedReason ?? ''}"`,
    indentLines(renderOutcome(rejected, paint)),
  ]
}

/** The requests for the two exports of the second act. Without a request, no one was separated. */
function sentText({ rejected, repaired }: SecondAct): string {
  const [forCut, forWhole] = [requestsOf(rejected), requestsOf(repaired)]
  const text = `${pluralize(forCut, 'request')} sent for the export that was cut short, ${number(forWhole)} for the whole one`
  return forCut + forWhole === 0 ? `${text}: no one was separated` : text
}

function requestsOf({ sent }: Pick<Run, 'sent'>): number {
  return Object.values(sent).reduce((sum, { requests }) => sum + requests, 0)
}

/** What differs from what the demo describes; null if nothing does. */
export function troubleOf({
  nights,
  again,
  cut,
  arrival,
}: Omit<DemoSummary, 'platform' | 'people' | 'durationMs'>): string | null {
  const unfinished = nights.find(({ run }) => run.state !== 'finished')
  if (unfinished) return `the run of ${unfinished.export} ended as ${unfinished.run.state}`
  const { held, rejected, repaired } = cut
  if (held.state !== 'held') return 'the export that was cut short was not held'
  if (rejected.state !== 'rejected')
    return `the run of the export that was cut short is ${rejected.state}, and not rejected`
  if (requestsOf(rejected) > 0)
    return `${pluralize(requestsOf(rejected), 'request')} sent for the export that was cut short`
  const repeated = [
    { run: again, name: 'the same export once more' },
    { run: repaired, name: 'the whole export after the one that was cut short' },
  ]
  for (const { run, name } of repeated) {
    if (requestsOf(run) > 0) return `${pluralize(requestsOf(run), 'request')} sent for ${name}`
    if (run.state !== 'unchanged') return `the run of ${name} ended as ${run.state}`
  }
  const { missing, unexpected } = arrival
  if (missing.length > 0) return `the platform differs from HR for ${missing.join(', ')}`
  return unexpected.length === 0 ? null : `the platform has people whom no export names: ${unexpected.join(', ')}`
}

/** The summary at the end of the demo. */
export function renderDemo(summary: DemoSummary, paint: Paint): string {
  const { arrival, nights, durationMs } = summary
  const trouble = troubleOf(summary)
  const rows = arrival.story.map((person) => [person.identityId, meanings[person.event], outcome(person)])
  const badCells = nights.reduce((sum, { run }) => sum + (run.counts?.incomplete ?? 0), 0)
  const verdict =
    trouble === null
      ? `${paint('green', '✔')} all ${number(arrival.arrived)} people are on the platform as HR says; ${pluralize(badCells, 'cell')} could not be read, with the reason`
      : `${paint('red', '✖')} ${trouble}`
  return [
    paint('bold', 'What happened to whom, and why'),
    ...alignColumns(rows, (cell, _row, column) => (column === 1 ? paint('dim', cell) : cell)).map(
      (line) => `  ${line}`,
    ),
    '',
    `${verdict} (${duration(durationMs)})`,
  ].join('\n')
}

function outcome({ separatedAt, employmentStatus }: PersonOutcome): string {
  const status = employmentStatus ?? 'not in personnel'
  return separatedAt === null ? status : `${status}, left ${day(separatedAt)}`
}

function statuses(counts: Readonly<Record<string, number>>): string {
  const present = Object.entries(counts).filter(([, count]) => count > 0)
  return present.map(([status, count]) => `${number(count)} ${status}`).join(', ')
}

function indentLines(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ')
}
