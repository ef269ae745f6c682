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

/** A column of dates and the evidence of how they are written. */
type Column = {
  readonly field: ProposedDates['field']
  readonly column: string
  readonly usual: DateForm
  readonly evidence: DateEvidence
  /** The cells that mean "no date", each once, and the number of their rows. */
  readonly placeholders: readonly string[]
  readonly placeholderRows: number
}

/** How the dates of a column are read; undefined: a question; null: unknown, with a note. */
type Decision = { readonly form: DateForm; readonly why: string } | null | undefined

/** Adds the formats of dates, as decided by the dates themselves, by another column or by a person. */
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
    const evidence = dateEvidence(real, usual)
    const placeholderRows = read.texts.length - real.length
    return [{ field, column: read.column, usual, evidence, placeholders, placeholderRows }]
  })
}

function decide({ evidence, usual }: Column, columns: readonly Column[], { dateFormat }: Answers): Decision {
  const answer: Decision = dateFormat === undefined ? undefined : { form: formOfAnswer(dateFormat), why: 'as you said' }
  const certain = columns.flatMap((one) => (one.evidence.kind === 'one' ? [{ ...one, form: one.evidence.form }] : []))
  switch (evidence.kind) {
    case 'none': {
      if (answer !== undefined) return answer
      const [other] = certain
      if (other === undefined) return { form: usual, why: 'the default; no row has a date' }
      return { form: other.form, why: `as in "${other.column}"; no row has a date` }
    }
    case 'one':
      if (rivalOf(evidence, columns) !== undefined) return isFormOf(evidence, answer?.form) ? answer : undefined
      return { form: evidence.form, why: 'the dates fit no other format' }
    case 'unknown':
      return answer ?? null
    case 'several': {
      if (answer !== undefined) return answer
      const other = certain.find(({ form }) => isAmong(form, evidence.forms))
      if (other === undefined) return undefined
      return { form: other.form, why: `as in "${other.column}", where the dates fit no other format` }
    }
    default:
      return evidence satisfies never
  }
}

/** Whether it reads all dates, or nearly all of them. */
function isFormOf({ form, near = [] }: Extract<DateEvidence, { kind: 'one' }>, answer: DateForm | undefined): boolean {
  return answer !== undefined && isAmong(answer, [form, ...near])
}

/** The form of another column that nearly all dates of this one have, too: the others may be mistyped. */
function rivalOf(evidence: DateEvidence, columns: readonly Column[]): DateForm | undefined {
  if (evidence.kind !== 'one') return undefined
  const sure = columns.flatMap((one) =>
    one.evidence.kind === 'one' && one.evidence.near === undefined ? [one.evidence] : [],
  )
  return sure.find(({ form }) => isAmong(form, evidence.near ?? []))?.form
}

function choicesOf({ evidence }: Column, columns: readonly Column[]): readonly DateForm[] {
  if (evidence.kind === 'several') return evidence.forms
  const rival = rivalOf(evidence, columns)
  return evidence.kind === 'one' && rival !== undefined ? [evidence.form, rival] : []
}

function notesOn({ column, evidence, placeholders, placeholderRows }: Column, { dateFormat }: Answers): string[] {
  const notes: string[] = []
  if (placeholders.length > 0)
    notes.push(
      `${placeholderRows === 1 ? 'One cell' : `${placeholderRows} cells`} in "${column}" ${placeholderRows === 1 ? 'stands' : 'stand'} for no date (${placeholders.join(', ')}) and count as blank (blankWhen).`,
    )
  if (evidence.kind === 'one' && evidence.unread > 0)
    notes.push(
      `${evidence.unread === 1 ? 'One date' : `${evidence.unread} dates`} in "${column}" cannot be read as ${formatsText(evidence.form)}; "rollcall check" says where.`,
    )
  if (evidence.kind === 'one' && dateFormat !== undefined && !isFormOf(evidence, formOfAnswer(dateFormat)))
    notes.push(
      `The dates in "${column}" are not written as ${dateFormat}: they can be read as ${formatsText(evidence.form)} only.`,
    )
  if (evidence.kind === 'unknown' && dateFormat === undefined)
    notes.push(
      `Rollcall does not recognise the format of the dates in "${column}": choose it here, or set format in the configuration.`,
    )
  return notes
}

/** The rule with these cells as blank ones. A list of the configuration replaces the preset's. */
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

function formatsText({ format }: DateForm): string {
  return [format].flat().join(' or ')
}

function formOfAnswer(format: string): DateForm {
  return { format, ...(/(?<!y)yy(?!y)/.test(format) && { pivot: 2049 }) }
}

function formOf(rule: unknown): DateForm {
  const { format = 'yyyy-MM-dd', pivot, language } = asRule(rule) as Partial<DateForm>
  return { format, ...(pivot !== undefined && { pivot }), ...(language !== undefined && { language }) }
}
