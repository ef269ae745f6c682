import type { Person, PersonChange, RecordView } from '../../contract/control/shapes.ts'
import { renderLeavers } from './leavers.ts'
import { notKept, renderField } from './plan.ts'
import { aligned, day, moment, type Paint, roomIn, shortId, shown } from './text.ts'

/** A person: what HR says beside what the platform acknowledged, and every change with what came of it. */
export function renderPerson(person: Person, paint: Paint): string {
  const parts = [
    `${paint('bold', shown(person.identityId))} · ${person.connection}${person.asOf === null ? '' : ` · as of ${moment(person.asOf)}`}`,
    ...notes(person).map((note) => `  ${paint('yellow', note)}`),
    '',
    ...fieldTable(person, paint),
    '',
    ...(person.leavers.length === 0 ? [] : [paint('bold', 'Departures'), renderLeavers(person.leavers, paint), '']),
    paint('bold', 'Changes'),
    ...(person.changes.length === 0 ? ['  none yet'] : person.changes.flatMap((change) => historyLines(change, paint))),
  ]
  return parts.join('\n')
}

function notes(person: Person): string[] {
  const {
    inferred,
    deferredTo,
    absences,
    retracted,
    confirmed,
    keys,
    heldBack,
    forgotten,
    waiting,
    overtaken = [],
    unserved = [],
  } = person
  return [
    ...(retracted ? [`taken back on ${day(retracted.at)}: ${shown(retracted.reason)}`] : []),
    ...(confirmed === null && !retracted ? ['the platform has not acknowledged this person yet'] : []),
    ...(heldBack ? [heldBackText(heldBack)] : []),
    ...(keys.length > 0 ? [`HR names this person by ${keys.map(shown).join(', ')} by now`] : []),
    ...(forgotten ? ['forgotten: what was kept of this person was removed on request'] : []),
    ...(inferred ? ['the leaving date was inferred; no row states it'] : []),
    ...(deferredTo ? [`leaves on ${deferredTo}; sent when that day has come`] : []),
    ...waiting.map(
      ({ effectiveOn, leaves }) => `a row of HR ${leaves ? 'about leaving ' : ''}waits for ${effectiveOn}`,
    ),
    ...unserved.map(({ column, reason, source, line }) =>
      shown([`${source}:${line}`, column, reason].filter((part) => part !== null).join(': ')),
    ),
    ...overtaken.map((event) => `event ${event.id}, received ${moment(event.receivedAt)}: ${shown(event.reason)}`),
    ...(absences > 0 ? [`missing from the last ${absences === 1 ? 'export' : `${absences} exports`}`] : []),
  ]
}

function heldBackText({ until, leaving, by, reason }: NonNullable<Person['heldBack']>): string {
  const what = leaving === null ? 'a leaving would be' : `left on ${day(leaving.separatedAt)} as HR says, which is`
  return `${what} held back until ${until} by ${shown(by)}: ${shown(reason)}`
}

function fieldTable(person: Person, paint: Paint): string[] {
  const names = [...new Set([...Object.keys(person.wanted ?? {}), ...Object.keys(person.confirmed ?? {})])]
  const rows = names
    .filter((name) => name !== 'identityId')
    .map((name) => [shown(name), cell(person.wanted, name), cell(person.confirmed, name)])
  return aligned(
    [['FIELD', 'HR SAYS', 'PLATFORM HAS'], ...rows],
    (text, row, column) => {
      if (row === 0) return paint('bold', text)
      const due = person.due.includes(rows[row - 1]?.[0] ?? '')
      return due && column === 1 ? paint('yellow', text) : text
    },
    roomIn(paint, 2),
  ).map((line) => `  ${line}`)
}

function cell(record: RecordView | null, name: string): string {
  const value = record?.[name]
  if (value === undefined || value === null) return '-'
  if (typeof value === 'object') return 'gone' in value ? notKept : 'hidden'
  const isDate = name === 'startedAt' || name === 'separatedAt'
  return isDate && typeof value === 'string' ? shown(day(value)) : shown(String(value))
}

function historyLines(change: PersonChange, paint: Paint): string[] {
  const fields = Object.entries(change.fields ?? {}).map(([name, field]) => renderField(name, field))
  const details = [...(change.reason === undefined ? [] : [shown(change.reason)]), ...fields].join(', ')
  const from = change.source === null ? '' : ` from ${shown(change.source)}`
  return [
    `  ${moment(change.plannedAt)}  ${paint('bold', change.kind)}  ${details}`.trimEnd(),
    `    run ${shortId(change.runId)}${from}`,
    `    ${answerText(change)}`,
  ]
}

/** How far a change has come, and what the platform answered. */
export function answerText({ state, sentAt, answeredAt, answer }: PersonChange): string {
  if (answer === null) return sentAt === null ? state : `${state}, sent ${moment(sentAt)}`
  const message = answer.message === undefined ? '' : `: ${shown(answer.message)}`
  const when = answeredAt === null ? '' : ` on ${moment(answeredAt)}`
  return `${state}, the platform answered ${shown(String(answer.status))}${when}${message}`
}
