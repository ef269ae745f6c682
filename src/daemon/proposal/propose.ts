import type { MappingPatch } from '../../identity/mapping/mapping.ts'
import { isPlaceholderDate } from '../../identity/mapping/placeholder-dates.ts'
import { isTimeZone } from '../../identity/mapping/zones.ts'
import type { Presets } from '../config/presets.ts'
import { cellsAt, countValues, distinct, doubledHeaders, type Texts, textsOf } from './cells.ts'
import { choosePreset } from './choose-preset.ts'
import { dateColumns } from './date-columns.ts'
import { keyColumn } from './key-column.ts'
import { leaverColumns } from './leavers.ts'
import { managerKeys } from './managers.ts'
import { moreColumns } from './more-columns.ts'
import { splitNames } from './names.ts'
import { type Answers, type Proposal, type ProposedField, type ReadField, readFields } from './proposal.ts'
import type { Table } from './table.ts'
import { thesaurusOf } from './thesaurus.ts'
import { interpretValues } from './values.ts'

const maxExamplesShown = 3

/** Proposes how the rows of an export become people. Whatever would separate or hide somebody is asked, never guessed. */
export function propose(table: Table, presets: Presets, answers: Answers = {}): Proposal {
  const chosen = choosePreset(table, presets, answers)
  const { preset } = chosen
  const thesaurus = thesaurusOf(presets)
  const key = keyColumn(table, preset, { thesaurus, answers })
  const columns = moreColumns(table, chosen, { presets, thesaurus, answers })
  const basePatch: MappingPatch = {
    ...key.several?.patch,
    fields: { ...columns.fields, ...(key.override !== null && { identityId: { column: key.override } }) },
    ...(columns.status !== undefined && { status: columns.status }),
  }
  // The additions below only define how texts are read, and change none of them.
  const texts = textsOf(table, preset, basePatch)
  const dates = dateColumns(texts, preset, { patch: basePatch, answers })
  const values = interpretValues(texts, chosen, { patch: dates.patch, thesaurus, answers })
  const names = namesToSplit(texts, answers) ? splitNames(table, thesaurus) : null
  const managers = answers.fields?.managerId === undefined ? managerKeys(texts, table) : null
  const mappedFields = mappedFieldsOf(texts, { table, why: columns.why })
  const fields = inOrder([...mappedFields, ...(names?.fields ?? [])])
  const hasField = (field: ReadField) => fields.some((one) => one.field === field)
  const unreadColumns = columnsNotRead(table, fields, values.patch)
  const leavers = leaverColumns(table, {
    isCertain: chosen.isCertain,
    has: {
      leavingDate: hasField('separatedAt'),
      dates: holdsText(texts, 'separatedAt'),
      status: values.statuses !== null,
    },
    unread: unreadColumns,
    thesaurus,
    answers,
  })
  return {
    table,
    preset: chosen.name,
    title: preset.title,
    form: preset.format,
    why: chosen.why,
    fields,
    unreadColumns,
    mapping: { ...values.patch, fields: { ...values.patch.fields, ...names?.patch, ...managers?.patch } },
    statuses: values.statuses,
    contractors: values.contractors,
    dates: dates.dates,
    timeZone: zoneIn(table),
    questions: [
      ...(key.choices.length > 0 ? [{ about: 'identityId', choices: key.choices } as const] : []),
      ...leavers.questions,
      ...dates.questions,
      ...values.questions,
    ],
    notes: [
      ...table.notes,
      ...doubledHeaders(table),
      ...key.notes,
      ...dates.notes,
      ...(managers === null ? [] : [managers.note]),
      ...(hasField('email') ? [] : ['No column holds e-mail addresses. The platform matches people by them.']),
      ...nameNotes(names?.note ?? null, hasField),
      ...leavers.notes,
    ],
  }
}

/** Names are split only if no other column holds one of them and nobody has chosen one. */
function namesToSplit(texts: Texts, { fields }: Answers): boolean {
  const isFree = (field: 'firstName' | 'lastName') => !texts.has(field) && fields?.[field] === undefined
  return isFree('firstName') && isFree('lastName')
}

function nameNotes(split: string | null, hasField: (field: ReadField) => boolean): string[] {
  if (split !== null) return [split]
  return hasField('firstName') || hasField('lastName') ? [] : ['No column holds names, so none are sent.']
}

function mappedFieldsOf(
  texts: Texts,
  { table, why }: { readonly table: Table; readonly why: ReadonlyMap<string, string> },
): ProposedField[] {
  return readFields.flatMap((field) => {
    const mapped = texts.get(field)
    if (mapped === undefined) return []
    const isNone = field === 'startedAt' || field === 'separatedAt' ? isPlaceholderDate : () => false
    const filled = distinct(mapped.texts).filter((text) => !isNone(text))
    const reason = table.rows.length === 0 ? null : (why.get(field) ?? null)
    return [{ field, column: mapped.column, examples: filled.slice(0, maxExamplesShown), why: reason }]
  })
}

function inOrder(fields: readonly ProposedField[]): ProposedField[] {
  return fields.toSorted((a, b) => readFields.indexOf(a.field) - readFields.indexOf(b.field))
}

/** The columns that neither a field nor a setting of rows names. */
function columnsNotRead(
  { headers }: Table,
  fields: readonly ProposedField[],
  { scope, severalRows }: MappingPatch,
): string[] {
  const read = new Set(fields.flatMap(({ column }) => column.split(', ')))
  const rowSettings = JSON.stringify([scope ?? null, severalRows ?? null])
  return headers.filter(
    (header) => header.trim() !== '' && !read.has(header) && !rowSettings.includes(JSON.stringify(header).slice(1, -1)),
  )
}

function zoneIn(table: Table): Proposal['timeZone'] {
  for (const [index, header] of table.headers.entries()) {
    const cells = cellsAt(table, index)
    if (cells.length === 0 || !cells.every((cell) => cell.includes('/') && isTimeZone(cell.trim()))) continue
    const [most] = countValues(cells)
    if (most !== undefined) return { name: most.value, column: header }
  }
  return null
}

function holdsText(texts: Texts, field: ReadField): boolean {
  return texts.get(field)?.texts.some((text) => text.trim() !== '') ?? false
}
