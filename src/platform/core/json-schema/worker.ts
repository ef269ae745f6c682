import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import ajvFormats from 'ajv-formats'
import { performTasks } from '../../../system/task-thread.ts'

// This module runs in a thread of its own, because a schema can keep a validator busy for ever. The judge then ends the thread.

type JsonObject = Readonly<Record<string, unknown>>

/** Records to judge by a schema. The compiled schema is kept under `cacheKey`, so the same key must always mean the same schema. */
export type SchemaTask = {
  readonly schema: JsonObject
  readonly cacheKey: number | null
  readonly records: readonly JsonObject[]
}

/** For each failing record, by its position, what it fails at, as a JSON list; or why nothing can be judged. */
export type ValidationResult = { readonly failures: ReadonlyMap<number, string> } | { readonly refusal: string }

const maxCachedSchemas = 50
const maxFailures = 5
const maxTextLength = 200

const options: Options = {
  strict: false,
  allErrors: true,
  // Without it a record would have every property that objects in general have.
  ownProperties: true,
  // A definition that is referred to a thousand times is compiled once.
  inlineRefs: false,
  logger: false,
}

// A schema may name itself like another account's, so each has a validator of its own.
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
    // Whatever a schema makes the validator throw is the schema's fault, an endless reference for one.
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

/** Keeps the validators that were used last. */
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

/** What is wrong with a schema, in words for the one who wrote it. */
function describeSchemaFault(error: unknown): string {
  if (error instanceof RangeError) return 'it is nested too deeply, or refers to itself without end'
  if (error instanceof SyntaxError) return 'one of its patterns is no regular expression'
  if (!(error instanceof Error) || error instanceof TypeError) return 'it is no JSON Schema'
  if ('missingRef' in error) return `it refers to ${error.missingRef}, which it does not have`
  // The first complaint is the one about the keyword; those behind it repeat it in other words.
  const [, location = '', complaint] =
    /^schema is invalid: data(\S*) (.*?)(?:, data[ /].*)?$/s.exec(error.message) ?? []
  return complaint === undefined ? error.message : `${location || 'it'} ${complaint}`
}

// Names places and rules, and never the value, which may be personal.
function describe(errors: readonly ErrorObject[]): string {
  return JSON.stringify(
    errors.slice(0, maxFailures).map(({ instancePath, keyword, params, message = '' }) => ({
      instancePath: truncate(instancePath),
      keyword,
      ...(JSON.stringify(params).length <= maxTextLength && { params }),
      message: truncate(message),
    })),
  )
}

function truncate(text: string): string {
  return text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength).toWellFormed()}…`
}
