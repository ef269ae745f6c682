import { Ajv, type ErrorObject } from 'ajv'
import formats from 'ajv-formats'
import type { IdentityRecord, OwnField } from '../record.ts'
import { isObject, type JsonObject } from './json-schema.ts'
import { type Property, type PropertyType, pathOf } from './property.ts'

/** Why a record violates its schema: the property and the rule, never a value. */
export type ShapeFault = { readonly field: OwnField | null; readonly reason: string }

/** A record in the form of the platform. */
type Attributes = JsonObject

/** The form of the records of one CUSTOM connection: converts and checks them. */
export type Shape = {
  /** The record for the platform: dotted names are nested, and cleared values are left out. */
  readonly attributesOf: (record: IdentityRecord) => Attributes
  /** The mapped properties of a record of the platform. A value of another type becomes its JSON text. */
  readonly fieldsOf: (attributes: Attributes) => Readonly<Record<OwnField, string | boolean | null>>
  /** The first violation of a record; null if there is none. `isPartial`: properties may be missing. */
  readonly faultOf: (record: IdentityRecord, isPartial: boolean) => ShapeFault | null
}

/** Keywords about missing properties. */
const missing: ReadonlySet<string> = new Set(['required', 'dependentRequired', 'dependencies', 'minProperties'])

/** Alternatives and conditions. A property that a partial record lacks may decide them. */
const conditions: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'if', 'not'])

/** Compiles a schema once for all records. Throws if it is no JSON Schema of draft-07. */
export function compileShape(schema: JsonObject, fields: ReadonlyMap<OwnField, Property>): Shape {
  const ajv = new Ajv({ strict: false, ownProperties: true, inlineRefs: false, logger: false, allErrors: false })
  formats.default(ajv)
  const { $schema: _dialect, ...rules } = schema
  const whole = ajv.compile(rules)
  // All faults of a partial record are needed, because the first one may only be a missing property.
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

/** The first fault that no further property can fix. Faults of alternatives and conditions are skipped: they may depend on one. */
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

/** The properties on the path to a value, without the indexes of lists. */
function propertiesIn(instancePath: string, attributes: Attributes): readonly string[] {
  const names: string[] = []
  let value: unknown = attributes
  for (const name of instancePath.split('/').slice(1).map(unescapePointer)) {
    if (!Array.isArray(value)) names.push(name)
    value = isObject(value) || Array.isArray(value) ? Reflect.get(value, name) : undefined
  }
  return names
}

function unescapePointer(name: string): string {
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

/** Sets a property of any name, including `__proto__`. */
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

/** A value as a record holds it: texts and booleans of properties with these types, and the JSON of everything else. */
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
    // The value was read under another schema. The schema of today judges it.
    if (error instanceof SyntaxError) return value
    throw error
  }
}

function isText(type: PropertyType): boolean {
  return type === 'string' || type === 'date' || type === 'date-time'
}
