import { z } from 'zod'
import { dateFormatProblem } from './dates.ts'
import { normaliseHeader } from './headers.ts'

const Column = z
  .string()
  .refine((name) => normaliseHeader(name) !== '', { error: 'a column name holds a letter or a digit' })
  .describe('A column of the source. Case, blanks and signs do not matter.')
const Columns = z
  .union([Column, z.array(Column).min(1)])
  .describe('The column, or several names for it: the first one that the header holds is taken.')

const optional = z.boolean().default(false).describe('Whether the source may lack the column; it is then not mapped.')
const onBlank = z
  .enum(['keep', 'clear', 'reject'])
  .default('clear')
  .describe('What a blank cell means: keep what is known, clear the field, or reject the row.')
const format = z
  .string()
  .superRefine((value, ctx) => {
    const problem = dateFormatProblem(value)
    if (problem !== null) ctx.addIssue({ code: 'custom', message: problem })
  })
  .default('yyyy-MM-dd')
  .describe('How dates are written: yyyy, MM or M, dd or d, and the signs between them.')

/** What a rule may say besides its column, for each kind of field. */
export const textOptions = {
  optional,
  onBlank,
  map: valuesTo(z.string().max(191).nullable()),
  lowercase: z.boolean().default(false).describe('Whether the text is sent in lower case.'),
}
export const emailOptions = { optional, onBlank }
export const contractorOptions = { optional, onBlank, map: valuesTo(z.boolean().nullable()) }
export const startOptions = { optional, onBlank, format }
export const leavingOptions = {
  optional,
  onBlank: z
    .enum(['clear', 'reject'])
    .default('clear')
    .describe('What a blank leaving date means: that the person is employed (clear), or a row to reject.'),
  format,
  means: z
    .enum(['lastDayWorked', 'firstDayGone'])
    .default('lastDayWorked')
    .describe('Which day the column names: the last one of the employment, or the one after.'),
  future: z
    .enum(['send', 'defer'])
    .default('defer')
    .describe('What happens to a leaving date that lies ahead: it is sent at once, or waits for its day.'),
}

export const StatusRule = z
  .strictObject({
    column: Columns,
    optional,
    leftWhen: z.array(z.string()).min(1).describe('The values that say that somebody has left.'),
    activeWhen: z
      .array(z.string())
      .min(1)
      .optional()
      .describe('The values that say that somebody is employed. Where given, any other value rejects the row.'),
  })
  .describe('A column that says whether somebody has left, where no date does.')

/** A field's rule: the name of its column, or the column with options. Parsed, it is always the latter, with defaults. */
export function rule<S extends z.ZodRawShape>(options: S) {
  const full = z.strictObject({ column: Columns, ...options })
  return z.union([Column.transform((column) => full.parse({ column })), full])
}

/** What may be said on top of a rule: another column, options alone, or null for "not mapped". Defaults stay open. */
export function rulePatch(options: z.ZodRawShape) {
  return z.union([Column, z.null(), z.strictObject(withoutDefaults({ column: Columns, ...options }))]).optional()
}

function valuesTo<V extends z.ZodType>(value: V) {
  return z
    .record(z.string(), value)
    .optional()
    .describe(
      'What each value of the column becomes; "*" stands for every other one. Otherwise an unlisted value rejects the row.',
    )
}

function withoutDefaults(shape: z.ZodRawShape): z.ZodRawShape {
  return Object.fromEntries(
    Object.entries(shape).map(([name, schema]) => {
      const open = schema instanceof z.ZodDefault ? z.optional(schema.unwrap()) : z.optional(schema)
      return [name, open.meta(z.globalRegistry.get(schema) ?? {})]
    }),
  )
}
