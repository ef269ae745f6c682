import { isAlias, isScalar, parseDocument, visit } from 'yaml'
import type { Reading, SourceRow } from '../../connectors/connector.ts'
import type { ConnectionColumns, ConnectionSettings as SettingsView } from '../../contract/control/settings-changes.ts'
import { Failure } from '../../errors.ts'
import type { ClassifiedValue } from '../../identity/mapping/classified.ts'
import { foldValue } from '../../identity/mapping/fold-value.ts'
import { type ColumnFinder, columnFinder } from '../../identity/mapping/headers.ts'
import { compileMapping, Mapping } from '../../identity/mapping/mapping.ts'
import { templateParts } from '../../identity/mapping/template.ts'
import { sourceNames, type TextRule } from '../../identity/mapping/text-rules.ts'
import { fieldNames } from '../../identity/record.ts'
import { plainName } from '../../text/escape.ts'
import { canBeNamed, countValues } from '../proposal/cells.ts'
import { withSetting } from './edit-setting.ts'

/** The number of rows in which the values of a status are counted. */
const maxRows = 5000
/** Maximum number of columns and of values listed, and their maximum length: a page has to show them all. */
const maxColumns = 300
const maxStatuses = 200
const maxCharacters = 200
/** The rows from which examples of cells are taken, and how many of a column are shown. */
const maxExampleRows = 20
const maxExamples = 2
const maxExampleLength = 40
/** A longer value cannot be given a meaning. */
const maxValueLength = 190

const fieldsOfPeople: readonly string[] = ['identityId', ...fieldNames]

/** The columns of an export, and the values of its status. */
type Sample = Omit<ConnectionColumns, 'connection' | 'file' | 'digest'>
type Meaning = 'left' | 'employed' | 'open'

/** What a person chose: the column of a field (null: it is not sent), and what a value of the status means. */
export type ColumnChoices = {
  readonly fields: Readonly<Record<string, string | null>>
  readonly statuses: Readonly<Record<string, Meaning>>
}

type SampleOptions = {
  readonly mapping: Mapping
  /** The column whose values are listed as those of the status; left out: the one of the mapping. */
  readonly wordsOf?: string | undefined
  /** The mapped fields of the last accepted export. */
  readonly formerFields: readonly string[]
  readonly signal: AbortSignal
}

/**
 * Reads the header of an opened source and its first rows: one slice, or more where a single column says who has left. Shows where the fields
 * of the mapping come from.
 */
export async function sampleColumns(
  reading: Reading,
  { mapping, wordsOf, formerFields, signal }: SampleOptions,
): Promise<Sample> {
  const { headers, sparse = false, missingIsBlank = false } = reading
  const context = { find: columnFinder(headers), isSparse: sparse, missingIsBlank, formerFields }
  const words = origin('status', wordsOf === undefined ? mapping.status : { column: wordsOf }, context).column
  const { cells, firstRows, rows } = await firstCells(reading, words === null ? -1 : headers.indexOf(words), signal)
  const rules: Readonly<Record<string, TextRule | undefined>> = { ...mapping.fields, status: mapping.status }
  const fields = [...fieldsOfPeople, 'status'].map((field) => ({ field, ...origin(field, rules[field], context) }))
  const named = headers.filter(canBeNamed)
  const columns = named.filter((header) => header.length <= maxCharacters).slice(0, maxColumns)
  const { statuses, moreStatuses } = meaningsOf(cells, mapping.status)
  return {
    ...{ columns, moreColumns: named.length - columns.length },
    examples: columns.map((column) => examplesIn(firstRows, headers.indexOf(column))),
    ...{ fields, otherTroubles: otherTroubles(mapping, reading, formerFields) },
    ...{ wordsOf: words, statuses, moreStatuses, rows },
  }
}

/** The first different cells of a column that are not blank. */
function examplesIn(rows: readonly SourceRow[], index: number): string[] {
  const cells = rows.map(({ values }) => plainName(values[index] ?? '')).filter((cell) => cell !== '')
  return [...new Set(cells)].slice(0, maxExamples).map((cell) => cell.slice(0, maxExampleLength))
}

/** Sentences about missing columns that are of no field of a person. */
function otherTroubles(
  mapping: Mapping,
  { headers, sparse = false, missingIsBlank = false }: Reading,
  formerFields: readonly string[],
): string[] {
  const compiled = compileMapping(mapping, headers, {
    sparse,
    ...(missingIsBlank && { missingIsBlank: { formerFields } }),
  })
  const troubles = compiled.ok ? compiled.lacking : compiled.missing
  return troubles.filter((text) => /\((?:action|severalRows|rowTimeZone)\)/.test(text))
}

