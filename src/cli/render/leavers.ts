import type { Leaver, LeaverReport } from '../../contract/control/leavers.ts'
import { age, escapeText, formatInstant, type Paint, tableLines } from './text.ts'

/** A summary of the report: the figures of each connection, and the departures that need attention. */
export function renderLeaverReport({ from, to, connections, leavers }: LeaverReport, paint: Paint): string {
  const rows = connections.map((each) => [
    each.connection,
    String(each.people),
    String(each.acknowledged),
    String(each.effective),
    String(each.notEffective),
    `${each.late}${each.lateOpen > 0 ? ` (${each.lateOpen} open)` : ''}`,
    String(each.takenBack),
    String(each.held),
    each.ourSeconds === null
      ? '-'
      : `${age(each.ourSeconds.p50)} / ${age(each.ourSeconds.p95)} / ${age(each.ourSeconds.max)}`,
  ])
  const header = [
    'CONNECTION',
    'LEAVERS',
    'ACKNOWLEDGED',
    'EFFECTIVE',
    'NOT EFFECTIVE',
    'LATE',
    'TAKEN BACK',
    'HELD',
    'TOOK P50 / P95 / MAX',
  ]
  const wanting = leavers.filter(({ late, state }) => late || state === 'not_effective')
  return [
    paint('bold', `Leavers whose last day lies from ${escapeText(from)} to ${escapeText(to)}`),
    ...tableLines(header, rows, paint),
    ...(wanting.length === 0 ? [] : ['', paint('bold', 'Late or not effective'), renderLeavers(wanting, paint)]),
  ].join('\n')
}

/** Each departure in two lines: the person and the progress, and why there is no further progress. */
export function renderLeavers(leavers: readonly Leaver[], paint: Paint): string {
  return leavers.flatMap((leaver) => clockLines(leaver, paint)).join('\n')
}

function clockLines(leaver: Leaver, paint: Paint): string[] {
  const { connection, identityId, effectiveOn, inferred, state, acknowledgedAt, visibleAt, firstSeenAt, late } = leaver
  const times = [
    `seen ${formatInstant(firstSeenAt)}`,
    ...(acknowledgedAt === null ? [] : [`acknowledged ${formatInstant(acknowledgedAt)}`]),
    ...(visibleAt === null ? [] : [`effective ${formatInstant(visibleAt)}`]),
  ]
  return [
    `  ${paint('bold', escapeText(identityId))}${leaver.name ? ` ${escapeText(leaver.name)}` : ''} · ${connection} · last day ${effectiveOn}${inferred ? ' (inferred)' : ''} · ${
      state === 'not_effective' ? paint('red', 'acknowledged but not effective') : state
    }${late ? ` · ${paint('red', 'late')}` : ''}`,
    `    ${times.join(', ')}`,
    ...(leaver.findingText === null || visibleAt !== null ? [] : [`    ${findingText(leaver)}`]),
  ]
}

function findingText({ findingText: text, findingDetail, foundStatus, helps }: Leaver): string {
  const status = foundStatus === null ? '' : ` (${escapeText(foundStatus)})`
  const detail = findingDetail === null ? '' : `: ${escapeText(findingDetail)}`
  return `${text}${status}${detail}. What helps: ${helps}`
}
