import { z } from 'zod'
import {
  booleanReader,
  type CellReader,
  emailReader,
  keyReader,
  leavingReader,
  startReader,
  statusReader,
  textReader,
} from './cells.ts'
import {
  contractorOptions,
  emailOptions,
  leavingOptions,
  rule,
  rulePatch,
  StatusRule,
  startOptions,
  textOptions,
} from './field-rules.ts'
import { type FoundColumn, findColumn } from './headers.ts'
import { type FieldName, fieldNames, type Reject, type Sighting } from './record.ts'
import { type Cell, type MappableRow, rowMapper } from './rows.ts'

/** From which columns of a source a person's fields come, and how their cells are read. */
export const Mapping = z.strictObject({
  fields: z.strictObject({
    identityId: rule({}).describe('The stable key of a person. A row without it is rejected.'),
    email: rule(emailOptions).optional(),
    secondaryEmail: rule(emailOptions).optional(),
    firstName: rule(textOptions).optional(),
    lastName: rule(textOptions).optional(),
    jobTitle: rule(textOptions).optional(),
    managerId: rule(textOptions).optional(),
    managerName: rule(textOptions).optional(),
    startedAt: rule(startOptions).optional().describe('The first day of employment.'),
    separatedAt: rule(leavingOptions).optional().describe('The leaving date.'),
    isContractor: rule(contractorOptions).optional().describe('true: contractor, false: employee, null: not known.'),
  }),
  status: StatusRule.optional(),
})
export type Mapping = z.infer<typeof Mapping>

/** A part of a mapping: a preset, or what a connection says on top of it. null takes a field of the preset away. */
export const MappingPatch = z.strictObject({
  fields: z
    .strictObject({
      identityId: rulePatch({}),
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
  status: StatusRule.nullable().optional(),
})
export type MappingPatch = z.infer<typeof MappingPatch>

/** Words for `Mapping` to parse. */
export type MappingInput = { readonly fields: Readonly<Record<string, unknown>>; readonly status?: unknown }

/**
 * Lays a connection's own words over a preset. A field that names its column replaces the preset's rule, so that the column
 * must be there; one that names none refines the rule. The result is still to be parsed as a `Mapping`.
 */
export function mergePreset(preset: MappingPatch, overrides: MappingPatch): MappingInput {
  const fields = new Map<string, RulePatch | undefined>(Object.entries(preset.fields ?? {}))
  for (const [field, override] of Object.entries(overrides.fields ?? {})) {
    if (override === null) fields.delete(field)
    else if (override !== undefined) fields.set(field, mergeRule(fields.get(field), override))
  }
  const status = overrides.status === undefined ? preset.status : overrides.status
  return { fields: Object.fromEntries(fields), ...(status ? { status } : {}) }
}

export type CompiledMapping =
  | {
      readonly ok: true
      /** What a row says or, where it cannot be trusted, why. */
      readonly map: (row: MappableRow) => Sighting | Reject
      /** The header that each mapped field, and the status, is read from. */
      readonly columns: Readonly<Partial<Record<MappedName, string>>>
      /** The mapped fields that this header holds. */
      readonly mapped: ReadonlySet<FieldName>
    }
  /** One sentence for each column that is missing or ambiguous. */
  | { readonly ok: false; readonly missing: readonly string[] }

export type MappedName = FieldName | 'identityId' | 'status'

/** Binds a mapping to the header of one source, once for all its rows. */
export function compileMapping({ fields, status }: Mapping, headers: readonly string[]): CompiledMapping {
  const { bind, columns, missing } = binder(headers)
  const key = bind('identityId', { ...fields.identityId, optional: false }, keyReader)
  const texts = [
    bind('email', fields.email, emailReader),
    bind('secondaryEmail', fields.secondaryEmail, emailReader),
    bind('firstName', fields.firstName, textReader),
    bind('lastName', fields.lastName, textReader),
    bind('jobTitle', fields.jobTitle, textReader),
    bind('managerId', fields.managerId, textReader),
    bind('managerName', fields.managerName, textReader),
    bind('startedAt', fields.startedAt, startReader),
  ].filter((cell) => cell !== undefined)
  const contractor = bind('isContractor', fields.isContractor, booleanReader)
  const leaving = bind('separatedAt', fields.separatedAt, leavingReader)
  const left = bind('status', status, statusReader)

  if (key === undefined || missing.length > 0) return { ok: false, missing }
  const map = rowMapper({ key, texts, contractor, leaving, status: left })
  return { ok: true, map, columns, mapped: new Set(fieldNames.filter((field) => columns[field] !== undefined)) }
}

type RulePatch = string | Readonly<Record<string, unknown>> | null

function mergeRule(known: RulePatch | undefined, override: string | Readonly<Record<string, unknown>>): RulePatch {
  if (typeof override === 'string' || 'column' in override) return override
  return typeof known === 'string' ? { column: known, ...override } : { ...known, ...override }
}

function binder(headers: readonly string[]) {
  const columns: Partial<Record<MappedName, string>> = {}
  const missing: string[] = []

  function bind<N extends MappedName, O extends { column: string | string[]; optional: boolean }, V>(
    name: N,
    options: O | undefined,
    readerOf: (options: O) => CellReader<V>,
  ): Cell<N, V> | undefined {
    if (options === undefined) return undefined
    const names = [options.column].flat()
    const column = findColumn(names, headers)
    if (column.found === 'one') {
      columns[name] = column.header
      return { name, index: column.index, header: column.header, read: readerOf(options) }
    }
    if (column.found === 'several' || !options.optional) missing.push(whyMissing(name, names, column))
    return undefined
  }

  return { bind, columns, missing }
}

function whyMissing(
  name: MappedName,
  names: readonly string[],
  column: Exclude<FoundColumn, { found: 'one' }>,
): string {
  if (column.found === 'several') {
    return `${quoted(column.headers)} (${name}) read the same in the header; rename or drop one of the columns`
  }
  const absent =
    names.length === 1
      ? `column ${quoted(names)} (${name}) is not in the header`
      : `none of the columns ${quoted(names)} (${name}) is in the header`
  return column.similar === null ? absent : `${absent}; did you mean "${column.similar}"?`
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ')
}
