import { columnFinder, normaliseHeader } from '../../identity/mapping/headers.ts'
import { columnsOf, compileMapping, expressionsOf, type Mapping } from '../../identity/mapping/mapping.ts'
import { type FlatRecord, flattenRecord, type JsonValue, rowReader } from '../json/cells.ts'
import { badRequest, quoted } from './errors.ts'
import { isScimObject, type ScimObject, type ScimResource, type ScimValue } from './resource.ts'
import { attributesOf, enterpriseSchema, userSchema } from './schemas.ts'

/** A user as the mapping reads it. */
export type ScimPerson = {
  /** The columns of the user, as an object of JSON. What the user lacks is null, so that it is cleared. */
  readonly record: ScimObject
  /** The key of the person; null if the user lacks it. */
  readonly identityId: string | null
}

/** What is read of users. */
type ColumnsRead = {
  readonly mapping: Mapping
  /** The columns that the expressions of the mapping name. */
  readonly inExpressions: readonly string[]
}

/** What the mapping reads of a user besides its own attributes. */
type RelatedFacts = {
  /** The key of the person who is the manager; null: the manager is not known; undefined: the value that the sender wrote stays. */
  readonly managerKey: string | null | undefined
  /** The names of the user's groups; null if the mapping does not read them. */
  readonly groups: readonly string[] | null
}

/** Whether a mapping reads the groups of a user. */
export function readsGroups(mapping: Mapping): boolean {
  const expressions = expressionsOf(mapping).map(({ text }) => text)
  return [...columnsOf(mapping).flat(), ...expressions].some((text) => /\bgroups\b/i.test(text))
}

/** Where a user names its manager. */
export const managerPath = [enterpriseSchema, 'manager', 'value'] as const

/** The ID by which a user names its manager; null if there is none. */
export function managerOf(resource: ScimResource): string | null {
  const enterprise = resource[enterpriseSchema]
  const manager = isScimObject(enterprise) ? enterprise.manager : undefined
  return isScimObject(manager) && typeof manager.value === 'string' ? manager.value : null
}

/** Whether a user is active. A user that does not say is. */
export function isActive(resource: ScimResource): boolean {
  return resource.active !== false
}

/**
 * The person of a user, with its ID. Lists begin with the primary value. Throws a SCIM error for a user that no row can hold, such as one with
 * too many values.
 */
export function toPerson(
  { mapping, inExpressions }: ColumnsRead,
  resource: ScimResource,
  { id, managerKey, groups }: RelatedFacts & { readonly id: string },
): ScimPerson {
  const core = { ...fillAttributes(userSchema, primaryFirst(resource)), id, active: isActive(resource) }
  const whole = {
    ...core,
    ...(groups !== null && { groups: groups.join(', ') }),
    [enterpriseSchema]: enterpriseOf(resource, managerKey),
  }
  const flat = flattenRecord(asTexts(whole))
  if (flat.fault) throw badRequest('invalidValue', `the user cannot be stored: ${flat.fault.reason}`)
  const record = { ...whole, ...lackingColumns({ mapping, inExpressions }, flat) }
  return { record, identityId: keyOf(mapping, record) }
}

/**
 * Refuses an active user without a key: it would be answered with 2xx, and be nobody. The standard has this error for a value that is
 * required. One that is no longer active is taken, so that no departure depends on it.
 */
export function requireKey(mapping: Mapping, { identityId }: ScimPerson): void {
  if (identityId !== null) return
  const names = columnsOf(ofKey(mapping)).flat().map(quoted)
  const read = names.length === 0 ? '' : `, which is read from ${names.join(', ')}`
  throw badRequest(
    'invalidValue',
    `the user has no key${read}: have it sent for everybody, or have Rollcall map another attribute as identityId`,
  )
}

/** The record of a person who is no longer active. */
export function asInactive(record: ScimObject): ScimObject {
  return { ...record, active: false }
}

/**
 * The record with this key, which is in use for the person although the mapping reads another one from the user now; null if no cell can
 * state it, as where the key is made from several columns.
 */
