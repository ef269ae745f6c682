import { Failure } from '../../errors.ts'
import { readJson } from '../json/cells.ts'
import { badRequest, quoted } from './errors.ts'
import {
  type Attribute,
  attributesOf,
  coreSchemas,
  enterpriseSchema,
  findAttribute,
  findSchema,
  isExtensionName,
  type ScimKind,
} from './schemas.ts'

/** A value of JSON as a sender writes it. */
export type ScimValue = null | boolean | number | string | readonly ScimValue[] | ScimObject
/** An object of JSON. */
export type ScimObject = { readonly [name: string]: ScimValue }

/**
 * What a sender wrote of a user or a group, under the names of the standard: attributes of the schema, and extensions by their URN. Values that
 * are not assigned are left out. Without `id`, `meta` and `schemas`.
 */
export type ScimResource = ScimObject

/** PostgreSQL indexes at most 2,700 bytes: these characters are 1,800 at most. */
const maxNameCharacters = 600
/** Maximum number of values of one attribute, besides the members of a group. */
export const maxValues = 1000
const forbiddenNames: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** Reads a body as strict JSON in UTF-8. Throws a SCIM error. */
export function readBody(bytes: Uint8Array): ScimObject {
  if (bytes.length === 0) throw badRequest('invalidSyntax', 'the request has no body')
  try {
    readJson(bytes, { name: 'the body' })
  } catch (error) {
    if (error instanceof Failure) throw badRequest('invalidSyntax', error.message)
    throw error
  }
  // Parsed once more, because numbers are numbers in SCIM. A number that a double cannot hold stays the text that was sent.
  const value: ScimValue = JSON.parse(Buffer.from(bytes).toString('utf8'), readMember)
  if (!isScimObject(value)) throw badRequest('invalidSyntax', 'the body is no JSON object')
  return value
}

/**
 * Reads what a sender states of a resource. Attributes that the schema does not have are ignored, so that none of them keeps a deactivation from
 * being stored. Throws a SCIM error for values of another type.
 */
export function readResource(kind: ScimKind, stated: ScimObject): ScimResource {
  const core = coreAttributes(kind)
  const resource: Record<string, ScimValue> = {}
  for (const [name, value] of Object.entries(stated)) {
    if (!isExtensionName(name)) addAttribute(resource, core, { name, value })
    else if (findSchema(name) === coreSchemas[kind]) addAll(resource, core, { name, value })
    else addExtension(resource, kind, { name, value })
  }
  return withOnePrimary(resource)
}

/** The attributes that every resource of a kind may have outside extensions. */
export function coreAttributes(kind: ScimKind): readonly Attribute[] {
  return attributesOf(coreSchemas[kind]) ?? []
}

/** Refuses a resource without what its kind needs. Returns its name: the userName of a user, the displayName of a group. */
export function requireName(kind: ScimKind, resource: ScimResource): string {
  const attribute = kind === 'User' ? 'userName' : 'displayName'
  const name = resource[attribute]
  if (typeof name !== 'string') throw badRequest('invalidValue', `${attribute} is missing: every ${kind} needs one`)
  for (const text of [name, resource.externalId])
    if (typeof text === 'string') requireShort(text, `${attribute} or externalId`)
  return name
}

/** Refuses a text that no index of the store holds. */
export function requireShort(text: string, name: string): void {
  if (text.length > maxNameCharacters)
    throw badRequest('invalidValue', `${name} is longer than ${maxNameCharacters} characters`)
}

type ReadOptions = {
  /** Whether sub-attributes that the schema does not have are ignored, in place of refused. */
  readonly ignoresUnknown?: boolean
}

/** The value as the attribute has it; null if it is not assigned. Throws a SCIM error for a value of another type. */
export function readValue(attribute: Attribute, value: ScimValue, options: ReadOptions = {}): ScimValue {
  if (!attribute.multiValued) return readSingle(attribute, value, options)
  const values = Array.isArray(value) ? (value as readonly ScimValue[]) : [value]
  if (values.length > maxValues && attribute.name !== 'members')
    throw badRequest('invalidValue', `${attribute.name} holds more than ${maxValues} values`)
  const read = values.map((one) => readSingle(attribute, one, options)).filter((one) => one !== null)
  return read.length === 0 ? null : read
}

/** One value of an attribute, also of a list. Null if it is not assigned. */
export function readSingle(attribute: Attribute, value: ScimValue, options: ReadOptions = {}): ScimValue {
  if (value === null || value === '') return null
  switch (attribute.type) {
    case 'boolean':
      return readBoolean(attribute, value)
    case 'complex':
      return readComplex(attribute, value, options)
    default:
      if (typeof value === 'string') return value
      if (typeof value === 'object') throw wrongType(attribute, 'a text')
      return String(value)
  }
}

/** A value of an extension that no schema describes, without what is not assigned. */
export function readUnknown(value: ScimValue): ScimValue {
  if (Array.isArray(value)) {
    const values = (value as readonly ScimValue[]).map(readUnknown).filter((one) => one !== null)
    return values.length === 0 ? null : values
  }
  if (!isScimObject(value)) return value === '' ? null : value
  const members = Object.entries(value).flatMap(([name, member]) => {
    refuseForbidden(name)
    const read = readUnknown(member)
    return read === null ? [] : [[name, read] as const]
  })
  return members.length === 0 ? null : Object.fromEntries(members)
}

