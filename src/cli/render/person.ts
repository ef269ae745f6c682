import { personNotes } from '../../contract/control/person-texts.ts'
import type { Person, PersonChange, RecordView } from '../../contract/control/shapes.ts'
import { renderLeavers } from './leavers.ts'
import { runTexts } from './left-out.ts'
import { renderField } from './plan.ts'
import { alignColumns, day, escapeText, formatInstant, type Paint, roomIn, shortId } from './text.ts'

/** A person: what HR says beside what the platform acknowledged, and every change with its result. */
export function renderPerson(person: Person, paint: Paint): string {
  const parts = [
    `${paint('bold', escapeText(person.identityId))} · ${person.connection}${person.asOf === null ? '' : ` · as of ${formatInstant(person.asOf)}`}`,
    ...personNotes(person, { day, moment: formatInstant, key: String, ...runTexts }).map(
      (note) => `  ${paint('yellow', escapeText(note.join('')))}`,
    ),
    '',
    ...fieldTable(person, paint),
    '',
    ...(person.leavers.length === 0 ? [] : [paint('bold', 'Departures'), renderLeavers(person.leavers, paint), '']),
    paint('bold', 'Changes'),
    ...(person.changes.length === 0 ? ['  none yet'] : person.changes.flatMap((change) => historyLines(change, paint))),
  ]
  return parts.join('\n')
}

function fieldTable(person: Person, paint: Paint): string[] {
  const names = [...new Set([...Object.keys(person.desired ?? {}), ...Object.keys(person.confirmed ?? {})])]
  const rows = names
    .filter((name) => name !== 'identityId')
    .map((name) => [
      escapeText(name),
      fieldText(name, person.desired?.[name]),
      fieldText(name, person.confirmed?.[name]),
    ])
  return alignColumns(
    [['FIELD', 'HR SAYS', 'PLATFORM HAS'], ...rows],
    (text, row, column) => {
      if (row === 0) return paint('bold', text)
      const due = person.due.includes(rows[row - 1]?.[0] ?? '')
      return due && column === 1 ? paint('yellow', text) : text
    },
    roomIn(paint, 2),
  ).map((line) => `  ${line}`)
}

/** A value of a field as the row or the store has it; a time of employment by its day. */
export function fieldText(name: string, value: RecordView[string] | undefined): string {
  if (value === undefined || value === null) return '-'
  if (typeof value === 'object') return 'hidden'
  const isDate = (name === 'startedAt' || name === 'separatedAt') && String(value).includes('T')
  return escapeText(isDate ? day(String(value)) : String(value))
}

function historyLines(change: PersonChange, paint: Paint): string[] {
  const fields = Object.entries(change.fields ?? {}).map(([name, field]) => renderField(name, field))
  const details = [...(change.reason === undefined ? [] : [escapeText(change.reason)]), ...fields].join(', ')
  const from = change.source === null ? '' : ` from ${escapeText(change.source)}`
  return [
    `  ${formatInstant(change.plannedAt)}  ${paint('bold', change.kind)}  ${details}`.trimEnd(),
    `    run ${shortId(change.runId)}${from}`,
    `    ${answerText(change)}`,
  ]
}

/** The progress of a change, and the platform's answer. */
export function answerText({ state, sentAt, answeredAt, answer }: PersonChange): string {
  if (answer === null) return sentAt === null ? state : `${state}, sent ${formatInstant(sentAt)}`
  const message = answer.message === undefined ? '' : `: ${escapeText(answer.message)}`
  const when = answeredAt === null ? '' : ` on ${formatInstant(answeredAt)}`
  return `${state}, the platform answered ${escapeText(String(answer.status))}${when}${message}`
}