export function withKey(mapping: Mapping, record: ScimObject, key: string): ScimObject | null {
  if (keyOf(mapping, record) === key) return record
  const { column, firstOf = [] } = mapping.fields.identityId
  const [name] = [column ?? firstOf[0] ?? []].flat()
  if (name === undefined) return null
  const cells = Object.fromEntries(flattenRecord(asTexts(record)).cells)
  const header = Object.keys(cells).find((one) => normaliseHeader(one) === normaliseHeader(name)) ?? name
  const stated = { ...cells, [header]: key }
  return keyOf(mapping, stated) === key ? stated : null
}

/** The key that the attributes of a user state; null if they state none. */
export function statedKey(mapping: Mapping, resource: ScimResource): string | null {
  const core = fillAttributes(userSchema, primaryFirst(resource))
  return keyOf(mapping, { ...core, [enterpriseSchema]: enterpriseOf(resource, undefined) })
}

/** The key of a person. Only the key is mapped: the results of expressions are not known here. */
function keyOf(mapping: Mapping, record: ScimObject): string | null {
  const flat = flattenRecord(asTexts(record))
  const headers = [...flat.cells.keys()]
  const compiled = compileMapping(ofKey(mapping), headers, { sparse: true })
  if (!compiled.ok) return null
  return compiled.map(rowReader(headers)(flat, { event: '', line: 1 })).identityId
}

function ofKey({ fields: { identityId }, statusMeans, severalRows, onBadCell }: Mapping): Mapping {
  return { fields: { identityId }, statusMeans, severalRows, onBadCell }
}

/** Blank cells for the columns that the mapping reads and the user lacks: an absent cell would keep what is known. */
function lackingColumns({ mapping, inExpressions }: ColumnsRead, { cells, groups }: FlatRecord): ScimObject {
  const find = columnFinder([...cells.keys()])
  const ofExpressions = inExpressions.filter((name) => !groups.has(name))
  const read = [...columnsOf(mapping), ...ofExpressions.map((name) => [name])]
  const ambiguous = read.find((names) => find(names).kind === 'several')
  if (ambiguous !== undefined)
    throw badRequest('invalidValue', `the user has several attributes that could be ${quoted(ambiguous.join(', '))}`)
  const lacking = read.filter((names) => find(names).kind === 'none')
  return Object.fromEntries(lacking.map(([name = '']) => [name, null]))
}

function enterpriseOf(resource: ScimResource, managerKey: string | null | undefined): ScimObject {
  const own = resource[enterpriseSchema]
  const enterprise = fillAttributes(enterpriseSchema, isScimObject(own) ? own : {})
  const { manager } = enterprise
  if (managerKey === undefined || !isScimObject(manager)) return enterprise
  return { ...enterprise, manager: { ...manager, value: managerKey } }
}

/** The stated attributes, and null for those with one value that are not assigned. */
function fillAttributes(schema: string, stated: ScimObject): ScimObject {
  const single = (attributesOf(schema) ?? []).filter((one) => !one.multiValued && one.mutability !== 'readOnly')
  const assigned = single.map(({ name, subAttributes }): [string, ScimValue] => {
    const value = stated[name]
    if (subAttributes.length === 0) return [name, value ?? null]
    const members = Object.fromEntries(subAttributes.map((sub) => [sub.name, null]))
    return [name, { ...members, ...(isScimObject(value) ? value : {}) }]
  })
  return { ...stated, ...Object.fromEntries(assigned) }
}

/** Of the values of an attribute, the primary one is first, and otherwise that of work: a private address is not the person's. */
function primaryFirst(resource: ScimResource): ScimObject {
  return Object.fromEntries(
    Object.entries(resource).map(([name, value]): [string, ScimValue] => {
      if (!Array.isArray(value)) return [name, value]
      const values = value as readonly ScimValue[]
      const rankOf = (one: ScimValue) =>
        isScimObject(one) && one.primary === true ? 0 : isScimObject(one) && one.type === 'work' ? 1 : 2
      return [name, values.toSorted((a, b) => rankOf(a) - rankOf(b))]
    }),
  )
}

/** The value as events are read: numbers are texts. */
function asTexts(value: ScimValue): JsonValue {
  if (typeof value === 'number') return String(value)
  if (Array.isArray(value)) return (value as readonly ScimValue[]).map(asTexts)
  if (!isScimObject(value)) return value as null | boolean | string
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, asTexts(member)]))
}
