import { z } from 'zod'
import { dateFormatProblem } from './date-formats.ts'
import { dateOverlapProblem } from './date-overlap.ts'
import { languages } from './month-names.ts'
import { addProblem } from './text-rules.ts'

const formatHelp =
  'How dates are written: yyyy (or yy with pivot), MM, M, MMM or MMMM, dd or d; times: HH:mm:ss, hh:mm a, SSS (one S for each digit), ' +
  "XXX for an offset; letters in quotes, such as yyyy-MM-dd'T'HH:mm:ssXXX. iso: every form of ISO 8601. " +
  'A time with an offset is on the day that it has in the time zone of the source.'

const Formats = z.union([z.string(), z.array(z.string()).min(1)])

const Pivot = z
  .int()
  .min(1999)
  .max(2199)
  .optional()
  .describe('The last year that two digits may mean: with 2049, 49 is 2049 and 50 is 1950. Required for yy.')
const Language = z.enum(languages).default('en').describe('The language of month names.')

/** The options for the format of a date. */
export const dateFormat = {
  format: Formats.default('yyyy-MM-dd').describe(
    `${formatHelp} In a list of formats, no text may mean two different days.`,
  ),
  pivot: Pivot,
  language: Language,
  offsetDays: z
    .int()
    .min(-366)
    .max(366)
    .default(0)
    .describe('Days to add to the date, in addition to those of means, such as -1.'),
}

/** The options for the format of a date or a moment that orders rows. */
export const rankFormat = {
  format: z.string().optional().describe('How its dates or times are written, as in the format of a date field.'),
  pivot: Pivot,
  language: Language,
}

type DateSettings = {
  readonly format?: string | readonly string[]
  readonly pivot?: number
  readonly language?: (typeof languages)[number] | undefined
}

/** Adds the problems of the formats of a rule. */
export function checkFormats({ format = [], pivot, language }: DateSettings, context: z.RefinementCtx): void {
  const options = { pivot, language }
  const formats = [format].flat()
  const problem = formats.map((one) => dateFormatProblem(one, options)).find((result) => result !== null)
  addProblem(context, problem ?? dateOverlapProblem(formats, options), ['format'])
}
