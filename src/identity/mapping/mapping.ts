import { z } from 'zod'
import {
  type FieldName,
  fieldNames,
  type IdentityRecord,
  isOwnField,
  type Observation,
  type Reject,
} from '../record.ts'
import type { ShapeFault } from '../shape/shape.ts'
import {
  actionReader,
  booleanReader,
  type CellReader,
  emailReader,
  keyReader,
  referenceReader,
  statusReader,
  textReader,
} from './cells.ts'
import { leavingReader, namesFirstDayGone, rankReader, startReader, timeZoneReader } from './date-cells.ts'
import {
  ActionRule,
  contractorOptions,
  emailOptions,
  fieldRule,
  Group,
  keyOptions,
  leavingOptions,
  OnBadCell,
  ownOptions,
  ownRules,
  propertyOption,
  RowTimeZone,
  rulePatch,
  Scope,
  SeveralRows,
  StatusMeans,
  StatusRule,
  startOptions,
  textOptions,
} from './field-rules.ts'
import { groupReader } from './group.ts'
import { type ColumnFinder, columnFinder, mostSimilar } from './headers.ts'
import { mayNameDetail } from './missing-details.ts'
import { ownReader } from './own-cells.ts'
import { inTime, withDay } from './row-timing.ts'
import { type Cell, ignoredRows, keyOfRow, type MappableRow, rowMapper, rowScope, textIn } from './rows.ts'
import { templateParts } from './template.ts'
import { bindText } from './text-of.ts'
import { sourceNames, type TextRule } from './text-rules.ts'

/** The columns of a source that a person's fields come from, and how their cells are read. */
export const Mapping = z.strictObject({
  fields: z.strictObject({
    identityId: fieldRule(keyOptions).describe('The stable key of a person. A row without it is rejected.'),
    email: fieldRule(emailOptions).optional(),
    secondaryEmail: fieldRule(emailOptions).optional(),
    firstName: fieldRule(textOptions).optional(),
    lastName: fieldRule(textOptions).optional(),
    jobTitle: fieldRule(textOptions).optional(),
    managerId: fieldRule(textOptions).optional(),
    managerName: fieldRule(textOptions).optional(),
    startedAt: fieldRule(startOptions).optional().describe('The first day of employment.'),
    separatedAt: fieldRule(leavingOptions).optional().describe('The leaving date.'),
    isContractor: fieldRule(contractorOptions)
      .optional()
      .describe('true: contractor, false: employee, null: not known.'),
  }),
  record: ownRules(fieldRule({ ...ownOptions, ...propertyOption })).optional(),
  status: StatusRule.optional(),
  action: ActionRule.optional(),
  statusMeans: StatusMeans.default('now'),
  severalRows: SeveralRows.default('reject'),
  onBadCell: OnBadCell.default('keepField'),
  rowTimeZone: RowTimeZone.optional(),
  scope: Scope.optional(),
  group: Group.optional(),
})
export type Mapping = z.infer<typeof Mapping>

/** A part of a mapping: a preset, or the overrides of a connection. null removes a field of the preset. */
export const MappingPatch = z.strictObject({
  fields: z
    .strictObject({
      identityId: rulePatch(keyOptions),
      email: rulePatch(emailOptions),
      secondaryEmail: rulePatch(emailOptions),
      firstName: rulePatch(textOptions),
      lastName: rulePatch(textOptions),
      jobTitle: rulePatch(textOptions),
      managerId: rulePatch(textOptions),
      managerName: rulePatch(textOptions),
      startedAt: rulePatch(startOptions),
      separatedAt: rulePatch(leavingOptions),
      isContractor: rulePatch(contractorOptions),
    })
    .partial()
    .optional(),
  record: ownRules(rulePatch(ownOptions)).optional(),
  status: StatusRule.nullable().optional(),
  action: ActionRule.nullable().optional(),
  statusMeans: StatusMeans.nullable().optional(),
  severalRows: SeveralRows.nullable().optional(),
  onBadCell: OnBadCell.nullable().optional(),
  rowTimeZone: RowTimeZone.nullable().optional(),
  scope: Scope.nullable().optional(),
  group: Group.nullable().optional(),
})
export type MappingPatch = z.infer<typeof MappingPatch>

