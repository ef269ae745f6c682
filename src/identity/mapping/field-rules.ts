import { z } from 'zod'
import { type Action, actions } from '../record.ts'
import { propertyTypes } from '../shape/property.ts'
import { checkFormats, dateFormat, rankFormat } from './date-rules.ts'
import { foldValue } from './fold-value.ts'
import {
  addProblem,
  blankWhen,
  Column,
  Columns,
  optional,
  sourceProblem,
  type TextRule,
  textSource,
} from './text-rules.ts'

const onBlank = z
  .enum(['keep', 'clear', 'reject'])
  .default('clear')
  .describe(
    'What a blank cell means. keep: the known value. clear: the field is cleared. reject: the cell cannot be read, and a new person cannot join without it.',
  )
const trim = z.boolean().default(true).describe('Whether blanks around the text are removed.')
const lowercase = z.boolean().default(false).describe('Whether the text is sent in lower case.')

/** The options of a rule besides the source of its text. These are those of a key. */
export const keyOptions = { trim, lowercase, blankWhen }
/** The settings of a text field. */
export const textOptions = {
  optional,
  onBlank,
  map: valuesTo(z.string().max(191).nullable()),
  trim,
  lowercase,
  blankWhen,
}
/** The settings of an e-mail address. */
export const emailOptions = { optional, onBlank, blankWhen }
/** The settings of the contractor flag. */
export const contractorOptions = { optional, onBlank, map: valuesTo(z.boolean().nullable()), blankWhen }
/** The settings of a start date. */
export const startOptions = { optional, onBlank, ...dateFormat, blankWhen }
/** The settings of a leaving date. */
export const leavingOptions = {
  optional,
  onBlank: z
    .enum(['keep', 'clear', 'reject'])
    .default('clear')
    .describe(
      'What a blank leaving date means. keep: nothing. clear: the person is employed. reject: the cell cannot be read.',
    ),
  ...dateFormat,
  means: z
    .enum(['lastDayWorked', 'firstDayGone'])
    .default('lastDayWorked')
    .describe('The day that the column names: the last day of employment, or the day after.'),
  future: z
    .enum(['send', 'defer'])
    .default('defer')
    .describe('Whether a future leaving date is sent at once, or on its day.'),
  blankWhen,
}

/** The settings of an own property. The schema of the record decides how its cells are read. */
export const ownOptions = {
  optional,
  onBlank,
  map: valuesTo(z.union([z.string(), z.number(), z.boolean(), z.null()])),
  trim,
  lowercase,
  blankWhen,
  separator: z.string().min(1).default(';').describe('The text between the members of a list.'),
  decimal: z
    .enum(['.', ','])
    .default('.')
    .describe('The decimal sign. The other one may separate groups of three digits.'),
  ...dateFormat,
}

const segment = String.raw`[^.\s][^.]*`
const ownPath = new RegExp(`^${segment}(\\.${segment})*$`)

/** The properties of a record by their dotted names. */
export function ownRules<R extends z.ZodType>(rules: R) {
  return z
    .record(z.string().regex(ownPath, { error: 'expected the name of a property, such as laptop.returned' }), rules)
    .superRefine((record, context) => {
      const names = Object.keys(record)
      for (const name of names) {
        const inner = names.find((other) => other.startsWith(`${name}.`))
        const segments = name.split('.')
        if (segments[0] === 'id') addProblem(context, 'is the key of a record: it comes from fields.identityId', [name])
        if (segments.includes('__proto__')) addProblem(context, 'is a name that no schema can hold', [name])
        if (inner !== undefined) addProblem(context, `cannot hold a value and "${inner}" too`, [name])
      }
    })
    .describe(
      'Which column holds which property of a record, by its dotted name, such as laptop.returned. For a CUSTOM connection.',
    )
}

/** The property of a rule according to the schema of the record. */
export const propertyOption = {
  property: z.strictObject({ type: z.enum(propertyTypes), isList: z.boolean(), mayBeNull: z.boolean() }),
}

/** The column of the status, and the meaning of its values. */
export const StatusRule = z
  .strictObject({
    ...textSource,
    optional,
    leftWhen: z.array(z.string()).min(1).describe('The values that say that a person has left.'),
    employedWhen: z
      .array(z.string())
      .default([])
      .describe(
        'The values that say that a person is employed. A value in neither list holds the plan until `rollcall accept-status` classifies it.',
      ),
    blankWhen,
  })
  .superRefine((rule, context) => {
    addProblem(context, sourceProblem(rule))
    addProblem(context, statusProblem(rule))
  })
  .describe('A column that says whether a person has left.')

/** When a status that says "left" takes effect. */
export const StatusMeans = z
  .enum(['now', 'onDate'])
  .describe(
    'When a status that says "left" takes effect. now: at once. onDate: on the leaving date of the row, for systems that set the status ahead.',
  )
export type StatusMeans = z.infer<typeof StatusMeans>

/** What an unreadable cell costs: its field, or its row. */
export const OnBadCell = z
  .enum(['keepField', 'rejectRow'])
  .describe(
    'What happens if a cell cannot be read. keepField: its field stays as it was. rejectRow: the whole row is rejected.',
  )
