import { z } from 'zod'

// Decimal notation only: refuses `0x10`, `1e3`, ` 7` and `007`. A fraction such as `7.0` is accepted, and equals 7.
const decimal = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/

/** The value of a URL parameter: a text, several texts, or an object whose properties are named in brackets. */
export type UrlText = string | readonly UrlText[] | { readonly [property: string]: UrlText }

/**
 * Converts the text of a URL into the value that a schema expects. If the schema is nullable, an empty text and `null` become null. A text
 * that does not fit is returned unchanged, and the schema refuses it.
 */
export function parseParameter(schema: z.core.$ZodType, text: UrlText): unknown {
  if (takesNull(schema) && (text === '' || text === 'null')) return null
  const inner = unwrap(schema)
  if (inner instanceof z.ZodArray) {
    const entries: readonly UrlText[] = isList(text) ? text : [text]
    return entries.map((entry) => parseParameter(inner.element, entry))
  }
  if (inner instanceof z.ZodObject && typeof text === 'object' && !isList(text)) {
    return Object.fromEntries(
      Object.entries(text).map(([name, value]) => [
        name,
        inner.shape[name] ? parseParameter(inner.shape[name], value) : value,
      ]),
    )
  }
  if (typeof text !== 'string') return text
  if (inner instanceof z.ZodUnion) return parseUnion(inner.options, text)
  if (inner instanceof z.ZodNumber) return decimal.test(text) ? Number(text) : text
  if (inner instanceof z.ZodBoolean) return text === 'true' ? true : text === 'false' ? false : text
  return text
}

/** The texts of a value in a URL; several for a list. */
export function formatParameter(value: unknown): string[] {
  if (value === undefined) return []
  return Array.isArray(value) ? value.flatMap(formatParameter) : [String(value)]
}

/** The names and texts of a query parameter. The properties of objects in a list are named `list[0][property]`. */
export function writeParameter(name: string, value: unknown): [string, string][] {
  if (!Array.isArray(value) || !value.every((entry) => typeof entry === 'object' && entry !== null))
    return formatParameter(value).map((text) => [name, text])
  return value.flatMap((entry, index) =>
    Object.entries(entry).flatMap(([property, inner]) => writeParameter(`${name}[${index}][${property}]`, inner)),
  )
}

/** Whether a schema expects a list, whose name a URL may repeat. */
export function expectsList(schema: z.core.$ZodType): boolean {
  return unwrap(schema) instanceof z.ZodArray
}

/** Whether a schema expects a list of objects. */
export function expectsObjectList(schema: z.core.$ZodType): boolean {
  const list = unwrap(schema)
  return list instanceof z.ZodArray && unwrap(list.element) instanceof z.ZodObject
}

function isList(text: UrlText): text is readonly UrlText[] {
  return Array.isArray(text)
}

/** The value by the first option that converts the text. */
function parseUnion(options: readonly z.core.$ZodType[], text: string): unknown {
  for (const option of options) {
    const value = parseParameter(option, text)
    if (value !== text) return value
  }
  return text
}

function takesNull(schema: z.core.$ZodType): boolean {
  if (schema instanceof z.ZodOptional) return takesNull(schema.unwrap())
  return schema instanceof z.ZodNullable
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return unwrap(schema.unwrap())
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) return unwrap(schema.unwrap())
  if (schema instanceof z.ZodPipe) return unwrap(schema.in)
  return schema
}