/** Settings for `Mapping` to parse. */
export type MappingInput = {
  readonly fields: Readonly<Record<string, unknown>>
  readonly record?: Readonly<Record<string, unknown>>
} & {
  readonly [P in RowPart]?: unknown
}

/**
 * Merges the overrides of a connection into a preset. A field with a source for its text replaces the rule of the preset, so that its
 * column must exist; any other field refines the rule. The result must still be parsed as a `Mapping`.
 */
export function mergePreset(preset: MappingPatch, overrides: MappingPatch): MappingInput {
  const fields = mergeRules(preset.fields, overrides.fields)
  const record = mergeRules(preset.record, overrides.record)
  const parts = rowParts.flatMap((part) => {
    const setting = overrides[part] === undefined ? preset[part] : overrides[part]
    return setting === undefined || setting === null ? [] : [[part, setting]]
  })
  return {
    fields: Object.fromEntries(fields),
    ...(record.size > 0 && { record: Object.fromEntries(record) }),
    ...Object.fromEntries(parts),
  }
}

type Rules = Readonly<Record<string, RulePatch | undefined>>

function mergeRules(preset: Rules | undefined, overrides: Rules | undefined): Map<string, RulePatch | undefined> {
  const rules = new Map(Object.entries(preset ?? {}))
  for (const [name, override] of Object.entries(overrides ?? {})) {
    if (override === null) rules.delete(name)
    else if (override !== undefined) rules.set(name, mergeRule(rules.get(name), override))
  }
  return rules
}

/** A JSONata expression of a mapping. `optional`: the source may lack the columns that it reads. */
export type MappedExpression = { readonly path: readonly string[]; readonly text: string; readonly optional: boolean }

/** The expressions of a mapping. Their results follow the cells of a row, in this order. */
export function expressionsOf(mapping: Mapping): readonly MappedExpression[] {
  const ofRules = textRules(mapping).flatMap(([name, { expression, optional = false }]) => {
    const path = pathOf(name)
    return expression === undefined ? [] : [{ path: [...path, 'expression'], text: expression, optional }]
  })
  return mapping.scope === undefined ? ofRules : [...ofRules, { path: ['scope'], text: mapping.scope, optional: false }]
}

function pathOf(name: MappedName): readonly string[] {
  if (name === 'status' || name === 'action') return [name]
  return isOwnField(name) ? ['record', name.slice(1)] : ['fields', name]
}

/** A mapping that is bound to a header, or the reasons why it cannot be. */
export type CompiledMapping =
  | {
      readonly ok: true
      /** The observation of a row, or a reject. */
      readonly map: (row: MappableRow) => Observation | Reject
      /** The key that a row states; null if it states none that can be read. */
      readonly keyOf: (row: MappableRow) => string | null
      /** The texts of a row that the mapping reads. */
      readonly cellsOf: (row: Pick<MappableRow, 'values'>) => readonly MappedCell[]
      /** Whether a mapped row is in scope; a reject if that cannot be decided. */
      readonly scopeOf: ReturnType<typeof rowScope>
      /** The group that a row states: null if the cell is blank, undefined if the source has no such column. */
      readonly groupOf: (row: Pick<MappableRow, 'values'>) => string | null | undefined
      /** Whether a row is about something else than employment and is skipped. */
      readonly isIgnored: (row: MappableRow) => boolean
      /** The header that each mapped name is read from; several are joined by commas. */
      readonly columns: Readonly<Partial<Record<MappedName, string>>>
      /** The mapped fields that this header has; all of them for a sparse source, because a later row may state them. */
      readonly mapped: ReadonlySet<FieldName>
      /** One sentence for each mapped name that was expected and that no record has. */
      readonly lacking: readonly string[]
      /** Of fields that are read from several members of a record (`firstOf`, `template`): the members that records have, as `FIELD: MEMBER`. */
      readonly parts: readonly string[]
    }
  /** One sentence for each column that is missing or ambiguous. */
  | { readonly ok: false; readonly missing: readonly string[] }

/** The text of a row for one mapped name; undefined if the row does not state it. */
export type MappedCell = { readonly name: MappedName; readonly column: string; readonly text: string | undefined }

