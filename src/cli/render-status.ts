import type { ConnectionStatus, Problem, Run, Status } from '../contract/control-shapes.ts'
import { countsText } from './render-run.ts'
import { aligned, counted, moment, number, type Paint, shown } from './text.ts'

/** What runs here and how every connection stands. */
export function renderStatus(status: Status, paint: Paint): string {
  const daemon = status.daemon
    ? `daemon ${status.daemon.pid} since ${moment(status.daemon.startedAt)}`
    : paint('yellow', 'no daemon runs')
  return [
    `${paint('bold', `rollcall ${status.version}`)} · ${daemon}`,
    ...aligned(
      [
        ['database', status.database],
        ['queue', status.queue],
        ['platform', status.platform],
      ],
      (cell, _row, column) => (column === 0 ? paint('dim', cell) : cell),
    ).map((line) => `  ${line}`),
    ...status.connections.flatMap((connection) => ['', ...connectionLines(connection, paint)]),
  ].join('\n')
}

/** The changes that the platform refused, one line each. */
export function renderProblems(problems: readonly Problem[], paint: Paint): string {
  if (problems.length === 0) return 'No problems.'
  const rows = problems.map((problem) => [
    problem.connection,
    shown(problem.identityId),
    problem.kind,
    problem.status === null ? '-' : String(problem.status),
    `${number(problem.times)}×`,
    moment(problem.firstAt),
    shown(problem.message),
  ])
  return aligned([['CONNECTION', 'KEY', 'CHANGE', 'ANSWER', 'TRIED', 'SINCE', 'MESSAGE'], ...rows], (cell, row) =>
    row === 0 ? paint('bold', cell) : cell,
  ).join('\n')
}

function connectionLines(connection: ConnectionStatus, paint: Paint): string[] {
  const { people, problems, inbox, blocked, active, last, nextAt } = connection
  return [
    `${paint('bold', connection.name)} → ${shown(connection.target)}`,
    `  ${counted(people.wanted, 'person', 'people')}, ${number(people.separated)} of them left, ${number(people.due)} not delivered yet`,
    ...(problems > 0 ? [`  ${paint('yellow', counted(problems, 'problem'))}`] : []),
    ...(inbox && inbox.pending > 0 ? [`  ${counted(inbox.pending, 'event')} waiting`] : []),
    ...(inbox && inbox.rejected > 0
      ? [`  ${paint('yellow', `${counted(inbox.rejected, 'event')} not understood`)}`]
      : []),
    ...(blocked ? [`  ${paint('red', 'blocked')} since ${moment(blocked.since)}: ${shown(blocked.reason)}`] : []),
    ...(active ? [`  now   ${runText(active)}`] : []),
    ...(last ? [`  last  ${runText(last)}`] : []),
    ...(nextAt ? [`  next  ${moment(nextAt)}`] : []),
  ]
}

function runText(run: Run): string {
  const counts = run.counts ? `, ${countsText(run.counts)}` : ''
  return `${run.state} (${moment(run.finishedAt ?? run.startedAt ?? run.createdAt)}, run ${run.id}${counts})`
}
