import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import ajvFormats from 'ajv-formats'
import { performTasks } from '../../../system/task-thread.ts'

// This module runs in its own thread because a schema can occupy a validator for ever. `SchemaValidator` then ends the thread.

type JsonObject = Readonly<Record<string, unknown>>

/** Records to validate. The worker caches the compiled schema by `cacheKey`, so a key must always mean the same schema. */
export type SchemaTask = {
  readonly schema: JsonObject
  readonly cacheKey: number | null
  readonly records: readonly JsonObject[]
}

/** The failures as JSON lists by the index of the record, or the reason why the schema cannot validate. */
export type ValidationResult = { readonly failures: ReadonlyMap<number, string> } | { readonly refusal: string }

const maxCachedSchemas = 50
const maxFailures = 5
const maxTextLength = 200

const options: Options = {
  strict: false,
  allErrors: true,
  // Otherwise a record would have the properties of `Object.prototype`.
  ownProperties: true,
  // Compiles a definition once, however often the schema refers to it.
  inlineRefs: false,
  logger: false,
}

// Each schema has its own validator because schemas of two accounts may have the same `$id`.
const dialects = new Map([
  ['http://json-schema.org/draft-07/schema', () => new Ajv(options)],
  ['https://json-schema.org/draft/2019-09/schema', () => new Ajv2019(options)],
  ['https://json-schema.org/draft/2020-12/schema', () => new Ajv2020(options)],
])

const validators = new Map<number, ValidateFunction>()

performTasks(validateTask)

function validateTask(task: SchemaTask): ValidationResult {
  try {
    return { failures: validateRecords(validatorOf(task), task.records) }
  } catch (error) {
    // Every error of the validator comes from the schema, for example an endless reference.
    return { refusal: truncate(describeSchemaFault(error)) }
  }
}

function validateRecords(validate: ValidateFunction, records: SchemaTask['records']): ReadonlyMap<number, string> {
  const failures = new Map<number, string>()
  for (const [index, record] of records.entries()) {
    if (!validate(record)) failures.set(index, describe(validate.errors ?? []))
  }
  return failures
}

function validatorOf({ schema, cacheKey }: SchemaTask): ValidateFunction {
  const known = cacheKey === null ? undefined : validators.get(cacheKey)
  const validate = known ?? compile(schema)
  if (cacheKey !== null) cacheValidator(cacheKey, validate)
  return validate
}

/** Caches the validator and removes the least recently used one. */
function cacheValidator(cacheKey: number, validate: ValidateFunction): void {
  validators.delete(cacheKey)
  validators.set(cacheKey, validate)
  const [oldest] = validators.keys()
  if (validators.size > maxCachedSchemas && oldest !== undefined) validators.delete(oldest)
}

function compile(schema: SchemaTask['schema']): ValidateFunction {
  const { $schema: dialect = 'http://json-schema.org/draft-07/schema', ...rest } = schema
  const create = dialects.get(String(dialect).replace(/#$/, ''))
  if (!create) throw new Error('$schema must name draft-07, 2019-09 or 2020-12')
  const ajv = create()
  ajvFormats.default(ajv)
  const validate = ajv.compile(rest)
  if ('$async' in validate) throw new Error('$async is not allowed')
  return validate
}

/** Describes the fault of a schema for its author. */
function describeSchemaFault(error: unknown): string {
  if (error instanceof RangeError) return 'it is nested too deeply, or refers to itself without end'
  if (error instanceof SyntaxError) return 'one of its patterns is no regular expression'
  if (!(error instanceof Error) || error instanceof TypeError) return 'it is no JSON Schema'
  if ('missingRef' in error) return `it refers to ${error.missingRef}, which it does not have`
  // The first message is about the keyword; the others repeat it.
  const [, location = '', complaint] =
    /^schema is invalid: data(\S*) (.*?)(?:, data[ /].*)?$/s.exec(error.message) ?? []
  return complaint === undefined ? error.message : `${location || 'it'} ${complaint}`
}

// Names locations and rules, never the value: it may be personal data.
function describe(errors: readonly ErrorObject[]): string {
  return JSON.stringify(
    errors.slice(0, maxFailures).map(({ instancePath, keyword, params, message = '' }) => ({
      instancePath: truncate(instancePath),
      keyword,
      params: JSON.stringify(params).length <= maxTextLength ? params : undefined,
      message: truncate(message),
    })),
  )
}

function truncate(text: string): string {
  return text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength).toWellFormed()}…`
}
