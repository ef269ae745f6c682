import type { OwnField } from '../record.ts'
import { isObject, type JsonObject, schemaAt } from './json-schema.ts'

/** The types that a schema can give a property of a record. */
export const propertyTypes = ['string', 'number', 'integer', 'boolean', 'date', 'date-time'] as const
/** The type of a property, as JSON Schema and its formats name it. */
export type PropertyType = (typeof propertyTypes)[number]
/** One property of a custom record. */
export type Property = { readonly type: PropertyType; readonly isList: boolean; readonly mayBeNull: boolean }

/** The property in the schema; null if the schema allows no such name, or a text that says why no cell can hold it. */
export function propertyAt(schema: JsonObject, field: OwnField): Property | string | null {
  const propertySchema = schemaAt(schema, pathOf(field))
  if (propertySchema === null) return null
  const { type, mayBeNull } = typesOf(propertySchema)
  if (type === 'object') return 'is an object: map its properties by dotted names'
  if (type !== 'array') return typeof type === 'string' ? scalar(propertySchema, type, mayBeNull) : 'has several types'
  const items = isObject(propertySchema?.items) ? propertySchema.items : undefined
  const { type: itemType } = typesOf(items)
  if (itemType === 'object' || itemType === 'array') return 'is a list of lists or objects, which no cell can hold'
  if (typeof itemType !== 'string') return 'is a list of several types'
  return { ...scalar(items, itemType, false), isList: true, mayBeNull }
}

function typesOf(schema: JsonObject | undefined): { type: string | null; mayBeNull: boolean } {
  const types = schema?.type === undefined ? typesOfValues(schema) : [schema.type].flat().map(String)
  const [type = 'string', ...others] = types.filter((name) => name !== 'null')
  return { type: others.length === 0 ? type : null, mayBeNull: types.includes('null') }
}

/** The types of the values that a schema without a type lists. */
function typesOfValues({ const: only, enum: listed }: JsonObject = {}): readonly string[] {
  const values: readonly unknown[] = only === undefined ? [listed ?? []].flat() : [only]
  const types = values.map((value) => {
    if (value === null) return 'null'
    return Array.isArray(value) ? 'array' : typeof value
  })
  return [...new Set(types)]
}

function scalar(schema: JsonObject | undefined, type: string, mayBeNull: boolean): Property {
  const { format } = schema ?? {}
  const dated = type === 'string' && (format === 'date' || format === 'date-time') ? format : type
  return { type: propertyTypes.find((known) => known === dated) ?? 'string', isList: false, mayBeNull }
}

/** The dotted path of an own field. */
export function pathOf(field: OwnField): readonly string[] {
  return field.slice(1).split('.')
}