/** The cells of a column in the first rows of a source, and its very first rows. With a negative index, only the first rows are read. */
async function firstCells({ rows: slices }: Reading, index: number, signal: AbortSignal) {
  const cells: string[] = []
  const firstRows: SourceRow[] = []
  for await (const slice of slices) {
    signal.throwIfAborted()
    firstRows.push(...slice.slice(0, maxExampleRows - firstRows.length))
    if (index >= 0) for (const { values } of slice.slice(0, maxRows - cells.length)) cells.push(values[index] ?? '')
    if (cells.length >= maxRows || (index < 0 && firstRows.length > 0)) break
  }
  return { cells, firstRows, rows: cells.length }
}

/** The values of a status that are not read as blank. Those that would hold a plan come first. */
function meaningsOf(cells: readonly string[], rule: Mapping['status']): Pick<Sample, 'statuses' | 'moreStatuses'> {
  const all = countValues(cells, Number.POSITIVE_INFINITY)
    .filter(({ value }) => !isListed(rule?.blankWhen, value))
    .map((count) => ({ ...count, means: meaningOf(rule, count.value) }))
    .toSorted((a, b) => Number(b.means === 'open') - Number(a.means === 'open'))
  const statuses = all.filter(({ value }) => value.length <= maxValueLength).slice(0, maxStatuses)
  return { statuses, moreStatuses: all.length - statuses.length }
}

type Origin = Omit<ConnectionColumns['fields'][number], 'field'>

type OriginContext = {
  readonly find: ColumnFinder
  readonly isSparse: boolean
  readonly missingIsBlank: boolean
  readonly formerFields: readonly string[]
}

/** The column of the export that a rule reads; where that is no single column, or a missing one, what the rule says. */
function origin(field: string, rule: TextRule | undefined, context: OriginContext): Origin {
  const none = { column: null, written: null, trouble: null, lacking: [], similar: null }
  if (rule === undefined) return none
  const { column, firstOf, template, expression } = rule
  if (expression !== undefined) return { ...none, written: expression }
  const entries = entriesOf(rule)
  const matches = entries.map((names) => ({ names, matched: context.find(names) }))
  const [only] = matches
  if (column !== undefined && only?.matched.kind === 'one') return { ...none, column: only.matched.header }
  const absent = matches.filter(({ matched }) => matched.kind !== 'one')
  const written = template ?? (firstOf ?? [column ?? []]).flat().join(', ')
  const isSeveral = absent.some(({ matched }) => matched.kind === 'several')
  const lacking = absent.map(({ names }) => names)
  const isRead = absent.length < entries.length && !isSeveral && mayLack(lacking, { field, rule, context })
  if (absent.length === 0 || isRead) return { ...none, written }
  return {
    ...{ column: null, written, trouble: isSeveral ? 'several' : troubleIfMissing(field, rule, context) },
    lacking: lacking.map((names) => names.join(', ')),
    similar: absent.flatMap(({ matched }) => (matched.kind === 'none' ? (matched.similar ?? []) : []))[0] ?? null,
  }
}

type FieldRule = { readonly field: string; readonly rule: TextRule; readonly context: OriginContext }

/** Whether a field is read from the others of its columns without these ones, each with all its names. */
function mayLack(
  lacking: readonly (readonly string[])[],
  { field, rule, context: { isSparse, missingIsBlank, formerFields } }: FieldRule,
): boolean {
  const isOptional = rule.optional === true
  if (field === 'identityId' || !(isOptional || isSparse)) return false
  if (rule.template !== undefined && !missingIsBlank) return false
  return isOptional || !missingIsBlank || !lacking.some(([name]) => formerFields.includes(`${field}: ${name}`))
}

/** The columns of a rule, each with all its names. */
function entriesOf({ column, firstOf, template }: TextRule): string[][] {
  if (template !== undefined)
    return templateParts(template).flatMap((part) => ('column' in part ? [[part.column]] : []))
  return (firstOf ?? [column ?? []]).map((names) => [names].flat())
}

