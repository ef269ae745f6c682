import { connectionStates } from '../../contract/control/connection-states.ts'
import type { ForeignPerson } from '../../contract/control/foreign.ts'
import { processRoles } from '../../contract/control/process-roles.ts'
import type { ProcessRole } from '../../contract/control/processes.ts'
import type { BlockedPerson, ConnectionStatus, Problem, Run, Status } from '../../contract/control/shapes.ts'
import { alertLines } from './alerts.ts'
import { countsText, peopleNotInStep } from './tallies.ts'
import {
  age,
  alignColumns,
  escapeText,
  formatInstant,
  number,
  type Paint,
  pluralize,
  shortId,
  tableLines,
} from './text.ts'

/** What runs here, and the state of every connection. */
export function renderStatus(status: Status, paint: Paint): string {
  const daemon = status.daemon
    ? `daemon ${status.daemon.pid} since ${formatInstant(status.daemon.startedAt)}`
    : paint('yellow', 'no daemon is running')
  return [
    `${paint('bold', `rollcall ${status.version}`)} · ${daemon}`,
    ...alignColumns(
      [
        ['configuration', escapeText(status.configuration)],
        ['database', escapeText(status.database)],
        ['queue', escapeText(status.queue)],
        ['platform', escapeText(status.platform)],
      ],
      (cell, _row, column) => (column === 0 ? paint('dim', cell) : cell),
    ).map((line) => `  ${line}`),
    ...(status.platformDelay === undefined ? [] : [`  ${paint('yellow', '!')} ${escapeText(status.platformDelay)}`]),
    ...processLines(status, paint).map((line) => `  ${line}`),
    ...alertLines(status.alerts.slice(0, alertsShown), paint).map((line) => `  ${line}`),
    ...(status.alerts.length > alertsShown
      ? [`  … and ${pluralize(status.alerts.length - alertsShown, 'more alert')}; rollcall alerts lists them`]
      : []),
    ...(status.unsigned === undefined
      ? []
      : [`  ${paint('red', '✖')} audit entries cannot be signed: ${escapeText(status.unsigned)}`]),
    ...status.connections.flatMap((connection) => [
      '',
      ...connectionLines(connection, paint),
      // Without a daemon no schedule runs.
      ...(status.daemon ? nextLines(connection) : []),
    ]),
    ...moreLines(status),
  ].join('\n')
}

const alertsShown = 50

/** How many connections are not shown, and in which states all are. Nothing if all are shown. */
function moreLines({ connections, states, next }: Status): string[] {
  if (next === null) return connections.length === 0 ? ['', 'No connection is to be shown.'] : []
  const counts = connectionStates.flatMap((state) => {
    const count = states[state] ?? 0
    return count === 0 ? [] : [`${number(count)} ${state}`]
  })
  return [
    '',
    `${number(connections.length)} connections are shown. All by state: ${counts.join(', ')}.`,
    '--state, --search and --connection choose, --limit shows more.',
  ]
}

/** A single process with all roles is not listed: the first line of the status shows it. */
function processLines({ processes, reload }: Status, paint: Paint): string[] {
  const missing = processRoles.filter((role) => !processes.some(({ roles }) => roles.includes(role)))
  const differing = [...new Set(processes.flatMap(({ differs }) => differs))]
  return [
    ...(processes.length === 1 && missing.length === 0
      ? []
      : processes.map(
          ({ host, pid, roles, since, seenAt }) =>
            `process   ${escapeText(host)} ${pid}: ${roles.join(', ')}; since ${formatInstant(since)}, seen ${formatInstant(seenAt)}`,
        )),
    ...(processes.length === 0
      ? []
      : missing.map(
          (role) => `${paint('yellow', '!')} no process has the role ${role}: ${effectsOfMissingRole[role]}`,
        )),
    ...(differing.length === 0
      ? []
      : [`${paint('red', '✖')} processes have different settings: ${differing.map(escapeText).join(', ')}`]),
    ...(reload?.refused
      ? [`${paint('red', '✖')} configuration refused ${formatInstant(reload.at)}: ${escapeText(reload.refused)}`]
      : []),
  ]
}

const effectsOfMissingRole: Readonly<Record<ProcessRole, string>> = {
  api: 'webhooks are not received',
  scheduler: 'no schedule runs, and no alert is sent',
  worker: 'nothing is read or delivered',
}

/** Maximum number of problems shown; the document holds all of them. */
const maxProblemsShown = 200

/** The problems, one line each, in the order given: changes that the platform refused, or that cannot be delivered. */
export function renderProblems(problems: readonly Problem[], paint: Paint): string {
  if (problems.length === 0) return 'No problems.'
  const withNames = problems.some(({ name }) => name !== undefined)
  const rows = problems.map((problem) => [
    problem.connection,
    escapeText(problem.identityId),
    ...nameCell(problem, withNames),
    problem.kind,
    problem.state,
    escapeText([problem.code, problem.status].filter((part) => part !== null).join(' ')) || '-',
    `${number(problem.times)}×`,
    age(problem.ageSeconds),
    problem.nextAt === null ? 'next run' : formatInstant(problem.nextAt),
    escapeText(problem.message),
  ])
  const head = [
    'CONNECTION',
    'KEY',
    ...(withNames ? ['NAME'] : []),
    'CHANGE',
    'STATE',
    'RESPONSE',
    'ATTEMPTS',
    'FOR',
    'NEXT',
    'MESSAGE',
  ]
  return firstRows(head, rows, paint).join('\n')
}

