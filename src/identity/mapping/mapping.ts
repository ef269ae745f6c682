import { z } from 'zod'
import {
  type FieldName,
  fieldNames,
  type IdentityRecord,
  isOwnField,
  type Reject,
  type Observation,
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
import { columnFinder, mostSimilar } from './headers.ts'
import { ownReader } from './own-cells.ts'
import { inTime, withDay } from './row-timing.ts'
import { type Cell, ignoring, type MappableRow, rowMapper, scoping, textIn } from './rows.ts'
import { templateParts } from './template.ts'
import { bindText } from './text-of.ts'
import { sourceNames, type TextRule } from './text-rules.ts'

/** From which columns of a source a person's fields come, and how their cells are read. */
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
})
export type Mapping = z.infer<typeof Mapping>

/** A part of a mapping: a preset, or what a connection says on top of it. null takes a field of the preset away. */
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
})
export type MappingPatch = z.infer<typeof MappingPatch>

/** Words for `Mapping` to parse. */
export type MappingInput = {
  readonly fields: Readonly<Record<string, unknown>>
  readonly record?: Readonly<Record<string, unknown>>
} & {
  readonly [P in RowPart]?: unknown
}

/**
 * Lays a connection's own words over a preset. A field that says where its text comes from replaces the preset's rule, so that the
 * column must be there; one that does not refines the rule. The result is still to be parsed as a `Mapping`.
 */
export function mergePreset(preset: MappingPatch, overrides: MappingPatch): MappingInput {
  const fields = merged(preset.fields, overrides.fields)
  const record = merged(preset.record, overrides.record)
  const parts = rowParts.flatMap((part) => {
    const words = overrides[part] === undefined ? preset[part] : overrides[part]
    return words === undefined || words === null ? [] : [[part, words]]
  })
  return {
    fields: Object.fromEntries(fields),
    ...(record.size > 0 && { record: Object.fromEntries(record) }),
    ...Object.fromEntries(parts),
  }
}

type Rules = Readonly<Record<string, RulePatch | undefined>>

function merged(preset: Rules | undefined, overrides: Rules | undefined): Map<string, RulePatch | undefined> {
  const rules = new Map(Object.entries(preset ?? {}))
  for (const [name, override] of Object.entries(overrides ?? {})) {
    if (override === null) rules.delete(name)
    else if (override !== undefined) rules.set(name, mergeRule(rules.get(name), override))
  }
  return rules
}

/** A JSONata expression of a mapping; `optional` where the source may lack the columns that it reads. */
export type MappedExpression = { readonly path: readonly string[]; readonly text: string; readonly optional: boolean }

/** The expressions of a mapping. Their results stand in this order behind the cells of a row. */
export function expressionsOf(mapping: Mapping): readonly MappedExpression[] {
  const ofRules = textRules(mapping).flatMap(([name, { expression, optional = false }]) => {
    const place = pathOf(name)
    return expression === undefined ? [] : [{ path: [...place, 'expression'], text: expression, optional }]
  })
  return mapping.scope === undefined ? ofRules : [...ofRules, { path: ['scope'], text: mapping.scope, optional: false }]
}

function pathOf(name: MappedName): readonly string[] {
  if (name === 'status' || name === 'action') return [name]
  return isOwnField(name) ? ['record', name.slice(1)] : ['fields', name]
}

/** A mapping that is bound to a header, or why it cannot be. */
export type CompiledMapping =
  | {
      readonly ok: true
      /** What a row says or, where it cannot be trusted, why. */
      readonly map: (row: MappableRow) => Observation | Reject
      /** The texts of a row that the mapping reads. */
      readonly cellsOf: (row: Pick<MappableRow, 'values'>) => readonly MappedCell[]
      /** Whether a row is in scope, given what was told of it; a reject where that cannot be said. */
      readonly scopeOf: ReturnType<typeof scoping>
      /** Whether a row is about something else than people's employment, and is to be passed over. */
      readonly isIgnored: (row: MappableRow) => boolean
      /** The header that each mapped field, and the status, is read from; several joined by commas. */
      readonly columns: Readonly<Partial<Record<MappedName, string>>>
      /** The mapped fields that this header holds; of a sparse source all, since a later row may speak of them. */
      readonly mapped: ReadonlySet<FieldName>
      /** One sentence for each mapped name that no record has, though it was to be expected. */
      readonly lacking: readonly string[]
      /** Which of several members the records have that one field is read from, as `formerFields` names them. */
      readonly parts: readonly string[]
    }
  /** One sentence for each column that is missing or ambiguous. */
  | { readonly ok: false; readonly missing: readonly string[] }

