import { alternativesOf, type JsonSchema } from './json-schema.ts'

const byFormat: Readonly<Record<string, string>> = {
  'date-time': '2026-01-31T12:00:00.000Z',
  date: '2026-01-31',
  email: 'ana@one.example',
  uuid: '00000000-0000-4000-8000-000000000000',
  uri: 'https://one.example/page',
}

/** A value that fits a schema, with the required fields of objects only. `known` may give the value of a field by its name. */
export function exampleOf(schema: JsonSchema, known: (field: string) => unknown, field = ''): unknown {
  const [first = {}] = alternativesOf(schema)
  const example = known(field)
  if (example !== undefined) return example
  if (first.enum) return first.enum[0]
  if (first.const !== undefined) return first.const
  switch (first.type) {
    case 'string':
      return first.format === undefined ? 'text'.padEnd(first.minLength ?? 0, 'x') : byFormat[first.format]
    case 'integer':
    case 'number':
      return Math.max(first.minimum ?? 1, 1)
    case 'boolean':
      return true
    case 'array':
      return [exampleOf(first.items ?? {}, known, field.replace(/s$/, ''))]
    case 'object':
      return Object.fromEntries(
        (first.required ?? []).map((name) => [name, exampleOf(first.properties?.[name] ?? {}, known, name)]),
      )
    default:
      return null
  }
}
