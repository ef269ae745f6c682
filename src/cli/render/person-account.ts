import { requestTexts } from '../../contract/control/person-texts.ts'
import type { PersonAccount, PersonPlan } from '../../contract/control/shapes.ts'
import { answerText, fieldText } from './person.ts'
import { renderField, renderGuards, renderWarnings } from './plan.ts'
import { alignColumns, escapeText, formatInstant, type Paint, roomIn } from './text.ts'

type Cell = PersonAccount['rows'][number]['cells'][number]

/** How one person got from their row to the platform's answer. */
export function renderPersonAccount(account: PersonAccount, paint: Paint): string {
  const { identityId, source, asOf, rows, decision, evidence, delivery } = account
  const parts = [
    [`${paint('bold', escapeText(identityId))} · ${escapeText(source)} · as of ${formatInstant(asOf)}`],
    rows.length === 0
      ? [`  ${escapeText(source)} has no row for this person`]
      : rows.flatMap((row) => rowLines(row, paint)),
    [
      `${paint('bold', 'Decision')}  ${decision === 'none' ? 'nothing to send' : decision}`,
      ...evidence.map((line) => `  ${escapeText(line)}`),
    ],
    delivery === null ? [] : deliveryLines(delivery, paint),
  ]
  return parts.flatMap((lines) => (lines.length === 0 ? [] : [lines.join('\n')])).join('\n\n')
}

/** What a run of one person would do now. */
export function renderPersonPlan({ person, guards, warnings }: PersonPlan, paint: Paint): string {
  const parts = [renderPersonAccount(person, paint), renderGuards(guards, paint), renderWarnings(warnings, paint)]
  return parts.filter((part) => part !== '').join('\n\n')
}

function rowLines({ place: location, reason, cells }: PersonAccount['rows'][number], paint: Paint): string[] {
  const table = cells.map((cell) => [
    escapeText(cell.column),
    escapeText(cell.field),
    fieldText(cell.field, cell.text),
    readAs(cell),
  ])
  const head = ['COLUMN', 'FIELD', 'CELL', 'READ AS']
  return [
    `${paint('bold', 'Row')}  ${escapeText(location)}`,
    ...(reason === null ? [] : [`  ${paint('yellow', `not used: ${escapeText(reason)}`)}`]),
    ...alignColumns([head, ...table], (text, row) => (row === 0 ? paint('dim', text) : text), roomIn(paint, 2)).map(
      (line) => `  ${line}`,
    ),
  ]
}

function readAs({ value, field, normalised, keeps, reason }: Cell): string {
  if (reason !== null) return `cannot be used: ${escapeText(reason)}`
  if (keeps) return 'empty: the known value stays'
  return `${fieldText(field, value)}${normalised ? ' (normalised)' : ''}`
}

function deliveryLines(delivery: NonNullable<PersonAccount['delivery']>, paint: Paint): string[] {
  const fields = Object.entries(delivery.fields ?? {}).map(([name, field]) => renderField(name, field))
  return [
    `${paint('bold', 'Request')}  ${requestTexts[delivery.kind]}${fields.length === 0 ? '' : `: ${fields.join(', ')}`}`,
    `${paint('bold', 'Response')} ${answerText(delivery)}`,
  ]
}
