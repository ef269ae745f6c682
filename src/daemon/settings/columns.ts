import { parse } from 'yaml'
import type { Reading } from '../../connectors/connector.ts'
import type { ConnectionColumns, ConnectionSettings as SettingsView } from '../../contract/control/settings-changes.ts'
import { Failure } from '../../errors.ts'
import { foldValue } from '../../identity/mapping/fold-value.ts'
import { type ColumnFinder, columnFinder } from '../../identity/mapping/headers.ts'
import type { Mapping } from '../../identity/mapping/mapping.ts'
import { sourceNames, type TextRule } from '../../identity/mapping/text-rules.ts'
import { fieldNames } from '../../identity/record.ts'
import { countValues } from '../proposal/cells.ts'
import { withSetting } from './edit-setting.ts'

/** The values of a status are counted in so many rows. */
const maxRows = 5000

/** The columns of an export, and the values of its status. */
type Sample = Pick<ConnectionColumns, 'columns' | 'fields' | 'statuses' | 'rows'>
type Meaning = 'left' | 'employed' | 'open'

/** What a person chose: the column of a field (null: it is not sent), and what a value of the status means. */
export type ColumnChoices = {
  readonly fields: Readonly<Record<string, string | null>>
  readonly statuses: Readonly<Record<string, Meaning>>
}

/** Reads the header and the first rows of an opened source, and shows where the fields of the mapping come from. */
export async function sampleColumns(reading: Reading, mapping: Mapping, signal: AbortSignal): Promise<Sample> {
  const find = columnFinder(reading.headers)
  const status = mapping.status && origin(mapping.status, find)
  const index = status ? reading.headers.indexOf(status.column ?? '') : -1
  const cells: string[] = []
  let rows = 0
  for await (const slice of reading.rows) {
    signal.throwIfAborted()
    for (const { values } of slice.slice(0, maxRows - rows)) {
      rows += 1
      if (index >= 0) cells.push(values[index] ?? '')
    }
    if (rows >= maxRows) break
  }
  const fields = ['identityId', ...fieldNames].map((field) => ({
    field,
    ...origin((mapping.fields as Readonly<Record<string, TextRule | undefined>>)[field], find),
  }))
  return {
    columns: reading.headers.filter((header) => header.trim() !== ''),
    fields: status ? [...fields, { field: 'status', ...status }] : fields,
    statuses: mapping.status
      ? countValues(cells).map((count) => ({ ...count, means: meaningOf(mapping.status, count.value) }))
      : [],
    rows,
  }
}

type Origin = Pick<ConnectionColumns['fields'][number], 'column' | 'written'>

/** The column of the export that a rule reads; where that is no single column, or a missing one, what the rule says. */
function origin(rule: TextRule | undefined, find: ColumnFinder): Origin {
  if (rule === undefined) return { column: null, written: null }
  const { column, firstOf, template, expression } = rule
  if (column === undefined) {
    const written = template ?? expression ?? (firstOf ?? []).flat().join(', ')
    return { column: null, written }
  }
  const names = [column].flat()
  const matched = find(names)
  return matched.kind === 'one'
    ? { column: matched.header, written: null }
    : { column: null, written: names.join(', ') }
}

function meaningOf(rule: Mapping['status'], value: string): Meaning {
  const has = (list: readonly string[] = []) => list.some((one) => foldValue(one) === foldValue(value))
  return has(rule?.leftWhen) ? 'left' : has(rule?.employedWhen) ? 'employed' : 'open'
}

type Sections = Readonly<Partial<Record<'mapping' | 'leaving', string>>>

/** The parts of a connection in which the choices are written. Parts that stay are left out. */
export function chosenSections(
  sections: SettingsView['sections'],
  mapping: Mapping,
  { fields: { status: statusColumn, ...fields }, statuses }: ColumnChoices,
): Sections {
  const textOf = (name: string) => sections.find(({ section }) => section === name)?.text ?? ''
  const [columns, leaving] = [textOf('mapping'), textOf('leaving')]
  const written = Object.entries(fields).reduce((text, [field, column]) => withColumn(text, field, column), columns)
  const judged = withStatus(leaving, mapping.status, { column: statusColumn ?? null, statuses })
  return {
    ...(written !== columns && { mapping: written }),
    ...(judged !== leaving && { leaving: judged }),
  }
}

function settingsOf(text: string): Readonly<Record<string, unknown>> {
  const settings: unknown = parse(text)
  return isRecord(settings) ? settings : {}
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Other settings of the field, such as the format of its dates, stay. */
function withColumn(text: string, field: string, column: string | null): string {
  const { preset, fields } = settingsOf(text)
  const rule = isRecord(fields) ? fields[field] : undefined
  // A field of the preset is taken out by null; one that only stands here is removed.
  if (column === null) return withSetting(text, ['fields', field], preset === undefined ? undefined : null)
  if (!isRecord(rule)) return withSetting(text, ['fields', field], column)
  return withSource(text, ['fields', field], rule, column)
}

/** Puts a column in the place of the source of a rule's text. */
function withSource(text: string, path: readonly string[], rule: object, column: string): string {
  const others = sourceNames.filter((name) => name !== 'column' && name in rule)
  const without = others.reduce((rest, name) => withSetting(rest, [...path, name], undefined), text)
  return withSetting(without, [...path, 'column'], column)
}

type StatusChoices = { readonly column: string | null; readonly statuses: ColumnChoices['statuses'] }

/** A status that only the preset has is written out whole, because a status of the configuration replaces it. */
function withStatus(text: string, rule: Mapping['status'], { column, statuses }: StatusChoices): string {
  const chosen = Object.entries(statuses)
  if (column === null && chosen.length === 0) return text
  if (rule === undefined) throw new Failure('usage', 'no column says who has left: add "status" in YAML first')
  const lists = {
    leftWhen: listed(rule.leftWhen, chosen, 'left'),
    employedWhen: listed(rule.employedWhen, chosen, 'employed'),
  }
  const { status: own } = settingsOf(text)
  if (!isRecord(own)) {
    const { optional, leftWhen: _, employedWhen: __, ...rest } = rule
    const base = { ...rest, ...(optional && { optional }), ...lists }
    const source = Object.fromEntries(Object.entries(base).filter(([name]) => !isSource(name)))
    return withSetting(text, ['status'], column === null ? base : { column, ...source })
  }
  const moved = column === null ? text : withSource(text, ['status'], own, column)
  return (['leftWhen', 'employedWhen'] as const).reduce(
    (rest, name) => (lists[name] === rule[name] ? rest : withSetting(rest, ['status', name], lists[name])),
    moved,
  )
}

function isSource(name: string): boolean {
  return (sourceNames as readonly string[]).includes(name)
}

/** The list with the chosen values of its meaning and without the others; the same list if nothing changes. */
function listed(list: readonly string[], chosen: readonly (readonly [string, Meaning])[], means: Meaning) {
  const isSame = (a: string, b: string) => foldValue(a) === foldValue(b)
  const kept = list.filter((value) => !chosen.some(([one, other]) => isSame(one, value) && other !== means))
  const added = chosen.flatMap(([value, one]) =>
    one === means && !kept.some((listedValue) => isSame(listedValue, value)) ? [value] : [],
  )
  return kept.length === list.length && added.length === 0 ? list : [...kept, ...added]
}