/** A target of a cell: a field, or another part of a row. */
export type MappedName = FieldName | 'identityId' | (typeof columnParts)[number]

type CompileOptions = {
  /** Whether rows may lack any column. A column that is not in the header is then not mapped, and rows without a key are rejected. */
  readonly sparse?: boolean
  /** Set if a member that a record of a sparse source lacks is a blank. */
  readonly missingIsBlank?: MissingIsBlank
  /** The names of details that some rows lack. */
  readonly partialDetails?: readonly string[]
  /** The IANA time zone in which instants become days, unless the row names one. */
  readonly timeZone?: string
  /** What a custom record violates. A row with such a record is rejected. `isPartial`: properties may be missing. */
  readonly faultOf?: (record: IdentityRecord, isPartial: boolean) => ShapeFault | null
}

/**
 * Earlier records of a source. `formerFields`: the mapped names that the last accepted ones had, and the members of names that are read
 * from several; empty if not known.
 */
type MissingIsBlank = { readonly formerFields: readonly string[] }

/** Binds a mapping to the header of one source, once for all its rows. */
export function compileMapping(
  mapping: Mapping,
  headers: readonly string[],
  { sparse = false, missingIsBlank, partialDetails = [], timeZone = 'UTC', faultOf }: CompileOptions = {},
): CompiledMapping {
  const { fields, action, severalRows, onBadCell, statusMeans } = mapping
  const { bind, columns, missing, lacking, parts } = createBinder(mapping, headers, {
    sparse,
    missingIsBlank,
    partialDetails,
  })
  const key = bind('identityId', fields.identityId, keyReader)
  const cells = bindCells(mapping, bind)
  if (key === undefined || missing.length > 0) return { ok: false, missing }

  const isSilent = sparse && missingIsBlank === undefined
  const ofShape = faultOf && ((record: IdentityRecord, isPartial: boolean) => faultOf(record, isPartial || isSilent))
  const isFirstDayGone = fields.separatedAt !== undefined && namesFirstDayGone(fields.separatedAt)
  const rules = { timeZone, onBadCell, statusMeans, isFirstDayGone, ...(ofShape && { faultOf: ofShape }) }
  const order = severalRows === 'reject' ? undefined : severalRows.latest.format
  const map = inTime(withDay(rowMapper({ key, ...cells }, rules), { format: order, timeZone }), timeZone)
  const { texts, own, contractor, leaving, status, rank, zone } = cells
  const mappedCells = [key, ...texts, ...own, contractor, leaving, status, cells.action, rank, zone].filter(
    (cell) => cell !== undefined,
  )
  return {
    ok: true,
    map,
    keyOf: keyOfRow(key, timeZone),
    cellsOf: ({ values }) =>
      mappedCells.map((cell) => ({ name: cell.name, column: cell.header, text: textIn(cell, values) })),
    scopeOf: rowScope(mapping.scope === undefined ? null : headers.length + expressionsOf(mapping).length - 1),
    groupOf: groupReader(mapping.group, headers),
    isIgnored: ignoredRows(cells.action, action),
    columns,
    mapped: new Set(mappedFields(mapping, sparse ? null : columns)),
    lacking,
    parts,
  }
}

/** Binds all cells but the key. The order of the fields is that of the messages about missing columns. */
function bindCells(mapping: Mapping, bind: ReturnType<typeof createBinder>['bind']) {
  const { fields, status, action, severalRows, rowTimeZone } = mapping
  const own = Object.entries(mapping.record ?? {})
    .map(([name, ownRule]) => bind(`.${name}` as const, ownRule, ownReader))
    .filter((cell) => cell !== undefined)
  const texts = [
    bind('email', fields.email, emailReader),
    bind('secondaryEmail', fields.secondaryEmail, emailReader),
    bind('firstName', fields.firstName, textReader),
    bind('lastName', fields.lastName, textReader),
    bind('jobTitle', fields.jobTitle, textReader),
    bind('managerId', fields.managerId, referenceReader),
    bind('managerName', fields.managerName, textReader),
    bind('startedAt', fields.startedAt, startReader),
  ].filter((cell) => cell !== undefined)
  return {
    texts,
    own,
    contractor: bind('isContractor', fields.isContractor, booleanReader),
    leaving: bind('separatedAt', fields.separatedAt, leavingReader),
    status: bind('status', status, statusReader),
    action: bind('action', action, actionReader),
    rank: bind('severalRows', severalRows === 'reject' ? undefined : severalRows.latest, rankReader),
    zone: bind('rowTimeZone', rowTimeZone, timeZoneReader),
  }
}