/** Refuses names that have a meaning in JavaScript. */
export function refuseForbidden(name: string): void {
  if (forbiddenNames.has(name)) throw badRequest('invalidPath', `${quoted(name)} cannot be the name of an attribute`)
}

/** Whether a value is a JSON object. */
export function isScimObject(value: ScimValue | undefined): value is ScimObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What to say of an attribute that a schema does not have. */
export function unknownAttribute(name: string, kind: ScimKind, holder: string = kind): string {
  return `${holder} has no attribute ${quoted(name)}: check its spelling, or send it in an extension such as urn:acme:scim:2.0:${kind}`
}

/** The extension of a resource with this URN, in the spelling that the resource has already: the case of URNs does not matter. */
export function spelledExtension(resource: ScimObject, urn: string): string {
  const folded = urn.toLowerCase()
  return Object.keys(resource).find((name) => name.toLowerCase() === folded) ?? urn
}

type StatedAttribute = { readonly name: string; readonly value: ScimValue }

function addAttribute(
  resource: Record<string, ScimValue>,
  attributes: readonly Attribute[],
  { name, value }: StatedAttribute,
): void {
  const attribute = findAttribute(attributes, name)
  if (attribute === undefined || attribute.mutability === 'readOnly') return
  const read = readValue(attribute, value, { ignoresUnknown: true })
  if (read !== null) resource[attribute.name] = read
}

function addAll(
  resource: Record<string, ScimValue>,
  attributes: readonly Attribute[],
  { name: schema, value }: StatedAttribute,
): void {
  if (value === null) return
  if (!isScimObject(value)) throw badRequest('invalidValue', `${quoted(schema)} holds no object`)
  for (const [name, member] of Object.entries(value)) addAttribute(resource, attributes, { name, value: member })
}

function addExtension(resource: Record<string, ScimValue>, kind: ScimKind, { name, value }: StatedAttribute): void {
  const schema = spelledExtension(resource, findSchema(name))
  const attributes = attributesOf(schema)
  const known = resource[schema]
  const extension: Record<string, ScimValue> = isScimObject(known) ? { ...known } : {}
  if (attributes !== null && schema === enterpriseSchema && kind === 'User') {
    addAll(extension, attributes, { name, value })
  } else {
    if (value !== null && !isScimObject(value)) throw badRequest('invalidValue', `${quoted(name)} holds no object`)
    Object.assign(extension, readUnknown(value))
  }
  if (Object.keys(extension).length > 0) resource[schema] = extension
}

function readBoolean(attribute: Attribute, value: ScimValue): boolean {
  if (typeof value === 'boolean') return value
  // Microsoft Entra writes booleans as texts unless a flag in its tenant URL says otherwise.
  if (typeof value === 'string' && /^(?:true|false)$/i.test(value)) return value.toLowerCase() === 'true'
  throw wrongType(attribute, 'true or false')
}

function readComplex(attribute: Attribute, value: ScimValue, { ignoresUnknown = false }: ReadOptions): ScimValue {
  // Many senders write the value alone, such as the manager's ID, or as a list of one.
  const single = Array.isArray(value) && value.length === 1 ? (value[0] as ScimValue) : value
  const stated = typeof single === 'object' ? single : { value: single }
  if (stated === null) return null
  if (!isScimObject(stated)) throw wrongType(attribute, 'an object')
  const members: Record<string, ScimValue> = {}
  for (const [name, member] of Object.entries(stated)) {
    const sub = findAttribute(attribute.subAttributes, name)
    if (sub === undefined && ignoresUnknown) continue
    if (sub === undefined)
      throw badRequest('invalidSyntax', `${attribute.name} has no attribute ${quoted(name)}: check its spelling`)
    const read = readSingle(sub, member)
    if (read !== null) members[sub.name] = read
  }
  return Object.keys(members).length === 0 ? null : members
}

/** At most one value of a list is the primary one: the last that says so (RFC 7643, section 2.4). */
function withOnePrimary(resource: Readonly<Record<string, ScimValue>>): ScimResource {
  return Object.fromEntries(
    Object.entries(resource).map(([name, value]) => {
      if (!Array.isArray(value)) return [name, value]
      const values = value as readonly ScimValue[]
      const last = values.findLastIndex((one) => isScimObject(one) && one.primary === true)
      return [
        name,
        values.map((one, at) =>
          isScimObject(one) && one.primary === true && at !== last ? { ...one, primary: false } : one,
        ),
      ]
    }),
  )
}

function wrongType({ name }: Attribute, expected: string) {
  return badRequest('invalidValue', `${name} holds a value of another type: expected ${expected}`)
}

function readMember(name: string, value: unknown, context?: { readonly source?: string }): unknown {
  for (const text of [name, value])
    if (typeof text === 'string' && (text.includes('\0') || !text.isWellFormed()))
      throw badRequest('invalidValue', 'the body holds a NUL character or half a character')
  return typeof value === 'number' && context?.source !== undefined && String(value) !== context.source
    ? context.source
    : value
}
