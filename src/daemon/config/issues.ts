import type { z } from 'zod'
import { mostSimilar } from '../../identity/mapping/headers.ts'
import type { ConfigDocument, Path, Problem } from './document.ts'
import type { SettingsSchema } from './json-schema.ts'

type Issue = z.core.$ZodIssue

/** One problem for each mistake, with its position, the name of the setting and what helps. */
export function toProblems(
  issues: readonly Issue[],
  document: ConfigDocument,
  schema: () => SettingsSchema,
): Problem[] {
  return issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return [toProblem(issue, document)]
    return issue.keys.map((key) => {
      const path = [...issue.path, key]
      const message = `Unrecognized key: "${key}"${didYouMean(key, settingsAt(schema(), issue.path))}`
      return { ...document.positionOfKey(path), message: `${path.join('.')}: ${message}` }
    })
  })
}

/** Replaces the issues of a union by those of its alternative that comes closest, as full paths. A union with words of its own keeps them. */
export function flatten(issues: readonly Issue[], base: Path = []): Issue[] {
  return issues.flatMap((issue) => {
    const path = [...base, ...issue.path]
    if (issue.code === 'invalid_key') return [{ ...issue, path, message: issue.issues[0]?.message ?? issue.message }]
    if (issue.code !== 'invalid_union' || issue.message !== 'Invalid input') return [{ ...issue, path }]
    const closest = issue.errors
      .filter((alternative) => !missesKind(alternative))
      .sort((a, b) => a.length - b.length)[0]
    return closest ? flatten(closest, path) : [{ ...issue, path, message: kindsOf(issue.errors) }]
  })
}

/** Whether an alternative was not meant at all: another kind of value, such as a text instead of settings. */
function missesKind(alternative: readonly Issue[]): boolean {
  return alternative.some(
    ({ code, path }) => path.length === 0 && (code === 'invalid_type' || code === 'invalid_value'),
  )
}

function kindsOf(issues: readonly (readonly Issue[])[]): string {
  const kinds = issues.flat().flatMap((issue) => (issue.code === 'invalid_type' ? [issue.expected] : []))
  return `Invalid input: expected ${[...new Set(kinds)].join(' or ')}`
}

function toProblem(issue: Issue, document: ConfigDocument): Problem {
  const name = issue.path.join('.')
  const message = isMissing(issue, document) ? 'is missing' : issue.message
  const position = issue.code === 'invalid_key' ? document.positionOfKey(issue.path) : document.positionOf(issue.path)
  return { ...position, message: name === '' ? message : `${name}: ${message}` }
}

function isMissing({ path, code }: Issue, document: ConfigDocument): boolean {
  if (code === 'custom') return false
  let value = document.values()
  for (const name of path) value = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
  return value === undefined
}

/** More names would fill the screen. */
const maxNamedSettings = 30

function didYouMean(key: string, settings: readonly string[]): string {
  if (settings.includes(key)) return ''
  const similar = mostSimilar([key], settings)
  if (similar !== null) return ` (did you mean "${similar}"?)`
  if (settings.length > maxNamedSettings) return ' (docs/settings.md lists what is known here)'
  return settings.length > 0 ? ` (known here: ${settings.join(', ')})` : ''
}

function settingsAt(schema: SettingsSchema, path: Path): readonly string[] {
  const parents = path.reduce(
    (schemas: readonly SettingsSchema[], name) => schemas.flatMap((parent) => membersNamed(parent, name)),
    alternatives(schema),
  )
  return [...new Set(parents.flatMap(({ properties }) => Object.keys(properties ?? {})))]
}

function membersNamed(
  { properties, additionalProperties }: SettingsSchema,
  name: PropertyKey,
): readonly SettingsSchema[] {
  const member = properties?.[String(name)] ?? additionalProperties
  return typeof member === 'object' ? alternatives(member) : []
}

function alternatives(schema: SettingsSchema): readonly SettingsSchema[] {
  return [schema, ...[...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].flatMap(alternatives)]
}
