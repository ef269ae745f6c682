import type { Operation } from '../../../src/contract/operation.ts'
import { alternativesOf, type JsonSchema, jsonSchemaOf } from './json-schema.ts'

/** A place in a body: names of objects and positions of arrays. */
export type Path = readonly (string | number)[]

export type Field = {
  readonly path: Path
  readonly schema: JsonSchema
  /** The schemas that its value may have, null aside. */
  readonly alternatives: readonly JsonSchema[]
  readonly required: boolean
  readonly nullable: boolean
}

/** JSON text that stands in a body as it is, for numbers that JavaScript does not have. */
export class RawJson {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** The schema of an operation's body, with that of its items if they are checked one by one. */
export function bodySchemaOf({ body, item }: Operation): JsonSchema {
  if (body === undefined) return {}
  const schema = jsonSchemaOf(body)
  return item ? { ...schema, items: jsonSchemaOf(item) } : schema
}

/** Every field of a body, as deep as the example goes; of unions the member that fits the example. */
export function fieldsOf(schema: JsonSchema, example: unknown, path: Path = []): Field[] {
  const members = alternativesOf(schema)
  if (Array.isArray(example)) {
    const items = members.find(({ type }) => type === 'array')?.items
    return items && example.length > 0 ? withInner(field([...path, 0], items, false), example[0]) : []
  }
  if (!isObject(example)) return []
  const { properties = {}, required = [] } = members.find((member) => fits(member, example)) ?? {}
  return Object.entries(properties).flatMap(([name, inner]) =>
    withInner(field([...path, name], inner, required.includes(name)), example[name]),
  )
}

/** Every schema inside of a schema, itself included. */
export function leavesOf(schema: JsonSchema): JsonSchema[] {
  return alternativesOf(schema).flatMap((member) => [
    member,
    ...(member.items ? leavesOf(member.items) : []),
    ...Object.values(member.properties ?? {}).flatMap(leavesOf),
  ])
}

/** The JSON text of a body in which one field has another value; `undefined` leaves it out. */
export function bodyWith(example: unknown, path: Path, value: unknown): string {
  return toJson(replaced(example, path, value))
}

/** The value at a place of a body or an answer; undefined if there is no such place. */
export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, key) => (isContainer(inner) ? inner[key] : undefined), value)
}

export function toJson(value: unknown): string {
  const raw: string[] = []
  const text = JSON.stringify(value, (_key, inner: unknown) => {
    if (!(inner instanceof RawJson)) return inner
    return `raw json ${raw.push(inner.text) - 1}`
  })
  return text.replaceAll(/"raw json (\d+)"/g, (_, index: string) => raw[Number(index)] ?? '')
}

function replaced(value: unknown, [head, ...rest]: Path, replacement: unknown): unknown {
  if (head === undefined) return replacement
  if (Array.isArray(value)) return value.with(Number(head), replaced(value[Number(head)], rest, replacement))
  const object = isObject(value) ? value : {}
  return { ...object, [head]: replaced(object[head], rest, replacement) }
}

function withInner(own: Field, example: unknown): Field[] {
  return [own, ...fieldsOf(own.schema, example, own.path)]
}

function field(path: Path, schema: JsonSchema, required: boolean): Field {
  const members = alternativesOf(schema)
  const alternatives = members.filter(({ type }) => type !== 'null')
  return { path, schema, alternatives, required, nullable: alternatives.length < members.length }
}

function fits(
  { type, properties = {}, required = [] }: JsonSchema,
  example: Readonly<Record<string, unknown>>,
): boolean {
  if (type !== 'object') return false
  return required.every((name) => {
    const constant = properties[name]?.const
    return name in example && (constant === undefined || constant === example[name])
  })
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isContainer(value: unknown): value is Readonly<Record<string | number, unknown>> {
  return typeof value === 'object' && value !== null
}