/** What it means for the next run that the export lacks the column of a field. A plan decides the same when it is made. */
function troubleIfMissing(
  field: string,
  { optional = false }: TextRule,
  { isSparse, missingIsBlank, formerFields }: OriginContext,
): NonNullable<Origin['trouble']> {
  // Without a key, no row of any source is about a person.
  if (field === 'identityId' || !(optional || isSparse)) return 'missing'
  // A list of records may lack an optional member, and any member if each record states changes only.
  if (isSparse && (optional || !missingIsBlank)) return 'notNeeded'
  if (formerFields.includes(field)) return 'lost'
  return isSparse && formerFields.length === 0 ? 'missing' : 'notNeeded'
}

function meaningOf(rule: Mapping['status'], value: string): Meaning {
  return isListed(rule?.leftWhen, value) ? 'left' : isListed(rule?.employedWhen, value) ? 'employed' : 'open'
}

function isListed(list: readonly string[] | undefined, value: string): boolean {
  return list?.some((one) => foldValue(one) === foldValue(value)) ?? false
}

type Sections = Readonly<Partial<Record<'mapping' | 'leaving', string>>>

type Changed = {
  readonly sections: SettingsView['sections']
  /** As it is in effect, without classified values. */
  readonly mapping: Mapping
  readonly classified: readonly ClassifiedValue[]
}

/** The parts of a connection in which the choices are written. Parts that stay are left out. */
export function chosenSections(
  { sections, mapping, classified }: Changed,
  { fields: { status: statusColumn, ...fields }, statuses }: ColumnChoices,
): Sections {
  const textOf = (name: string) => sections.find(({ section }) => section === name)?.text ?? ''
  const [columns, leaving] = [textOf('mapping'), textOf('leaving')]
  if (statusColumn === null) throw new Failure('usage', 'to read no status, set "status: null" in YAML')
  const unknown = Object.keys(fields).find((field) => !fieldsOfPeople.includes(field))
  if (unknown !== undefined)
    throw new Failure('usage', `there is no field "${unknown}": choose one of ${fieldsOfPeople.join(', ')}`)
  refuseClassified(statuses, classified)
  const written = Object.entries(fields).reduce(
    (text, [field, column]) => withColumn(text, { field, column, mapping }),
    columns,
  )
  const judged = withStatus(leaving, mapping.status, { column: statusColumn ?? null, statuses })
  return {
    ...(written !== columns && { mapping: written }),
    ...(judged !== leaving && { leaving: judged }),
  }
}