/** The text of a row for one mapped name; undefined where the row does not speak of it. */
export type MappedCell = { readonly name: MappedName; readonly column: string; readonly text: string | undefined }

/** What a cell may be mapped to: a field, or another part of a row. */
export type MappedName = FieldName | 'identityId' | (typeof columnParts)[number]

type CompileOptions = {
  /** Whether rows may lack any column: one that is not in the header is then not mapped, and rows without a key are rejected. */
  readonly sparse?: boolean
  /** Set where a member that a record of a sparse source lacks is a blank. */
  readonly missingIsBlank?: MissingIsBlank
  /** The IANA time zone in which instants become days, where the row names none. */
  readonly timeZone?: string
  /** What a record of one's own shape violates; a row that gives such a one is rejected. `isPartial`: it may lack properties. */
  readonly faultOf?: (record: IdentityRecord, isPartial: boolean) => ShapeFault | null
}

/**
 * What is known of earlier records of a source. `formerFields`: the mapped names that the last accepted ones had, and the parts of those
 * that are read from several members; empty if not known.
 */
type MissingIsBlank = { readonly formerFields: readonly string[] }

/** Binds a mapping to the header of one source, once for all its rows. */
export function compileMapping(
  mapping: Mapping,
  headers: readonly string[],
  { sparse = false, missingIsBlank, timeZone = 'UTC', faultOf }: CompileOptions = {},
): CompiledMapping {
  const { fields, status, action, severalRows, rowTimeZone, onBadCell, statusMeans } = mapping
  const { bind, columns, missing, lacking, parts } = binder(mapping, headers, { sparse, missingIsBlank })
  const key = bind('identityId', fields.identityId, keyReader)
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
  const cells = {
    texts,
    own,
    contractor: bind('isContractor', fields.isContractor, booleanReader),
    leaving: bind('separatedAt', fields.separatedAt, leavingReader),
    status: bind('status', status, statusReader),
    action: bind('action', action, actionReader),
    rank: bind('severalRows', severalRows === 'reject' ? undefined : severalRows.latest, rankReader),
    zone: bind('rowTimeZone', rowTimeZone, timeZoneReader),
  }

  if (key === undefined || missing.length > 0) return { ok: false, missing }
  const mapped = [
    ...fieldNames.filter((field) => (sparse ? fields[field] : columns[field]) !== undefined),
    ...Object.keys(mapping.record ?? {})
      .map((name) => `.${name}` as const)
      .filter((field) => sparse || columns[field] !== undefined),
  ]
  const isSilent = sparse && missingIsBlank === undefined
  const ofShape = faultOf && ((record: IdentityRecord, isPartial: boolean) => faultOf(record, isPartial || isSilent))
  const isFirstDayGone = fields.separatedAt !== undefined && namesFirstDayGone(fields.separatedAt)
  const rules = { timeZone, onBadCell, statusMeans, isFirstDayGone, ...(ofShape && { faultOf: ofShape }) }
  const order = severalRows === 'reject' ? undefined : severalRows.latest.format
  const map = inTime(withDay(rowMapper({ key, ...cells }, rules), { format: order, timeZone }), timeZone)
  const { contractor, leaving, rank, zone } = cells
  const places = [key, ...texts, ...own, contractor, leaving, cells.status, cells.action, rank, zone].filter(
    (place) => place !== undefined,
  )
  const cellsOf = ({ values }: Pick<MappableRow, 'values'>) =>
    places.map((place) => ({ name: place.name, column: place.header, text: textIn(place, values) }))
  const scopeOf = scoping(mapping.scope === undefined ? null : headers.length + expressionsOf(mapping).length - 1)
  const isIgnored = ignoring(cells.action, action)
  return { ok: true, map, scopeOf, cellsOf, isIgnored, columns, mapped: new Set(mapped), lacking, parts }
}

const columnParts = ['status', 'action', 'severalRows', 'rowTimeZone'] as const
const rowParts = [...columnParts, 'statusMeans', 'onBadCell', 'scope'] as const
type RowPart = (typeof rowParts)[number]

// Without what they say a row cannot be understood: where a sparse source has no such column, each row is rejected for it.
const governing: readonly MappedName[] = ['identityId', 'action', 'severalRows']

type RulePatch = string | Readonly<Record<string, unknown>> | null