export type OnBadCell = z.infer<typeof OnBadCell>

/** The values of the action column, by action. */
export type ActionValues = { readonly [A in Action | 'ignore']?: readonly string[] | undefined }

const values = z.array(z.string()).min(1).optional()

/** The column that states what a row is about, with its values. */
export const ActionRule = z
  .strictObject({
    ...textSource,
    join: values.describe('The values for a person who joined or came back.'),
    change: values.describe('The values for a person whose facts changed.'),
    leave: values.describe('The values for a leaver.'),
    retract: values.describe('The values for a person who was sent by mistake. Only the key is read.'),
    ignore: values.describe('The values of rows to skip; "*" for all other values.'),
  })
  .superRefine((rule, context) => {
    addProblem(context, sourceProblem(rule))
    addProblem(context, actionProblem(rule))
  })
  .describe('A column that says what a row of a delta is about. A value that is not listed rejects the row.')

/** Which of several rows of a person applies. */
export const SeveralRows = z
  .union([
    z.literal('reject'),
    z.strictObject({
      latest: z
        .strictObject({ column: Columns, ...rankFormat })
        .superRefine(checkFormats)
        .describe(
          'The column that decides which row is the latest: of dates if format is given, else of whole numbers.',
        ),
    }),
  ])
  .describe('What several rows of one person mean: all are rejected, or the latest one is used.')

/** The rows that are in scope. */
export const Scope = z
  .string()
  .trim()
  .min(1)
  .max(2000)
  .describe('A JSONata expression over the columns of a row: true for rows in scope, false for rows to leave out.')

/** The column with the group of a person, such as the department. */
export const Group = Column.describe('The column with the group of each person. It stays in Rollcall.')

/** The column that names the time zone of a row. */
export const RowTimeZone = z
  .strictObject({ column: Columns, optional })
  .describe(
    'A column with the IANA time zone of each row, such as Europe/Berlin. A blank cell means the time zone of the source.',
  )

/** The rule of a field: the name of its column, or settings. Parsed rules are always settings, with defaults. */
export function fieldRule<S extends z.ZodRawShape>(options: S) {
  const full = z.strictObject({ ...textSource, ...options }).superRefine(checkRule)
  return z.union([Column.transform((column) => full.parse({ column })), full])
}

/** Overrides of a rule: another source of the text, options alone, or null for "not mapped". Without defaults. */
export function rulePatch(options: z.ZodRawShape) {
  return z.union([Column, z.null(), z.strictObject(withoutDefaults({ ...textSource, ...options }))]).optional()
}

function checkRule(parsed: object, context: z.RefinementCtx): void {
  // The options are a type parameter, so their type is lost here. Every kind of options fits this type.
  const rule = parsed as TextRule & Parameters<typeof checkFormats>[0] & MapRule
  addProblem(context, sourceProblem(rule))
  checkFormats(rule, context)
  checkMap(rule, context)
}

type MapRule = {
  readonly map?: Readonly<Record<string, unknown>>
  readonly property?: { readonly type: string } | undefined
}

/** Adds the values of a map that the property cannot hold. The schema checks texts. */
function checkMap({ map = {}, property }: MapRule, context: z.RefinementCtx): void {
  for (const [from, to] of Object.entries(map)) {
    const text = String(to).trim()
    if (to === null || property === undefined) continue
    if (property.type === 'boolean' && text !== 'true' && text !== 'false')
      addProblem(context, 'the schema wants true or false here', ['map', from])
    const isNumber = typeof to !== 'boolean' && text !== '' && Number.isFinite(Number(text))
    if (property.type === 'number' && !isNumber) addProblem(context, 'the schema wants a number here', ['map', from])
    if (property.type === 'integer' && !(isNumber && Number.isSafeInteger(Number(text))))
      addProblem(context, 'the schema wants a whole number here', ['map', from])
  }
}

function statusProblem({ leftWhen, employedWhen }: { leftWhen: readonly string[]; employedWhen: readonly string[] }) {
  const leaverValues = new Set(leftWhen.map(foldValue))
  return employedWhen.some((value) => leaverValues.has(foldValue(value)))
    ? 'a value is listed in leftWhen and in employedWhen: it can mean one thing only'
    : null
}

function actionProblem(rule: ActionValues): string | null {
  const listed = actions.flatMap((action) => rule[action] ?? [])
  const ignored = rule.ignore ?? []
  if (listed.length === 0) return 'list the values of at least one of join, change, leave and retract'
  const folded = [...listed, ...ignored].map(foldValue)
  return new Set(folded).size === folded.length ? null : 'a value is listed twice: it can mean one thing only'
}

function valuesTo<V extends z.ZodType>(value: V) {
  return z
    .record(z.string(), value)
    .optional()
    .describe('What each value becomes; "*" stands for all others. Without "*", an unlisted value cannot be read.')
}

function withoutDefaults(shape: z.ZodRawShape): z.ZodRawShape {
  return Object.fromEntries(
    Object.entries(shape).map(([name, schema]) => {
      const open = schema instanceof z.ZodDefault ? z.optional(schema.unwrap()) : z.optional(schema)
      return [name, open.meta(z.globalRegistry.get(schema) ?? {})]
    }),
  )
}
