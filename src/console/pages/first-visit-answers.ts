import { createHash } from 'node:crypto'
import type { ProposedReading, ReadingAnswers } from '../../contract/control/first-visit.ts'
import { address } from '../../web/address.ts'
import type { Fields } from '../site/site.ts'
import { firstVisitHref } from '../site/words.ts'

/** What a visitor has said, by the names of the fields in the forms, so that it stands in the address. */
export type Answers = Readonly<Record<string, string>>

/** Of a choice that leaves a field out; the names of columns stand behind a mark of their own. */
export const notSent = 'none'
const columnMark = '='

/** The address of a step for an upload. */
export function uploadHref(upload: string, step = '', said: Answers = {}): string {
  return address(`${firstVisitHref}/${encodeURIComponent(upload)}${step}`, said)
}

export function columnValue(column: string): string {
  return `${columnMark}${column}`
}

export function fieldInput(field: string): string {
  return `field-${field}`
}

/** The name of the question about a value: short, whatever the value is. */
export function valueInput(kind: 'status' | 'contractor', value: string): string {
  return `${kind}-${createHash('sha256').update(value).digest('hex').slice(0, 12)}`
}

/** What was said of the form and the columns, without what values mean. */
export function answersIn(fields: Fields, names: readonly string[]): ReadingAnswers {
  const line = Number(fields('headerLine'))
  const columns = names.flatMap((name): [string, string | null][] => {
    const said = fields(fieldInput(name))
    if (said === notSent) return [[name, null]]
    return said.startsWith(columnMark) ? [[name, said.slice(columnMark.length)]] : []
  })
  return {
    ...text(fields, 'encoding'),
    ...text(fields, 'delimiter'),
    ...text(fields, 'preset'),
    ...text(fields, 'dateFormat'),
    ...(Number.isInteger(line) && line > 0 && { headerLine: line }),
    fields: Object.fromEntries(columns),
    statuses: {},
    contractors: {},
  }
}

function text<N extends string>(fields: Fields, name: N): { readonly [K in N]?: string } {
  const value = fields(name)
  return value === '' ? {} : ({ [name]: value } as { readonly [K in N]: string })
}

/** All values that a person can say the meaning of, the most frequent first. */
export function valuesOf({ statuses, contractors }: Pick<ProposedReading, 'statuses' | 'contractors'>) {
  const all = <T extends { readonly value: string; readonly rows: number }>(...groups: readonly (readonly T[])[]) =>
    groups.flat().sort((a, b) => b.rows - a.rows || (a.value < b.value ? -1 : 1))
  return {
    statuses: statuses === null ? [] : all(statuses.left, statuses.employed, statuses.open),
    contractors: contractors === null ? [] : all(contractors.contractor, contractors.employee, contractors.open),
  }
}

/** The same with what was said of values. Which there are is known from a first proposal. */
export function withValues(answers: ReadingAnswers, fields: Fields, proposed: ProposedReading): ReadingAnswers {
  const values = valuesOf(proposed)
  const statuses = values.statuses.flatMap(({ value }) => {
    const said = fields(valueInput('status', value))
    return said === 'left' || said === 'employed' || said === 'open' ? [[value, said] as const] : []
  })
  const contractors = values.contractors.flatMap(({ value }) => {
    const said = fields(valueInput('contractor', value))
    return said === '' ? [] : [[value, said === 'open' ? null : said === 'contractor'] as const]
  })
  return { ...answers, statuses: Object.fromEntries(statuses), contractors: Object.fromEntries(contractors) }
}

/** Everything that was said, to carry it on to another step. */
export function answersFrom(fields: Fields, proposed: ProposedReading): Answers {
  const values = valuesOf(proposed)
  const names = [
    ...['encoding', 'delimiter', 'headerLine', 'preset', 'dateFormat', 'name', 'folder', 'timeZone'],
    ...[...proposed.fields.map(({ field }) => field), ...proposed.otherFields].map(fieldInput),
    ...values.statuses.map(({ value }) => valueInput('status', value)),
    ...values.contractors.map(({ value }) => valueInput('contractor', value)),
  ]
  return Object.fromEntries(names.flatMap((name) => (fields(name) === '' ? [] : [[name, fields(name)]])))
}
