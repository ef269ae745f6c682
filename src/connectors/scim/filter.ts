import { filter as compileFilter, type Filter } from 'scim2-parse-filter'
import { badRequest } from './errors.ts'
import { normalizeFilter, readFilterText } from './patch-path.ts'
import { coreAttributes, isScimObject, type ScimValue } from './resource.ts'
import {
  type Attribute,
  attributesOf,
  coreSchemas,
  enterpriseSchema,
  findAttribute,
  findSchema,
  type ScimKind,
  userSchema,
} from './schemas.ts'

/** The attributes by which resources are found. */
type FilterKey = 'id' | 'externalId' | 'name'

/** A filter of a list: the one value by which resources are looked up, and whether one of them passes the rest. */
type ListFilter = {
  readonly by: FilterKey
  readonly value: string
  readonly matches: (resource: ScimValue) => boolean
}

const keysByAttribute: Readonly<Record<ScimKind, Readonly<Record<string, FilterKey>>>> = {
  User: { id: 'id', externalid: 'externalId', username: 'name' },
  Group: { id: 'id', externalid: 'externalId', displayname: 'name' },
}

/** Reads the filter of a list: one of the keys with `eq`, alone or combined with other conditions by `and`. Throws a SCIM error. */
export function readListFilter(kind: ScimKind, text: string): ListFilter {
  const parsed = readFilterText(text)
  const conditions = parsed.op === 'and' ? parsed.filters : [parsed]
  for (const condition of conditions) {
    if (condition.op !== 'eq' || !('compValue' in condition)) continue
    const by = keysByAttribute[kind][withoutSchema(kind, condition.attrPath).toLowerCase()]
    if (by === undefined || typeof condition.compValue !== 'string') continue
    const others = conditions.filter((one) => one !== condition).map((one) => listCondition(kind, one))
    return { by, value: condition.compValue, matches: (resource) => others.every((matches) => matches(resource)) }
  }
  const keys = kind === 'User' ? 'userName, externalId or id' : 'displayName, externalId or id'
  throw badRequest('invalidFilter', `this filter is not supported: compare ${keys} with eq, and add conditions by and`)
}

/** Whether values pass a filter. Texts are compared without regard to case, as most attributes are. */
export function matcher(filter: Filter): (value: ScimValue) => boolean {
  const matches = compileFilter(foldFilter(filter))
  return (value) => matches(foldValue(value))
}

function listCondition(kind: ScimKind, condition: Filter): (resource: ScimValue) => boolean {
  if (!('attrPath' in condition)) {
    throw badRequest('invalidFilter', 'this filter is not supported: combine conditions by and only')
  }
  const { attrPath } = condition
  const at = attrPath.lastIndexOf(':')
  const schema = at === -1 ? coreSchemas[kind] : findSchema(attrPath.slice(0, at))
  const isEnterprise = kind === 'User' && (schema === enterpriseSchema || (at === -1 && isOfEnterprise(attrPath)))
  const attributes = isEnterprise ? attributesOf(enterpriseSchema) : conditionAttributes(kind)
  const known = normalizeFilter({ ...condition, attrPath: attrPath.slice(at + 1) }, attributes ?? [])
  const matches = matcher(known)
  return (resource) => matches(isEnterprise && isScimObject(resource) ? (resource[enterpriseSchema] ?? {}) : resource)
}

/** Whether only the enterprise extension has an attribute: Microsoft Entra names the manager without the URN. */
function isOfEnterprise(path: string): boolean {
  const [name = ''] = path.split('.')
  const isIn = (schema: string) => findAttribute(attributesOf(schema) ?? [], name) !== undefined
  return isIn(enterpriseSchema) && !isIn(userSchema)
}

function conditionAttributes(kind: ScimKind): readonly Attribute[] {
  const text = { type: 'string', multiValued: false, caseExact: true, required: false, subAttributes: [] }
  return [
    ...coreAttributes(kind).filter(({ mutability }) => mutability !== 'readOnly'),
    { ...text, name: 'id', mutability: 'readOnly' },
  ]
}

function withoutSchema(kind: ScimKind, path: string): string {
  const prefix = `${coreSchemas[kind]}:`.toLowerCase()
  return path.toLowerCase().startsWith(prefix) ? path.slice(prefix.length) : path
}

function foldFilter(filter: Filter): Filter {
  switch (filter.op) {
    case 'and':
    case 'or':
      return { ...filter, filters: filter.filters.map(foldFilter) } as Filter
    case 'not':
      return { ...filter, filter: foldFilter(filter.filter) } as Filter
    case '[]':
      return { ...filter, valFilter: foldFilter(filter.valFilter) } as Filter
    default:
      if (!('compValue' in filter) || typeof filter.compValue !== 'string') return filter
      return { ...filter, compValue: filter.compValue.toLowerCase() }
  }
}

function foldValue(value: ScimValue): ScimValue {
  if (typeof value === 'string') return value.toLowerCase()
  if (Array.isArray(value)) return (value as readonly ScimValue[]).map(foldValue)
  if (!isScimObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, foldValue(member)]))
}