function mergeRule(known: RulePatch | undefined, override: string | Readonly<Record<string, unknown>>): RulePatch {
  if (typeof override === 'string' || sourceNames.some((source) => source in override)) return override
  return typeof known === 'string' ? { column: known, ...override } : { ...known, ...override }
}

/** What takes its text from anywhere in a row, always in the same order. */
function textRules({ fields, record, status, action }: Mapping): readonly (readonly [MappedName, TextRule])[] {
  const named = (['identityId', ...fieldNames] as const).map((name) => [name, fields[name]] as const)
  const own = Object.entries(record ?? {}).map(([name, ownRule]) => [`.${name}`, ownRule] as const)
  return [...named, ...own, ['status', status] as const, ['action', action] as const].flatMap(([name, textRule]) =>
    textRule === undefined ? [] : [[name, textRule] as const],
  )
}

function binder(
  mapping: Mapping,
  headers: readonly string[],
  { sparse, missingIsBlank }: Pick<CompileOptions, 'missingIsBlank'> & { readonly sparse: boolean },
) {
  const find = columnFinder(headers)
  const derived = textRules(mapping).flatMap(([name, { expression }]) => (expression === undefined ? [] : [name]))
  const columns: Partial<Record<MappedName, string>> = {}
  const missing: string[] = []
  const lacking: string[] = []
  const parts: string[] = []

  /** A name whose members no record has: what they held before is over. One that records never had is not read. */
  function bindLacking<N extends MappedName, R extends TextRule, V>(
    name: N,
    textRule: R,
    readerOf: (rule: R) => CellReader<V>,
  ): Cell<N, V> | undefined {
    const { formerFields = [] } = missingIsBlank ?? {}
    const isOptional = textRule.optional === true
    const isExpected = formerFields.includes(name) || (formerFields.length === 0 && !isOptional)
    if (missingIsBlank === undefined || !isExpected) return undefined
    const cell = nowhere(name, textRule, { text: '', readerOf })
    // An accepted plan without a required member is the end of it. An optional one may be back, and be left out again.
    if (isOptional) columns[name] = cell.header
    else lacking.push(whyLacking(name, textRule, headers))
    return cell
  }

  /** Without one of its members a field is read from the others alone, which may take a leaving date back. */
  function addParts(name: MappedName, textRule: TextRule): void {
    if (missingIsBlank === undefined || textRule.optional === true) return
    for (const names of membersOf(textRule)) {
      const part = `${name}: ${names[0]}`
      if (find(names).found === 'one') parts.push(part)
      else if (missingIsBlank.formerFields.includes(part)) lacking.push(whyLacking(name, { column: names }, headers))
    }
  }

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
    const place = bindText(shownName, textRule, context)
    if (place === 'unmapped') {
      const lacked = bindLacking(name, textRule, readerOf)
      return lacked ?? (governing.includes(name) ? nowhere(name, textRule, { readerOf }) : undefined)
    }
    if ('missing' in place) {
      missing.push(...place.missing)
      return undefined
    }
    columns[name] = place.header
    addParts(name, textRule)
    return { name, index: place.indexes[0] ?? -1, ...place, read: readerOf(textRule) }
  }

  return { bind, columns, missing, lacking, parts }
}

/** The members that a text is made of, if there are several, each with all of its names. */
function membersOf({ firstOf = [], template }: TextRule): readonly (readonly string[])[] {
  if (template === undefined) return firstOf.map((names) => [names].flat())
  return templateParts(template).flatMap((part) => ('column' in part ? [[part.column]] : []))
}

function nowhere<N extends MappedName, R extends TextRule, V>(
  name: N,
  textRule: R,
  { text, readerOf }: { readonly text?: string; readonly readerOf: (rule: R) => CellReader<V> },
): Cell<N, V> {
  const header = [textRule.column ?? name].flat()[0] ?? name
  return { name, index: -1, indexes: [], header, textOf: () => text, read: readerOf(textRule) }
}

function whyLacking(name: MappedName, { column, firstOf, template }: TextRule, headers: readonly string[]): string {
  const names = [column ?? firstOf ?? [template ?? name]].flat(2)
  const similar = mostSimilar(names, headers)
  const quoted = names.map((one) => `"${one}"`).join(', ')
  const hint =
    similar === null ? 'if HR leaves it out where nobody has it, write optional: true' : `did you mean "${similar}"?`
  return `no record has ${quoted} (${isOwnField(name) ? name.slice(1) : name}), so that everybody would lose it; ${hint}`
}