/** The first rows of a list as a table, and how many more there are. */
export function firstRows(head: readonly string[], rows: readonly (readonly string[])[], paint: Paint): string[] {
  const more = rows.length - maxProblemsShown
  return [
    ...tableLines(head, rows.slice(0, maxProblemsShown), paint),
    ...(more > 0 ? [`… and ${number(more)} more; --json lists them all`] : []),
  ]
}

function nameCell({ name }: Problem | BlockedPerson, withNames: boolean): string[] {
  return withNames ? [name ? escapeText(name) : '-'] : []
}

/** The people whom only the platform knows, one line each, in the order given. */
export function renderForeign(foreign: readonly ForeignPerson[], paint: Paint): string {
  const rows = foreign.map((one) => [
    one.connection,
    escapeText(one.identityId),
    age(one.ageSeconds),
    formatInstant(one.lastAt),
  ])
  const head = ['CONNECTION', 'KEY', 'FOR', 'LISTED']
  return [
    ...firstRows(head, rows, paint),
    'No accepted export contains them. Ask HR about each; rollcall separate KEY… --reason "…" separates those who have left.',
  ].join('\n')
}

/** The people whose rows or cells are unreadable or contradict each other, a line for each fault, in the order given. */
export function renderBlockedPeople(blockedPeople: readonly BlockedPerson[], paint: Paint): string {
  const withNames = blockedPeople.some(({ name }) => name !== undefined)
  const rows = blockedPeople.map((one) => [
    one.connection,
    one.identityId === null ? '-' : escapeText(one.identityId),
    ...nameCell(one, withNames),
    one.leaver ? 'may have left' : '-',
    one.contradicts ? 'nothing' : one.cellOnly ? 'field' : one.rows > 1 ? `${number(one.rows)} rows` : 'row',
    age(one.ageSeconds),
    one.line === null ? '-' : escapeText(`${one.source ?? 'source'}:${one.line}`),
    escapeText([one.column, one.reason].filter((part) => part !== null).join(': ')),
  ])
  const head = ['CONNECTION', 'KEY', ...(withNames ? ['NAME'] : []), 'LEAVER', 'IGNORED', 'FOR', 'LINE', 'REASON']
  return firstRows(head, rows, paint).join('\n')
}

function connectionLines(connection: ConnectionStatus, paint: Paint): string[] {
  const { people, inbox, pushed, blocked, paused, active, last } = connection
  return [
    `${paint('bold', escapeText(connection.name))} → ${escapeText(connection.target)}`,
    `  ${pluralize(people.desired, 'person', 'people')}, ${number(people.separated)} of them have left, ${number(people.due)} not delivered yet`,
    ...(pushed ? [`  ${pushedText(pushed)}`] : []),
    ...peopleNotInStep(connection).map((line) => `  ${paint('yellow', line)}`),
    ...(inbox && inbox.pending > 0
      ? [
          `  ${pluralize(inbox.pending, 'event')} waiting${inbox.held > 0 ? `, ${number(inbox.held)} of them for a decision` : ''}`,
        ]
      : []),
    ...(inbox && inbox.rejected > 0 ? [`  ${paint('yellow', `${pluralize(inbox.rejected, 'event')} rejected`)}`] : []),
    ...(blocked ? blockedLines(blocked, paint) : []),
    ...(paused ? pausedLines(paused, paint) : []),
    ...(active ? [`  now   ${runText(active)}`] : []),
    ...(last ? [`  last  ${runText(last)}`] : []),
  ]
}

function pushedText({ users, active, withoutKey, lastAt }: NonNullable<ConnectionStatus['pushed']>): string {
  if (lastAt === null) return 'nothing was pushed yet'
  const keyless = withoutKey === 0 ? '' : ` (${number(withoutKey)} without a key)`
  return `${pluralize(users, 'user')} pushed, ${number(active)} of them active${keyless}; last request ${formatInstant(lastAt)}`
}

function blockedLines({ since, reason, probeAt }: NonNullable<ConnectionStatus['blocked']>, paint: Paint): string[] {
  const again = probeAt === null ? '' : `tried again ${formatInstant(probeAt)}; `
  return [
    `  ${paint('red', 'blocked')} since ${formatInstant(since)}: ${escapeText(reason)}`,
    `          ${again}rollcall unblock tries now`,
  ]
}

function pausedLines({ since, until, reason, by }: NonNullable<ConnectionStatus['paused']>, paint: Paint): string[] {
  const end = until === null ? '' : ` until ${formatInstant(until)}`
  return [
    `  ${paint('yellow', 'paused')} since ${formatInstant(since)}${end} by ${escapeText(by)}: ${escapeText(reason)}`,
    '          no schedule, watched folder or event starts a run; rollcall resume ends it',
  ]
}

function nextLines({ nextAt, nextVerifyAt, nextSampleAt }: ConnectionStatus): string[] {
  const parts = [
    ...(nextAt ? [formatInstant(nextAt)] : []),
    ...(nextVerifyAt ? [`verification ${formatInstant(nextVerifyAt)}`] : []),
    ...(nextSampleAt ? [`sample ${formatInstant(nextSampleAt)}`] : []),
  ]
  return parts.length === 0 ? [] : [`  next  ${parts.join(', ')}`]
}

function runText(run: Run): string {
  const counts = run.counts ? `, ${countsText(run.counts)}` : ''
  return `${run.state} (${formatInstant(run.finishedAt ?? run.startedAt ?? run.createdAt)}, run ${shortId(run.id)}${counts})`
}
