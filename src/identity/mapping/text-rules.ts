import { z } from 'zod'
import { normaliseHeader } from './headers.ts'
import { templateProblem } from './template.ts'

const maxExpressionLength = 2000

/** One column by its name. */
export const Column = z
  .string()
  .refine((name) => normaliseHeader(name) !== '', { error: 'a column name holds a letter or a digit' })
  .describe('A column of the source. Case, blanks and punctuation do not matter.')

/** A column, or several names for it. */
export const Columns = z
  .union([Column, z.array(Column).min(1)])
  .describe('The column, or several names for it: the first listed name that the header has is used.')

/** Where a text comes from: exactly one of these. */
export const textSource = {
  column: Columns.optional(),
  firstOf: z
    .array(z.union([Column, z.array(Column).min(1)]))
    .min(2)
    .optional()
    .describe('Several columns. The first cell that is not blank is used.'),
  template: z
    .string()
    .superRefine((template, context) => addProblem(context, templateProblem(template)))
    .optional()
    .describe(
      "Several columns in one text, such as '{First Name} {Last Name}'. A blank cell leaves no gap. Double a brace that is text.",
    ),
  expression: z
    .string()
    .trim()
    .min(1)
    .max(maxExpressionLength)
    .optional()
    .describe('A JSONata expression over the columns of the row.'),
}

/** The settings for the source of a text. A rule has exactly one of them. */
export const sourceNames = ['column', 'firstOf', 'template', 'expression'] as const

/** The setting for columns that the source may lack. */
export const optional = z.boolean().default(false).describe('Whether the source may lack the column.')

/** Words that mean blank, in every kind of cell. */
export const blankWhen = z
  .array(z.string())
  .min(1)
  .optional()
  .describe('Words that mean blank, in any case, such as NO_MANAGER.')

/** The part of a parsed rule about the source of its text. */
export type TextRule = {
  readonly column?: string | readonly string[]
  readonly firstOf?: readonly (string | readonly string[])[] | undefined
  readonly template?: string
  readonly expression?: string
  readonly optional?: boolean
  readonly blankWhen?: readonly string[]
}

/** Why the source of a text is not clear in a rule, or null. */
export function sourceProblem(rule: TextRule): string | null {
  const named = sourceNames.filter((name) => rule[name] !== undefined)
  if (named.length === 1) return null
  return named.length === 0
    ? `say where the text comes from: one of ${sourceNames.join(', ')}`
    : `${named.join(' and ')} cannot stand together: name one of them`
}

/** Adds a problem to a schema check; null adds nothing. */
export function addProblem(context: z.RefinementCtx, message: string | null, path: readonly string[] = []): void {
  if (message !== null) context.addIssue({ code: 'custom', message, path: [...path] })
}
