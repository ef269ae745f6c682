import { Ajv, type ErrorObject } from 'ajv'
import formats from 'ajv-formats'
import type { IdentityRecord, OwnField } from '../record.ts'
import { isObject, type JsonObject } from './json-schema.ts'
import { type Property, type PropertyType, pathOf } from './property.ts'

/** Why a record does not satisfy its schema: where, and which rule. Never a value. */
export type ShapeFault = { readonly field: OwnField | null; readonly reason: string }

/** A record as the platform takes and gives it. */
type Attributes = JsonObject

/** The form of the records of one CUSTOM connection: how they are written, read back and judged. */
export type Shape = {
  /** The record as the platform takes it: dotted names are nested, a value that is cleared is left out. */
  readonly attributesOf: (record: IdentityRecord) => Attributes
  /** What a record of the platform holds in the mapped properties. A value of another type is kept as the text of its JSON. */
  readonly fieldsOf: (attributes: Attributes) => Readonly<Record<OwnField, string | boolean | null>>
  /** The first thing that a record violates; null if there is nothing. `isPartial`: properties may be missing. */
  readonly faultOf: (record: IdentityRecord, isPartial: boolean) => ShapeFault | null
}

/** Properties that are missing, in one way or another. */
const missing: ReadonlySet<string> = new Set(['required', 'dependentRequired', 'dependencies', 'minProperties'])

/** Alternatives and conditions: what a part of a record lacks may be what decides about them. */
const conditions: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'if', 'not'])

/** Compiles a schema once for all records. Throws for one that is no JSON Schema of draft-07. */
export function compileShape(schema: JsonObject, fields: ReadonlyMap<OwnField, Property>): Shape {
  const ajv = new Ajv({ strict: false, ownProperties: true, inlineRefs: false, logger: false, allErrors: false })
  formats.default(ajv)
  const { $schema: _dialect, ...rules } = schema
  const whole = ajv.compile(rules)
  // Of a partial record every fault is looked at, since the first one may be that something is missing.
  const each = new Ajv({ ...ajv.opts, allErrors: true })
  formats.default(each)
  const parts = each.compile(rules)
  const known = [...fields].map(([field, property]) => ({ field, property, path: pathOf(field) }))

  function attributesOf(record: IdentityRecord): Attributes {
    const attributes: Record<string, unknown> = { id: record.identityId }
    for (const { field, property, path } of known) {
      const value = record[field]
      if (value === undefined || (value === null && !property.mayBeNull)) continue
      setAt(attributes, path, value === null ? null : ofText(value, property))
    }
    return attributes
  }

  return {
    attributesOf,
    fieldsOf: (attributes) =>
      Object.fromEntries(
        known.map(({ field, path, property }) => [field, toText(at(attributes, path), property)]),
      ) as Readonly<Record<OwnField, string | boolean | null>>,
    faultOf(record, isPartial) {
      const attributes = attributesOf(record)
      if (!isPartial) return whole(attributes) ? null : faultIn(whole.errors ?? [], attributes)
      return parts(attributes) ? null : faultOfPart(parts.errors ?? [], attributes)
    },
  }
}

/** The first fault that no further property would mend. Of alternatives and conditions that cannot be said of a part. */
function faultOfPart(errors: readonly ErrorObject[], attributes: Attributes): ShapeFault | null {
  const open = errors
    .filter(({ keyword }) => conditions.has(keyword))
    .flatMap(({ keyword, schemaPath }) => {
      if (keyword !== 'if') return [schemaPath]
      const parent = schemaPath.slice(0, -'if'.length)
      return [schemaPath, `${parent}then`, `${parent}else`]
    })
  const certain = errors.filter(
    ({ keyword, schemaPath }) =>
      !missing.has(keyword) && !open.some((path) => schemaPath === path || schemaPath.startsWith(`${path}/`)),
  )
  return certain.length === 0 ? null : faultIn(certain, attributes)
}

function faultIn([error]: readonly ErrorObject[], attributes: Attributes): ShapeFault {
  if (error === undefined) return { field: null, reason: 'the record does not satisfy the schema' }
  const { instancePath, keyword, params, message = keyword } = error
  const lacking = keyword === 'required' ? [String(params.missingProperty)] : []
  const path = [...propertiesIn(instancePath, attributes), ...lacking]
  const field = path.length === 0 ? null : (`.${path.join('.')}` as const)
  return { field, reason: `the schema says of ${field?.slice(1) ?? 'the record'}: ${message}` }
}

/** The properties on the way to a place of a record, without the numbers of members of lists. */
function propertiesIn(instancePath: string, attributes: Attributes): readonly string[] {
  const names: string[] = []
  let value: unknown = attributes
  for (const name of instancePath.split('/').slice(1).map(unescaped)) {
    if (!Array.isArray(value)) names.push(name)
    value = isObject(value) || Array.isArray(value) ? Reflect.get(value, name) : undefined
  }
  return names
}

function unescaped(name: string): string {
  return name.replaceAll('~1', '/').replaceAll('~0', '~')
}

function setAt(into: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [last = '', ...above] = path.toReversed()
  let parent = into
  for (const name of above.toReversed()) {
    const known = Object.hasOwn(parent, name) ? parent[name] : undefined
    const next: Record<string, unknown> = isObject(known) ? (known as Record<string, unknown>) : {}
    setProperty(parent, name, next)
    parent = next
  }
  setProperty(parent, last, value)
}

/** Every name is one like any other, also that of the prototype. */
function setProperty(into: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') into[name] = value
  else Object.defineProperty(into, name, { value, enumerable: true, writable: true, configurable: true })
}

function at(attributes: Attributes, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (parent, name) => (isObject(parent) && Object.hasOwn(parent, name) ? parent[name] : undefined),
    attributes,
  )
}

/** A value as a record holds it: texts and booleans where they belong, and everything else as JSON, which also is how numbers are written. */
function toText(value: unknown, { type, isList }: Property): string | boolean | null {
  if (value === undefined || value === null) return null
  if (isList || !isText(type))
    return type === 'boolean' && !isList && typeof value === 'boolean' ? value : JSON.stringify(value)
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function ofText(value: string | boolean, { type, isList }: Property): unknown {
  if (typeof value === 'boolean' || (!isList && isText(type))) return value
  try {
    return JSON.parse(value)
  } catch (error) {
    // It was read while the schema said something else of the property: the schema judges it.
    if (error instanceof SyntaxError) return value
    throw error
  }
}

function isText(type: PropertyType): boolean {
  return type === 'string' || type === 'date' || type === 'date-time'
}
