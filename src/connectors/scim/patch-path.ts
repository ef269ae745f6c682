import { type Filter, parse } from 'scim2-parse-filter'
import { badRequest, quoted } from './errors.ts'
import { coreAttributes, refuseForbidden, unknownAttribute } from './resource.ts'
import {
  type Attribute,
  attributesOf,
  coreSchemas,
  enterpriseSchema,
  findAttribute,
  findSchema,
  type ScimKind,
} from './schemas.ts'

/** What an operation of a patch is about. */
export type PatchTarget = {
  /** The URN of the extension; null for an attribute of the core. */
  readonly extension: string | null
  readonly name: string
  /** Null: an attribute of an extension that no schema describes; an unknown attribute of the core is refused. */
  readonly attribute: Attribute | null
  readonly filter: Filter | null
  readonly subAttribute: string | null
}

const maxFilterCharacters = 2000
const pathPattern = /^(?:(urn:[^[\]"]+):)?([^\s:.[\]"]+)(?:\[(.+)\])?(?:\.([^\s.[\]"]+))?$/i

/** Reads the path of an operation (RFC 7644, section 3.5.2). Names get the spelling of the schema. */
export function readPath(kind: ScimKind, path: string): PatchTarget {
  const [, urn, name, filterText, sub] = pathPattern.exec(path.trim()) ?? []
  if (name === undefined) throw badRequest('invalidPath', `the path ${quoted(path)} cannot be read`)
  const schema = urn === undefined ? coreSchemas[kind] : findSchema(urn)
  const extension = schema === coreSchemas[kind] ? null : schema
  const attributes = attributesIn(kind, extension)
  if (attributes === null) return targetWithoutSchema({ extension, name, sub, filterText })

  const attribute = findAttribute(attributes, name)
  const holder = extension === null ? kind : 'the enterprise extension'
  if (attribute === undefined) throw badRequest('invalidPath', unknownAttribute(name, kind, holder))
  const subAttribute = sub === undefined ? undefined : findAttribute(attribute.subAttributes, sub)
  if (sub !== undefined && subAttribute === undefined)
    throw badRequest('invalidPath', unknownAttribute(`${attribute.name}.${sub}`, kind, holder))
  if (filterText !== undefined && !attribute.multiValued)
    throw badRequest('invalidPath', `${quoted(attribute.name)} has a single value, so it takes no filter`)
  const filter = filterText === undefined ? null : normalizeFilter(readFilterText(filterText), attribute.subAttributes)
  return { extension, name: attribute.name, attribute, filter, subAttribute: subAttribute?.name ?? null }
}

/** Parses a filter. Throws a SCIM error. */
export function readFilterText(text: string): Filter {
  const help = 'expected one such as userName eq "ana"'
  // The parser takes exponential time for line breaks in a text without its closing quote: control characters and long filters are refused first.
  if (text.length > maxFilterCharacters || /\p{Cc}/u.test(text))
    throw badRequest('invalidFilter', `the filter is too long, or holds a control character: ${help}`)
  try {
    return parse(text)
  } catch {
    throw badRequest('invalidFilter', `the filter ${quoted(text)} cannot be read: ${help}`)
  }
}

/** Replaces names by the schema's spelling, and the texts `true` and `false` of boolean attributes by booleans. Throws for an unknown attribute. */
export function normalizeFilter(filter: Filter, attributes: readonly Attribute[]): Filter {
  switch (filter.op) {
    case 'and':
    case 'or':
      return { ...filter, filters: filter.filters.map((one) => normalizeFilter(one, attributes)) } as Filter
    case 'not':
      return { ...filter, filter: normalizeFilter(filter.filter, attributes) } as Filter
    case '[]': {
      const attribute = requireAttribute(filter.attrPath, attributes)
      return {
        ...filter,
        attrPath: attribute.name,
        valFilter: normalizeFilter(filter.valFilter, attribute.subAttributes),
      } as Filter
    }
    default: {
      const { path, attribute } = comparedAttribute(filter.attrPath, attributes)
      if (!('compValue' in filter)) return { ...filter, attrPath: path }
      const text = String(filter.compValue).toLowerCase()
      const isBoolean = attribute.type === 'boolean' && (text === 'true' || text === 'false')
      return { ...filter, attrPath: path, compValue: isBoolean ? text === 'true' : filter.compValue }
    }
  }
}

function comparedAttribute(path: string, attributes: readonly Attribute[]) {
  const [name = '', sub, ...rest] = path.split('.')
  const attribute = requireAttribute(name, attributes)
  if (attribute.type !== 'complex') {
    if (sub !== undefined) throw unknownInFilter(path)
    return { path: attribute.name, attribute }
  }
  // A complex attribute is compared by its sub-attribute `value` (RFC 7643, section 2.4).
  const subAttribute = findAttribute(attribute.subAttributes, sub ?? 'value')
  if (subAttribute === undefined || rest.length > 0) throw unknownInFilter(path)
  return { path: `${attribute.name}.${subAttribute.name}`, attribute: subAttribute }
}

function requireAttribute(name: string, attributes: readonly Attribute[]): Attribute {
  const attribute = findAttribute(attributes, name)
  if (attribute === undefined) throw unknownInFilter(name)
  return attribute
}

function unknownInFilter(name: string) {
  return badRequest('invalidFilter', `the filter names ${quoted(name)}, which is no attribute there`)
}

function attributesIn(kind: ScimKind, extension: string | null): readonly Attribute[] | null {
  if (extension === null) return coreAttributes(kind)
  return extension === enterpriseSchema && kind === 'User' ? attributesOf(extension) : null
}

type OpenPath = {
  readonly extension: string | null
  readonly name: string
  readonly sub: string | undefined
  readonly filterText: string | undefined
}

/** A target in an extension that no schema describes. */
function targetWithoutSchema({ extension, name, sub, filterText }: OpenPath): PatchTarget {
  refuseForbidden(name)
  if (sub !== undefined) refuseForbidden(sub)
  const filter = filterText === undefined ? null : readFilterText(filterText)
  return { extension, name, attribute: null, filter, subAttribute: sub ?? null }
}
