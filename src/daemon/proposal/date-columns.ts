import { type MappingPatch, mergePreset } from '../../identity/mapping/mapping.ts'
import { placeholdersIn } from '../../identity/mapping/placeholder-dates.ts'
import type { Preset } from '../config/presets.ts'
import { asRule, type Texts } from './cells.ts'
import { type DateEvidence, type DateForm, dateEvidence, isAmong } from './dates.ts'
import type { Answers, ProposedDates, Question } from './proposal.ts'

type DateColumns = {
  readonly patch: MappingPatch
  readonly dates: readonly ProposedDates[]
  readonly questions: readonly Question[]
  readonly notes: readonly string[]
}

const dateFields = ['startedAt', 'separatedAt'] as const

/** A column of dates with what its cells say of how they are written. */
type Column = {
  readonly field: ProposedDates['field']
  readonly column: string
  readonly usual: DateForm
  readonly found: DateEvidence
  /** The cells that stand for no date, each once, and how many rows have them. */
  readonly placeholders: readonly string[]
  readonly placeholderRows: number
}

/** How the dates of a column are read; undefined: that is to be asked. null: nobody knows it, and a note says so. */
type Decision = { readonly form: DateForm; readonly why: string } | null | undefined

/** Adds how dates are written, where the dates decide it, another column of the export does, or a person has. */
export function dateColumns(
  texts: Texts,
  preset: Preset,
  { patch, answers }: { readonly patch: MappingPatch; readonly answers: Answers },
): DateColumns {
  const columns = columnsIn(texts, preset, patch)
  const fields: Record<string, unknown> = { ...patch.fields }
  const dates: ProposedDates[] = []
  const open: Column[] = []
  for (const column of columns) {
    const { field, usual, placeholders } = column
    if (placeholders.length > 0) fields[field] = withBlanks(fields[field], preset, { field, placeholders })
    const decision = decide(column, columns, answers)
    if (decision === undefined) open.push(column)
    if (!decision) continue
    const { form, why } = decision
    dates.push({ field, column: column.column, format: [form.format].flat().join(' or '), why })
    if (String(form.format) !== String(usual.format) || form.language !== usual.language || form.pivot !== usual.pivot)
      fields[field] = { ...asRule(fields[field]), ...form }
  }
  const choices = open.flatMap((column) => [choicesOf(column, columns)])[0] ?? []
  const question: Question = {
    about: 'dateFormat',
    columns: open.map(({ column }) => column),
    choices: choices.map(({ format }) => [format].flat().join(' or ')),
  }
  return {
    patch: { ...patch, fields: fields as MappingPatch['fields'] },
    dates,
    questions: open.length === 0 ? [] : [question],
    notes: columns.flatMap((column) => notesOn(column, answers)),
  }
}

function columnsIn(texts: Texts, preset: Preset, patch: MappingPatch): Column[] {
  const merged = mergePreset(preset.mapping, patch).fields
  return dateFields.flatMap((field) => {
    const read = texts.get(field)
    if (read === undefined) return []
    const usual = formOf(merged[field])
    const placeholders = placeholdersIn(read.texts)
    const isNone = new Set(placeholders)
    const real = read.texts.filter((text) => !isNone.has(text.trim()))
    const found = dateEvidence(real, usual)
    const placeholderRows = read.texts.length - real.length
    return [{ field, column: read.column, usual, found, placeholders, placeholderRows }]
  })
}

function decide({ found, usual }: Column, columns: readonly Column[], { dateFormat }: Answers): Decision {
  const answer: Decision = dateFormat === undefined ? undefined : { form: formSaid(dateFormat), why: 'as you said' }
  const certain = columns.flatMap((one) => (one.found.kind === 'one' ? [{ ...one, form: one.found.form }] : []))
  switch (found.kind) {
    case 'none': {
      if (answer !== undefined) return answer
      const [other] = certain
      if (other === undefined) return { form: usual, why: 'the usual way; no row has a date' }
      return { form: other.form, why: `as in "${other.column}"; no row has a date` }
    }
    case 'one':
      if (rivalOf(found, columns) !== undefined) return isFormOf(found, answer?.form) ? answer : undefined
      return { form: found.form, why: 'the dates leave no other reading' }
    case 'unknown':
      return answer ?? null
    case 'several': {
      if (answer !== undefined) return answer
      const other = certain.find(({ form }) => isAmong(form, found.forms))
      if (other === undefined) return undefined
      return { form: other.form, why: `as in "${other.column}", where the dates leave no other reading` }
    }
    default:
      return found satisfies never
  }
}

/** Whether it reads the dates, or nearly all of them. */
function isFormOf({ form, near = [] }: Extract<DateEvidence, { kind: 'one' }>, said: DateForm | undefined): boolean {
  return said !== undefined && isAmong(said, [form, ...near])
}

/** The form of another column that nearly all dates of this one have, too: the others may be mistyped. */
function rivalOf(found: DateEvidence, columns: readonly Column[]): DateForm | undefined {
  if (found.kind !== 'one') return undefined
  const sure = columns.flatMap((one) => (one.found.kind === 'one' && one.found.near === undefined ? [one.found] : []))
  return sure.find(({ form }) => isAmong(form, found.near ?? []))?.form
}

function choicesOf({ found }: Column, columns: readonly Column[]): readonly DateForm[] {
  if (found.kind === 'several') return found.forms
  const rival = rivalOf(found, columns)
  return found.kind === 'one' && rival !== undefined ? [found.form, rival] : []
}

function notesOn({ column, found, placeholders, placeholderRows }: Column, { dateFormat }: Answers): string[] {
  const notes: string[] = []
  if (placeholders.length > 0)
    notes.push(
      `${placeholderRows === 1 ? 'One cell' : `${placeholderRows} cells`} in "${column}" ${placeholderRows === 1 ? 'stands' : 'stand'} for no date (${placeholders.join(', ')}) and count as blank (blankWhen).`,
    )
  if (found.kind === 'one' && found.unread > 0)
    notes.push(
      `${found.unread === 1 ? 'One date' : `${found.unread} dates`} in "${column}" cannot be read so; "rollcall check" says where.`,
    )
  if (found.kind === 'one' && dateFormat !== undefined && !isFormOf(found, formSaid(dateFormat)))
    notes.push(
      `The dates in "${column}" are not written as ${dateFormat}: they can be read as ${[found.form.format].flat().join(' or ')} only.`,
    )
  if (found.kind === 'unknown' && dateFormat === undefined)
    notes.push(
      `The dates in "${column}" are written in no way that is known here: say how they are written, or write format into the configuration.`,
    )
  return notes
}

/** The rule with these cells as blank ones. A list of the configuration takes the place of the preset's. */
function withBlanks(
  rule: unknown,
  preset: Preset,
  { field, placeholders }: Pick<Column, 'field' | 'placeholders'>,
): Readonly<Record<string, unknown>> {
  const { blankWhen = [] } = asRule(
    mergePreset(preset.mapping, { fields: { [field]: rule } } as MappingPatch).fields[field],
  )
  return { ...asRule(rule), blankWhen: [...new Set([...(blankWhen as readonly string[]), ...placeholders])] }
}

function formSaid(format: string): DateForm {
  return { format, ...(/(?<!y)yy(?!y)/.test(format) && { pivot: 2049 }) }
}

function formOf(rule: unknown): DateForm {
  const { format = 'yyyy-MM-dd', pivot, language } = asRule(rule) as Partial<DateForm>
  return { format, ...(pivot !== undefined && { pivot }), ...(language !== undefined && { language }) }
}
