import { createHash } from 'node:crypto'
import type { ProposedReading, ReadingAnswers } from '../../contract/control/first-visit.ts'
import { plainName } from '../../text/escape.ts'
import { address } from '../../web/address.ts'
import type { Option } from '../../web/forms.ts'
import type { Fields } from '../site/site.ts'
import { firstVisitHref } from '../site/words.ts'

/** The answers of a visitor by field name, for the query of an address. */
type Answers = Readonly<Record<string, string>>

/** The value of a choice that leaves a field out. Names of columns have a prefix, so that none is equal to it. */
export const notSent = 'none'
const columnPrefix = '='

/** The address of a step for an upload. */
export function uploadHref(upload: string, step = '', answers: Answers = {}): string {
  return address(`${firstVisitHref}/${encodeURIComponent(upload)}${step}`, answers)
}

/** The choice of a column. Settings find the column also by its name without hidden characters. */
export function columnOption(column: string): Option {
  const name = plainName(column)
  return { value: `${columnPrefix}${name}`, name }
}

/** The name of the form field for a field of the record. */
export function fieldInput(field: string): string {
  return `field-${field}`
}

/** The name of the form field for the meaning of a value; a digest keeps it short. */
export function valueInput(kind: 'status' | 'contractor', value: string): string {
  return `${kind}-${createHash('sha256').update(value).digest('hex').slice(0, 12)}`
}

/** Reads the answers about the file and the columns from a form, without those about values. */
export function readAnswers(fields: Fields, names: readonly string[]): ReadingAnswers {
  const line = Number(fields('headerLine'))
  const columns = names.flatMap((name): [string, string | null][] => {
    const answer = fields(fieldInput(name))
    if (answer === notSent) return [[name, null]]
    return answer.startsWith(columnPrefix) ? [[name, answer.slice(columnPrefix.length)]] : []
  })
  return {
    ...text(fields, 'encoding'),
    ...text(fields, 'delimiter'),
    ...text(fields, 'sheet'),
    ...text(fields, 'records'),
    ...text(fields, 'ignoredStatements'),
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

/** All values that can be given a meaning, most frequent first. */
export function valuesOf({ statuses, contractors }: Pick<ProposedReading, 'statuses' | 'contractors'>) {
  const all = <T extends { readonly value: string; readonly rows: number }>(...groups: readonly (readonly T[])[]) =>
    groups.flat().sort((a, b) => b.rows - a.rows || (a.value < b.value ? -1 : 1))
  return {
    statuses: statuses === null ? [] : all(statuses.left, statuses.employed, statuses.open),
    contractors: contractors === null ? [] : all(contractors.contractor, contractors.employee, contractors.open),
  }
}

/** Adds the answers about values. The first proposal lists the values. */
export function addValueAnswers(answers: ReadingAnswers, fields: Fields, proposed: ProposedReading): ReadingAnswers {
  const values = valuesOf(proposed)
  const statuses = values.statuses.flatMap(({ value }) => {
    const answer = fields(valueInput('status', value))
    return answer === 'left' || answer === 'employed' || answer === 'open' ? [[value, answer] as const] : []
  })
  const contractors = values.contractors.flatMap(({ value }) => {
    const answer = fields(valueInput('contractor', value))
    return answer === '' ? [] : [[value, answer === 'open' ? null : answer === 'contractor'] as const]
  })
  return { ...answers, statuses: Object.fromEntries(statuses), contractors: Object.fromEntries(contractors) }
}

/** Collects all answers of a form, for the address of the next step. */
export function collectAnswers(fields: Fields, proposed: ProposedReading): Answers {
  const values = valuesOf(proposed)
  const names = [
    ...[
      'encoding',
      'delimiter',
      'sheet',
      'records',
      'ignoredStatements',
      'headerLine',
      'preset',
      'dateFormat',
      'name',
      'folder',
      'timeZone',
    ],
    ...[...proposed.fields.map(({ field }) => field), ...proposed.otherFields].map(fieldInput),
    ...values.statuses.map(({ value }) => valueInput('status', value)),
    ...values.contractors.map(({ value }) => valueInput('contractor', value)),
  ]
  return Object.fromEntries(names.flatMap((name) => (fields(name) === '' ? [] : [[name, fields(name)]])))
}
