import { foldValue } from '../../identity/mapping/fold-value.ts'
import { normaliseHeader } from '../../identity/mapping/headers.ts'
import type { MappingPatch } from '../../identity/mapping/mapping.ts'
import { isPlaceholderDate } from '../../identity/mapping/placeholder-dates.ts'
import { type FieldName, fieldNames } from '../../identity/record.ts'
import type { Presets } from '../config/presets.ts'
import { cellsAt, cellsOf, doubledNames, share } from './cells.ts'
import type { ChosenPreset } from './choose-preset.ts'
import { dateEvidence } from './dates.ts'
import type { Answers, ReadField } from './proposal.ts'
import type { Table } from './table.ts'
import { namesIn, type Rule, rulesOf, type Thesaurus } from './thesaurus.ts'
import { statusWords } from './vocabulary.ts'

type MoreColumns = {
  readonly fields: NonNullable<MappingPatch['fields']>
  readonly status?: MappingPatch['status']
  readonly why: ReadonlyMap<string, string>
}

const likeEmail = /^[^\s@]+@[^\s@]+\.[^\s@]+$/

type ColumnContext = { readonly presets: Presets; readonly thesaurus: Thesaurus; readonly answers: Answers }

/** Adds fields that the preset does not find, by names in other systems and by the content of columns, and a person's answers. */
export function moreColumns(
  table: Table,
  chosen: ChosenPreset,
  { presets, thesaurus, answers }: ColumnContext,
): MoreColumns {
  const { isDoubled, isOpen, elsewhere } = columnsBeside(table, chosen, thesaurus)
  const fields: Record<string, unknown> = {}
  const why = new Map<string, string>()
  for (const field of fieldNames) {
    const answer = answers.fields?.[field]
    if (answer === null || (answer === undefined && isDoubled(field))) fields[field] = null
    else if (answer !== undefined) {
      fields[field] = ruleFor(field, answer, presets)
      why.set(field, 'as you said')
    } else if (isOpen(field)) {
      const header = elsewhere(field)
      const column = header ?? (field === 'email' ? emailColumn(table) : undefined)
      if (column === undefined) continue
      fields[field] = ruleFor(field, column, presets)
      why.set(field, header === undefined ? 'its cells are e-mail addresses' : 'other HR systems use this name')
    }
  }
  const answer = answers.fields?.status
  const column = answer ?? (answer === undefined && isOpen('status') ? elsewhere('status') : undefined)
  if (answer !== undefined && answer !== null) why.set('status', 'as you said')
  else if (column !== undefined) why.set('status', 'other HR systems use this name')
  const status = answer === null || (answer === undefined && isDoubled('status')) ? null : statusRule(column, chosen)
  return { fields: fields as MoreColumns['fields'], ...(status !== undefined && { status }), why }
}

/** Which columns there are for the fields that the preset does not find. */
function columnsBeside(table: Table, { preset, isCertain }: ChosenPreset, thesaurus: Thesaurus) {
  const rules = rulesOf(preset)
  const headers = new Set(table.headers.map(normaliseHeader))
  const taken = new Set(rules.flatMap(([, names]) => names.map(normaliseHeader)))
  const has = new Map(rules.map(([field, names]) => [field, names.some((name) => headers.has(normaliseHeader(name)))]))
  const doubled = doubledNames(table)
  // "Nome" is the first name beside a last name, and both names alone.
  const hasLastName = table.headers.some((one) => thesaurus.fieldOf(one) === 'lastName')
  const isBothNames = (field: string, header: string) =>
    field === 'firstName' && !hasLastName && thesaurus.isCalled(header, 'fullName')
  return {
    isDoubled(field: string): boolean {
      const names = rules.find(([one]) => one === field)?.[1] ?? []
      return names.some((name) => doubled.has(normaliseHeader(name)))
    },
    // A preset leaves a field out on purpose, as where a status does not tell leavers from people on leave.
    isOpen: (field: ReadField) => has.get(field) === false || (!isCertain && !has.has(field)),
    elsewhere: (field: ReadField) =>
      table.headers.find(
        (one) =>
          !taken.has(normaliseHeader(one)) &&
          !doubled.has(normaliseHeader(one)) &&
          thesaurus.fieldOf(one) === field &&
          !isBothNames(field, one) &&
          fits(table, one, { field, thesaurus }),
      ),
  }
}

/** The status in a column that the preset does not name, with the preset's words for it. */
function statusRule(column: string | undefined, { preset }: ChosenPreset): MappingPatch['status'] | undefined {
  if (column === undefined) return undefined
  const { leftWhen = [...statusWords.left.en], employedWhen = [] } = preset.mapping.status ?? {}
  return { column, leftWhen: [...leftWhen], employedWhen: [...employedWhen], optional: false }
}

function ruleFor(field: FieldName, column: string, presets: Presets): Readonly<Record<string, unknown>> {
  if (field !== 'isContractor') return { column }
  const map = [...presets.values()].flatMap(({ mapping }) => {
    const rule = mapping.fields?.isContractor
    return typeof rule === 'object' &&
      rule !== null &&
      rule.map !== undefined &&
      namesIn(rule as Rule).some((name) => normaliseHeader(name) === normaliseHeader(column))
      ? [rule.map]
      : []
  })[0]
  return map === undefined ? { column } : { column, map }
}

/** Whether the cells of a column have the kind that its name promises. */
function fits(
  table: Table,
  header: string,
  { field, thesaurus }: { readonly field: string; readonly thesaurus: Thesaurus },
): boolean {
  const cells = cellsOf(table, header)
  // A leaving date is blank for all who stay.
  if (cells.length === 0) return field === 'separatedAt'
  if (field === 'email' || field === 'secondaryEmail') return share(cells, (cell) => likeEmail.test(cell.trim())) > 0.8
  if (field === 'startedAt' || field === 'separatedAt') {
    const dates = cells.filter((cell) => !isPlaceholderDate(cell))
    return dateEvidence(dates, { format: 'yyyy-MM-dd' }).kind !== 'unknown'
  }
  if (field === 'status')
    return (
      share(cells, (cell) => thesaurus.statuses.has(foldValue(cell)) || thesaurus.ambiguous.has(foldValue(cell))) > 0.5
    )
  return true
}

function emailColumn(table: Table): string | undefined {
  return table.headers.find((_header, index) => {
    const cells = cellsAt(table, index)
    return cells.length > table.rows.length / 2 && share(cells, (cell) => likeEmail.test(cell.trim())) > 0.9
  })
}
