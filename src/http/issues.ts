import type { z } from 'zod'

const shownIssues = 3
const shownChoices = 12
const shownKeys = 5
const shownKeyLength = 40

const kinds: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
}

const formats: Readonly<Record<string, string>> = {
  datetime: 'a date and time in ISO 8601, such as 2026-01-31T12:00:00.000Z',
  date: 'a date such as 2026-01-31',
  email: 'an e-mail address',
  uuid: 'a UUID',
  url: 'the address of a page, such as https://example.com/page',
}

/** The problems of an input, by field and without values: `size: must be at most 500`. */
export function describeIssues(error: z.core.$ZodError, root = ''): string {
  const shown = error.issues.slice(0, shownIssues).map((issue) => describeIssue(issue, root))
  const hidden = error.issues.length - shown.length
  return hidden > 0 ? `${shown.join('; ')}; and ${hidden} more` : shown.join('; ')
}

/** Describes in plain words what a value must be. Pass it as `error` when parsing; a schema's own messages take precedence. */
export function inPlainWords(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return wrongType(issue)
    case 'invalid_value':
      return issue.input === undefined ? 'is missing' : `must be ${choices(issue.values)}`
    case 'too_big':
      return limit(issue.origin, issue.exact ? 'exactly' : issue.inclusive ? 'at most' : 'less than', issue.maximum)
    case 'too_small':
      return limit(issue.origin, issue.exact ? 'exactly' : issue.inclusive ? 'at least' : 'more than', issue.minimum)
    case 'invalid_format':
      return `must be ${formats[issue.format] ?? 'written in the form that the documentation gives'}`
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`
    case 'unrecognized_keys':
      return `must not have ${unknownKeys(issue.keys)}`
    case 'invalid_union':
      return issue.input === undefined ? 'is missing' : 'must have one of the forms that the documentation gives'
    case 'invalid_key':
      return 'has a key that is not allowed'
    case 'invalid_element':
      return 'has an entry that is not allowed'
    default:
      return 'is not allowed'
  }
}

function wrongType({ input, expected, inst }: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidType>): string {
  if (input === undefined) return 'is missing'
  if (typeof input === 'number' && !Number.isFinite(input)) return 'must be a number that is not so large'
  // Zod reports an integer as a number with a format. The issue itself does not say so.
  const isWhole = inst !== undefined && 'format' in inst._zod.def && inst._zod.def.format === 'safeint'
  return `must be ${kinds[isWhole ? 'int' : expected] ?? 'of another type'}`
}

function choices(values: readonly z.core.util.Primitive[]): string {
  if (values.length === 1) return String(values[0])
  if (values.length > shownChoices) return `one of the ${values.length} values that the documentation lists`
  return `one of ${values.map(String).join(', ')}`
}

function limit(origin: string, bound: string, count: number | bigint): string {
  if (origin === 'string') return `must have ${bound} ${countWithUnit(count, 'character')}`
  if (origin === 'array') return `must have ${bound} ${countWithUnit(count, 'entry')}`
  return `must be ${bound} ${count}`
}

function countWithUnit(count: number | bigint, unit: 'character' | 'entry'): string {
  const units = { character: 'characters', entry: 'entries' }
  return Number(count) === 1 ? `1 ${unit}` : `${count} ${units[unit]}`
}

function unknownKeys(keys: readonly string[]): string {
  const shown = keys.slice(0, shownKeys).map((key) => JSON.stringify(key.slice(0, shownKeyLength)))
  const hidden = keys.length - shown.length
  const names = hidden > 0 ? `${shown.join(', ')} and ${hidden} more` : shown.join(', ')
  return keys.length === 1 ? `the key ${names}` : `the keys ${names}`
}

function describeIssue(issue: z.core.$ZodIssue, root: string): string {
  const field = fieldName(issue.path, root)
  return field === '' ? issue.message : `${field}: ${issue.message}`
}

function fieldName(path: readonly PropertyKey[], root: string): string {
  return path.reduce<string>((name, key) => {
    if (typeof key === 'number') return `${name}[${key}]`
    return name === '' ? String(key) : `${name}.${String(key)}`
  }, root)
}