/** The mapped fields; with `columns`, only those that have a column. */
function mappedFields({ fields, record }: Mapping, columns: Bindings['columns'] | null): FieldName[] {
  const own = Object.keys(record ?? {}).map((name) => `.${name}` as const)
  return [
    ...fieldNames.filter((field) => (columns ?? fields)[field] !== undefined),
    ...own.filter((field) => columns === null || columns[field] !== undefined),
  ]
}

const columnParts = ['status', 'action', 'severalRows', 'rowTimeZone'] as const
const rowParts = [...columnParts, 'statusMeans', 'onBadCell', 'scope', 'group'] as const
type RowPart = (typeof rowParts)[number]

// No row can be understood without these: if a sparse source has no such column, each row is rejected.
const governing: readonly MappedName[] = ['identityId', 'action', 'severalRows']

type RulePatch = string | Readonly<Record<string, unknown>> | null

function mergeRule(known: RulePatch | undefined, override: string | Readonly<Record<string, unknown>>): RulePatch {
  if (typeof override === 'string' || sourceNames.some((source) => source in override)) return override
  return typeof known === 'string' ? { column: known, ...override } : { ...known, ...override }
}

/** The rules with a source for their text, always in the same order. */
function textRules({ fields, record, status, action }: Mapping): readonly (readonly [MappedName, TextRule])[] {
  const named = (['identityId', ...fieldNames] as const).map((name) => [name, fields[name]] as const)
  const own = Object.entries(record ?? {}).map(([name, ownRule]) => [`.${name}`, ownRule] as const)
  return [...named, ...own, ['status', status] as const, ['action', action] as const].flatMap(([name, textRule]) =>
    textRule === undefined ? [] : [[name, textRule] as const],
  )
}

type BinderOptions = Pick<CompileOptions, 'missingIsBlank'> & {
  readonly sparse: boolean
  readonly partialDetails: readonly string[]
}

/** What binding the fields of a mapping has found so far; see `CompiledMapping`. */
type Bindings = {
  readonly columns: Partial<Record<MappedName, string>>
  readonly missing: string[]
  readonly lacking: string[]
  readonly parts: string[]
}

function createBinder(
  mapping: Mapping,
  headers: readonly string[],
  { sparse, missingIsBlank, partialDetails }: BinderOptions,
) {
  const find = columnFinder(headers)
  const derived = textRules(mapping).flatMap(([name, { expression }]) => (expression === undefined ? [] : [name]))
  const bindings: Bindings = { columns: {}, missing: [], lacking: [], parts: [] }

  function bind<N extends MappedName, R extends TextRule, V>(
    name: N,
    textRule: R | undefined,
    readerOf: (rule: R) => CellReader<V>,
  ): Cell<N, V> | undefined {
    if (textRule === undefined) return undefined
    const derivedIndex = headers.length + derived.indexOf(name)
    const shownName = isOwnField(name) ? name.slice(1) : name
    const isKey = name === 'identityId'
    const context = { find, sparse, missingIsBlank: missingIsBlank !== undefined, derivedIndex, isKey }
    const bound = bindText(shownName, textRule, context)
    if (bound === 'unmapped') {
      const isLost = missingIsBlank !== undefined && wasExpected(name, textRule, missingIsBlank)
      if (isLost) return bindLost(name, textRule, { readerOf, headers, bindings })
      if (governing.includes(name)) return nowhere(name, textRule, { readerOf })
      const isInDetail = partialDetails.some((detail) => namesOf(textRule).some((one) => mayNameDetail(one, detail)))
      return isInDetail ? { ...nowhere(name, textRule, { readerOf }), isUnstated: true } : undefined
    }
    if ('missing' in bound) {
      bindings.missing.push(...bound.missing)
      return undefined
    }
    bindings.columns[name] = bound.header
    if (missingIsBlank !== undefined) addParts(name, textRule, { find, headers, bindings, missingIsBlank })
    const boundColumns = bound.indexes.map((index) => headers[index] ?? '')
    const unmatchedNames = namesOf(textRule).filter((one) => find([one]).kind === 'none')
    const columns = { index: bound.indexes[0] ?? -1, columns: boundColumns, unmatchedNames }
    return { name, ...columns, ...bound, read: readerOf(textRule) }
  }

  return { bind, ...bindings }
}