/** Refuses a part in which an anchor, an alias or a reference stands: a change would be another one than it looks. */
function settingsOf(text: string): Readonly<Record<string, unknown>> {
  const document = parseDocument(text)
  let isPlain = true
  visit(document, {
    Node: (_key, node) => {
      const isReference = isScalar(node) && String(node.value).includes('${')
      if (isAlias(node) || node.anchor !== undefined || isReference) isPlain = false
    },
  })
  if (!isPlain)
    throw new Failure('conflict', 'the settings have an anchor, an alias or a reference: change the columns in YAML')
  const settings: unknown = document.toJS()
  return isRecord(settings) ? settings : {}
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

type Fields = Readonly<Record<string, (TextRule & Readonly<Record<string, unknown>>) | undefined>>
type FieldChoice = { readonly field: string; readonly column: string | null; readonly mapping: Mapping }

/** Other settings of the field, such as the format of its dates, stay: a rule with a column takes none of them from the preset. */
function withColumn(text: string, { field, column, mapping }: FieldChoice): string {
  const { preset, fields } = settingsOf(text)
  const own = isRecord(fields) ? fields[field] : undefined
  const path = ['fields', field]
  // A field of the preset is taken out by null; one that only stands here is removed.
  if (column === null) return withSetting(text, path, preset === undefined ? undefined : null)
  const options = optionsOf(mapping.fields, field)
  if (!isRecord(own))
    return withSetting(text, path, Object.keys(options).length === 0 ? column : { column, ...options })
  const missing = Object.entries(options).filter(([name]) => !(name in own))
  const whole = missing.reduce((rest, [name, value]) => withSetting(rest, [...path, name], value), text)
  return withSource(whole, path, own, column)
}

const otherDate: Readonly<Record<string, string>> = { startedAt: 'separatedAt', separatedAt: 'startedAt' }
/** How the text of a date is read. */
const dateOptions = ['format', 'pivot', 'language']

/** What the settings say about a field besides its column. A date that was not read before is read as the other date is. */
function optionsOf(fields: Fields, field: string): Readonly<Record<string, unknown>> {
  const other = otherDate[field]
  if (fields[field] !== undefined || other === undefined) return unusualOptions(fields[field], field)
  const options = unusualOptions(fields[other], other)
  return Object.fromEntries(dateOptions.flatMap((name) => (name in options ? [[name, options[name]]] : [])))
}

/** The settings of a rule besides the source of its text that are not the usual ones. */
function unusualOptions(rule: Fields[string], field: string): Readonly<Record<string, unknown>> {
  const plain = (Mapping.parse({ fields: { identityId: 'a', [field]: 'a' } }).fields as Fields)[field] ?? {}
  const isUsual = (name: string, value: unknown) =>
    JSON.stringify(value) === JSON.stringify((plain as Readonly<Record<string, unknown>>)[name])
  const options = Object.entries(rule ?? {}).filter(
    ([name, value]) => !isSource(name) && name !== 'optional' && !isUsual(name, value),
  )
  return Object.fromEntries(options)
}

/** Puts a column in the place of the source of a rule's text. */
function withSource(text: string, path: readonly string[], rule: object, column: string): string {
  const others = sourceNames.filter((name) => name !== 'column' && name in rule)
  // The column first: a rule that is empty meanwhile would lose its place and its comments.
  const withBoth = withSetting(text, [...path, 'column'], column)
  return others.reduce((rest, name) => withSetting(rest, [...path, name], undefined), withBoth)
}

/** A word in no list has the meaning that an operator gave it: it would not hold the plan. */
function refuseClassified(statuses: ColumnChoices['statuses'], classified: readonly ClassifiedValue[]): void {
  for (const [value, means] of Object.entries(statuses)) {
    const earlier = classified.find((one) => one.field === 'status' && one.value === foldValue(value))
    if (means === 'open' && earlier)
      throw new Failure(
        'conflict',
        `"${value}" was classified as ${earlier.meaning}, which applies where no list has it: choose what it means`,
      )
  }
}

type StatusChoices = { readonly column: string | null; readonly statuses: ColumnChoices['statuses'] }

/** A status that only the preset has is written out whole, because a status of the configuration replaces it. */
function withStatus(text: string, rule: Mapping['status'], { column, statuses }: StatusChoices): string {
  const chosen = Object.entries(statuses)
  if (column === null && chosen.length === 0) return text
  if (rule === undefined) return withNewStatus(text, column, chosen)
  const lists = {
    leftWhen: listed(rule.leftWhen, chosen, 'left'),
    employedWhen: listed(rule.employedWhen, chosen, 'employed'),
  }
  const { status: own } = settingsOf(text)
  if (!isRecord(own)) {
    const { optional, leftWhen: _, employedWhen: __, ...rest } = rule
    if (column === null) return withSetting(text, ['status'], { ...rest, ...(optional && { optional }), ...lists })
    // A chosen column may not be missing.
    const others = Object.fromEntries(Object.entries({ ...rest, ...lists }).filter(([name]) => !isSource(name)))
    return withSetting(text, ['status'], { column, ...others })
  }
  const moved = column === null ? text : withSource(text, ['status'], own, column)
  return (['leftWhen', 'employedWhen'] as const).reduce(
    (rest, name) => (lists[name] === rule[name] ? rest : withSetting(rest, ['status', name], lists[name])),
    moved,
  )
}

/** A status where there was none: its words can only be those that were chosen. */
function withNewStatus(text: string, column: string | null, chosen: readonly (readonly [string, Meaning])[]): string {
  const [leftWhen, employedWhen] = (['left', 'employed'] as const).map((means) => listed([], chosen, means))
  if (column === null || leftWhen?.length === 0)
    throw new Failure('usage', 'choose the column of the status, and which of its words say that a person has left')
  return withSetting(text, ['status'], { column, leftWhen, employedWhen })
}

function isSource(name: string): boolean {
  return (sourceNames as readonly string[]).includes(name)
}

/** The list with the chosen values of its meaning and without the others; the same list if nothing changes. */
function listed(list: readonly string[], chosen: readonly (readonly [string, Meaning])[], means: Meaning) {
  const others = chosen.flatMap(([value, one]) => (one === means ? [] : [value]))
  const kept = list.filter((value) => !isListed(others, value))
  const added = chosen.flatMap(([value, one]) => (one === means && !isListed(kept, value) ? [value] : []))
  return kept.length === list.length && added.length === 0 ? list : [...kept, ...added]
}