/** Whether records had a member for this name before, or should have one. A name that records never had is not read. */
function wasExpected(name: MappedName, { optional: isOptional }: TextRule, { formerFields }: MissingIsBlank): boolean {
  return formerFields.includes(name) || (formerFields.length === 0 && isOptional !== true)
}

type LostMember<R, V> = {
  readonly readerOf: (rule: R) => CellReader<V>
  readonly headers: readonly string[]
  readonly bindings: Bindings
}

/** Binds a name whose members no record has any more to a blank text: the values are cleared. */
function bindLost<N extends MappedName, R extends TextRule, V>(
  name: N,
  textRule: R,
  { readerOf, headers, bindings }: LostMember<R, V>,
): Cell<N, V> {
  const cell = nowhere(name, textRule, { text: '', readerOf })
  // Once a plan without a required member is accepted, the member is no longer expected. An optional one may come back.
  if (textRule.optional === true) bindings.columns[name] = cell.header
  else bindings.lacking.push(whyLacking(name, textRule, headers))
  return cell
}

type PartsContext = {
  readonly find: ColumnFinder
  readonly headers: readonly string[]
  readonly bindings: Bindings
  readonly missingIsBlank: MissingIsBlank
}

/** Records which members a field is read from. Without one of them, the others may state something else, such as no leaving date. */
function addParts(name: MappedName, textRule: TextRule, { find, headers, bindings, missingIsBlank }: PartsContext) {
  if (textRule.optional === true) return
  for (const names of membersOf(textRule)) {
    const part = `${name}: ${names[0]}`
    if (find(names).kind === 'one') bindings.parts.push(part)
    else if (missingIsBlank.formerFields.includes(part))
      bindings.lacking.push(whyLacking(name, { column: names }, headers))
  }
}

/** The columns that a mapping reads besides those in expressions, each with all of its names. */
export function columnsOf(mapping: Mapping): readonly (readonly string[])[] {
  return textRules(mapping).flatMap(([, textRule]) => {
    const { column } = textRule
    return column === undefined ? membersOf(textRule) : [[column].flat()]
  })
}

/** The members that a text is made of if there are several, each with all of its names. */
function membersOf({ firstOf = [], template }: TextRule): readonly (readonly string[])[] {
  if (template === undefined) return firstOf.map((names) => [names].flat())
  return templateParts(template).flatMap((part) => ('column' in part ? [[part.column]] : []))
}

/** All names of the columns that a text is made of. */
function namesOf(textRule: TextRule): readonly string[] {
  return [...[textRule.column ?? []].flat(), ...membersOf(textRule).flat()]
}

function nowhere<N extends MappedName, R extends TextRule, V>(
  name: N,
  textRule: R,
  { text, readerOf }: { readonly text?: string; readonly readerOf: (rule: R) => CellReader<V> },
): Cell<N, V> {
  const header = [textRule.column ?? name].flat()[0] ?? name
  return {
    name,
    index: -1,
    indexes: [],
    columns: [],
    unmatchedNames: namesOf(textRule),
    header,
    textOf: () => text,
    read: readerOf(textRule),
  }
}

function whyLacking(name: MappedName, { column, firstOf, template }: TextRule, headers: readonly string[]): string {
  const names = [column ?? firstOf ?? [template ?? name]].flat(2)
  const similar = mostSimilar(names, headers)
  const quoted = names.map((one) => `"${one}"`).join(', ')
  const hint =
    similar === null ? 'if HR leaves it out where nobody has it, write optional: true' : `did you mean "${similar}"?`
  return `no record has ${quoted} (${isOwnField(name) ? name.slice(1) : name}), so that everybody would lose it; ${hint}`
}
