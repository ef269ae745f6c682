import type { ProposedReading, ReadingAnswers } from '../../contract/control/first-visit.ts'
import { Failure } from '../../errors.ts'
import { failureStatuses } from '../../http/server/failure-statuses.ts'
import { actionLink, type Option, selectField, textField } from '../../web/forms.ts'
import { type Html, html, type Renderable } from '../../web/html.ts'
import { card, heading, notice } from '../../web/layout.ts'
import { joined } from '../../web/parts.ts'
import { table } from '../../web/tables.ts'
import { number, pluralize } from '../../web/words.ts'
import type { Fields, PageContext, Site } from '../site/site.ts'
import { fieldName, firstVisitHref, sentence } from '../site/words.ts'
import {
  addValueAnswers,
  columnOption,
  fieldInput,
  notSent,
  readAnswers,
  uploadHref,
  valuesOf,
} from './first-visit-answers.ts'
import { columnSelect, statusMeanings, valuesPart } from './reading-parts.ts'

type Question = ProposedReading['questions'][number]

/** The encodings to choose from. */
export const encodings: readonly Option[] = [
  ...['utf-8', 'utf-16le', 'utf-16be'],
  ...['windows-1252', 'windows-1250', 'windows-1251', 'windows-1253', 'windows-1254', 'windows-1255', 'windows-1257'],
  ...['iso-8859-2', 'iso-8859-15', 'macintosh', 'cp850', 'shift_jis', 'gb18030'],
].map((name) => ({ value: name, name }))
/** The delimiters to choose from. */
export const delimiters: readonly Option[] = [
  { value: ',', name: 'comma' },
  { value: ';', name: 'semicolon' },
  { value: 'tab', name: 'tab' },
  { value: '|', name: 'pipe' },
]
const defaultFolder = 'exports'
const defaultName = 'HR'

/** The page for visitors whose export is gone. */
export const goneHref = `${firstVisitHref}?gone=1`

/** Adds the page that shows how an export is read, with a form to change it. */
export function readingPages(site: Site): void {
  site.page(`${firstVisitHref}/:upload`, async (context, fields) => {
    const reading = await proposedFor(context, fields)
    if (reading === null) return { to: goneHref }
    const title = `How ${reading.proposed.upload.name} is read`
    const content = html`${reading.refused && notice(reading.refused, 'bad')}
${heading({
  title,
  crumbs: [{ name: 'Connect HR', href: firstVisitHref }],
  lead: 'Check that each column is mapped to the right field. Nothing is stored yet.',
  actions: actionLink({
    href: uploadHref(reading.proposed.upload.id, '/drop'),
    name: isAddress(reading.proposed) ? 'Remove the list' : 'Remove the export',
  }),
})}
${readingForm(reading.proposed, fields)}`
    return { title, content, section: 'overview' }
  })
}

/** A proposal for an uploaded export, and the answers it uses. */
export type ReadingResult = {
  readonly proposed: ProposedReading
  readonly answers: ReadingAnswers
  /** Why the answers of the visitor were refused; null if they were used. */
  readonly refused: string | null
}

/** The proposal with the answers of the visitor; null if the export is gone. Refused answers are left out, with the reason. */
export async function proposedFor({ control }: PageContext, fields: Fields): Promise<ReadingResult | null> {
  const params = { upload: fields('upload') }
  const propose = (body: ReadingAnswers) => control.proposeReading({ params, body })
  try {
    const bare = await propose(readAnswers(fields, []))
    const names = [...bare.fields.map(({ field }) => field), ...bare.otherFields]
    const answers = readAnswers(fields, names)
    const first = await propose(answers)
    const complete = addValueAnswers(answers, fields, first)
    return { proposed: await propose(complete), answers: complete, refused: null }
  } catch (error) {
    if (!(error instanceof Failure) || failureStatuses[error.code] >= 500) throw error
    if (error.code === 'not_found' || fields('upload') === '') return null
    const answers = readAnswers(() => '', [])
    const proposed = await propose(answers).catch(() => null)
    if (proposed === null) throw error
    return { proposed, answers, refused: sentence(error.message, proposed.upload.name) }
  }
}

/** One form for the whole page. It changes nothing, so the answers are part of the address. */
function readingForm(proposed: ProposedReading, fields: Fields): Html {
  const { upload, questions, notes } = proposed
  const at = uploadHref(upload.id)
  return html`<form class="stack" method="get" action="${at}/plan">
${(questions.length > 0 || notes.length > 0) && card({ title: 'Please check', id: 'questions', tone: 'wait', content: questionsPart(proposed, fields) })}
${card({ title: proposed.form.format === 'json' ? 'The list' : 'The file', id: 'file', content: filePart(proposed, fields) })}
${card({ title: 'Columns', id: 'columns', content: columnsPart(proposed, fields) })}
${proposed.statuses && card({ title: html`What the values of ${proposed.statuses.column} mean`, id: 'statuses', content: statusesPart(proposed, fields) })}
${proposed.contractors && card({ title: html`What the values of ${proposed.contractors.column} mean`, id: 'contractors', content: contractorsPart(proposed, fields) })}
${card({ title: 'The connection', id: 'connection', content: connectionPart(proposed, fields) })}
<div class="row"><button class="main">Show what a first run would do</button>
<button formaction="${at}" formnovalidate>Show this page with my changes</button></div>
</form>`
}

function questionsPart({ questions, notes }: ProposedReading, fields: Fields): Html {
  const values = questions.filter(({ about }) => about === 'status' || about === 'contractor').length
  return html`${questions.map((question): Renderable => {
    switch (question.about) {
      case 'identityId':
        return selectField({
          name: fieldInput('identityId'),
          label: 'Which column holds the key that identifies a person and never changes?',
          options: [{ value: '', name: 'Choose a column' }, ...question.choices.map(columnOption)],
          value: fields(fieldInput('identityId')),
          required: true,
        })
      case 'leavers':
        return leaversPart(question, fields)
      case 'dateFormat':
        return selectField({
          name: 'dateFormat',
          label: html`How are the dates in ${joined(question.columns, ' and ')} written?`.toString(),
          options: [
            { value: '', name: 'Choose a format' },
            ...question.choices.map((format) => ({ value: format, name: format })),
          ],
          value: fields('dateFormat'),
          required: true,
        })
      case 'status':
      case 'contractor':
        return null
      default:
        return question satisfies never
    }
  })}
${values > 0 && html`<p>Rollcall does not know the meaning of ${pluralize(values, 'value')}. Choose it below. A value without a meaning holds the plan.</p>`}
${notes.length > 0 && html`<ul class="lines">${notes.map((note) => html`<li>${note}</li>`)}</ul>`}`
}

/** One choice for the date columns and one for the status columns that could show who has left. */
function leaversPart({ dates, statuses }: Extract<Question, { about: 'leavers' }>, fields: Fields): Html {
  const choice = (field: string, label: string, columns: readonly string[]) =>
    columns.length > 0 &&
    selectField({
      name: fieldInput(field),
      label,
      options: [
        { value: '', name: 'Choose a column' },
        ...columns.map(columnOption),
        { value: notSent, name: 'none of them' },
      ],
      value: fields(fieldInput(field)),
    })
  return html`<p>Rollcall found no column that shows who has left. Choose it. If there is none, only people who are missing from the export are treated as leavers.</p>
${choice('separatedAt', 'Which column is the last day of employment?', dates)}
${choice('status', 'Which column is the status of employment?', statuses)}`
}

/** The fields whose columns are chosen at a question. */
function questionFields(question: Question): string[] {
  if (question.about === 'identityId') return ['identityId']
  if (question.about !== 'leavers') return []
  return [...(question.dates.length > 0 ? ['separatedAt'] : []), ...(question.statuses.length > 0 ? ['status'] : [])]
}

function filePart(
  { form, presets, preset, title, why, dates, columns, questions }: ProposedReading,
  fields: Fields,
): Html {
  return html`<p>${formText(form, columns.length)}</p>
${selectField({
  name: 'preset',
  label: 'System that wrote the export',
  options: presets.map((one) => ({
    value: one.name === preset && fields('preset') === '' ? '' : one.name,
    name: one.title,
  })),
  value: fields('preset'),
  hint: html`${title}: ${why}.`,
})}
${dates.length > 0 && html`<ul class="lines">${dates.map(({ column, format, why: reason }) => html`<li>Dates in ${column}: <code>${format}</code> <span class="hint">(${reason})</span></li>`)}</ul>`}
${formFields(form, fields)}
${!questions.some(({ about }) => about === 'dateFormat') && html`<details><summary>The dates have another format</summary>${textField({ name: 'dateFormat', label: 'Date format', value: fields('dateFormat'), hint: 'For example dd/MM/yyyy. Only needed if the dates are ambiguous.' })}</details>`}`
}

/** How the file or the list is written, in words. */
function formText(form: ProposedReading['form'], columns: number): Html {
  const { headerLine, linesAfterHeader, rows, isWhole, format } = form
  const isList = format === 'json'
  const names = isList ? ['record was', 'records were'] : ['row was', 'rows were']
  const checked = html`${!isWhole && 'Only the first '}${pluralize(rows, ...(names as [string, string]))} checked`
  if (isList) return html`${pluralize(columns, 'column')}, by their paths in a record. ${checked}.`
  return html`${pluralize(columns, 'column')} ${writtenHow(form)}. The header is in ${format === 'xlsx' ? 'row' : 'line'} ${number(headerLine)}${linesAfterHeader > 0 && html`, with ${pluralize(linesAfterHeader, 'further header line')} below it`}. ${checked}.`
}

function writtenHow({ format, sheet, encoding, delimiter }: ProposedReading['form']): string {
  if (format === 'xlsx') return sheet === null ? 'in the only sheet of a workbook' : `in the sheet ${sheet}`
  const between = delimiters.find(({ value }) => value === delimiter)?.name ?? delimiter
  return `separated by ${between}, encoded as ${encoding}`
}

/** What a person changes where the form of a file was not detected rightly. A list at an address has none. */
function formFields({ format, sheet, records }: ProposedReading['form'], fields: Fields): Html | false {
  if (format === 'json') return records !== null && recordsField(records, fields)
  const detected = { value: '', name: 'detected automatically' }
  const sheetField =
    sheet !== null && textField({ name: 'sheet', label: 'Sheet', value: fields('sheet') || sheet, maxLength: 100 })
  const textFields = html`${selectField({ name: 'encoding', label: 'Encoding', options: [detected, ...encodings], value: fields('encoding') })}
${selectField({ name: 'delimiter', label: 'Delimiter', options: [detected, ...delimiters], value: fields('delimiter') })}`
  return html`<details><summary>The file has another format</summary>
${format === 'xlsx' ? sheetField : textFields}
${textField({ name: 'headerLine', label: format === 'xlsx' ? 'Header row' : 'Header line', type: 'number', value: fields('headerLine') })}
</details>`
}

/** Of an uploaded JSON file: where its list is. */
function recordsField(records: string, fields: Fields): Html {
  const value = fields('records') || records
  return html`<details><summary>The people are in another list, or Rollcall refuses this one</summary>
${textField({ name: 'records', label: 'Path of the list', value, maxLength: 200, hint: 'Such as /data/items.' })}
${textField({ name: 'ignoredStatements', label: 'Ignored statements', value: fields('ignoredStatements'), maxLength: 200, hint: 'Paths of counts or page links that are not about this list, such as /departments/total, separated by commas.' })}
</details>`
}

function columnsPart({ fields: mapped, otherFields, columns, left, questions }: ProposedReading, fields: Fields): Html {
  const chosenElsewhere = new Set(questions.flatMap(questionFields))
  const choice = (field: string, column: string | null): Html | false => {
    const canBeLeftOut = column !== null && field !== 'identityId'
    return !chosenElsewhere.has(field) && columnSelect({ field, column, columns, canBeLeftOut }, fields)
  }
  const rows = [
    ...mapped.map(({ field, column, examples, why }) => ({ field, column, examples, why })),
    ...otherFields.map((field) => ({ field, column: null, examples: [], why: null })),
  ]
  return html`${table({
    caption: 'Which column each field is read from',
    columns: [
      { name: 'Field', kind: 'row', cell: ({ field }) => fieldName(field) },
      {
        name: 'Column',
        cell: ({ field, column, why }) =>
          html`${choice(field, fields(fieldInput(field)) === '' ? column : null)}${why && html` <span class="hint">${why}</span>`}`,
      },
      { name: 'Examples', kind: 'long', cell: ({ examples }) => joined(examples, ' · ') },
    ],
    rows,
    empty: 'The export has no columns.',
  })}
<h3>Columns that are not read</h3>
${left.length === 0 ? html`<p class="empty">Every column is read.</p>` : html`<p class="address">${joined(left)}</p>`}`
}

/** The name of the list that contains a value; `open` if none does. */
function meaningIn(lists: Readonly<Record<string, readonly { readonly value: string }[] | undefined>>) {
  return (value: string): string =>
    Object.keys(lists).find((name) => lists[name]?.some((one) => one.value === value)) ?? 'open'
}

function statusesPart(proposed: ProposedReading, fields: Fields): Html {
  const meaning = meaningIn({ left: proposed.statuses?.left, employed: proposed.statuses?.employed })
  return valuesPart(
    'status',
    valuesOf(proposed).statuses.map((one) => ({ ...one, meaning: meaning(one.value) })),
    {
      meanings: statusMeanings,
      caption: 'What each status means',
      fields,
    },
  )
}

function contractorsPart(proposed: ProposedReading, fields: Fields): Html {
  const meaning = meaningIn({
    contractor: proposed.contractors?.contractor,
    employee: proposed.contractors?.employee,
  })
  return valuesPart(
    'contractor',
    valuesOf(proposed).contractors.map((one) => ({ ...one, meaning: meaning(one.value) })),
    {
      meanings: [
        { value: 'employee', name: 'an employee' },
        { value: 'contractor', name: 'a contractor' },
        { value: 'open', name: 'unknown' },
      ],
      caption: 'Who is a contractor',
      fields,
    },
  )
}

/** Whether a list is read from an address. */
function isAddress({ upload }: Pick<ProposedReading, 'upload'>): boolean {
  return upload.bytes === null
}

function connectionPart(proposed: ProposedReading, fields: Fields): Html {
  return html`${textField({
    name: 'name',
    label: 'Name of the connection on the platform',
    value: fields('name') || defaultName,
    required: true,
    maxLength: 100,
    hint: 'The first run creates it if it does not exist.',
  })}
${!isAddress(proposed) && folderField(fields)}
${textField({
  name: 'timeZone',
  label: 'Time zone of the dates',
  value: fields('timeZone') || proposed.timeZone,
  required: true,
  maxLength: 100,
  hint: 'For example Europe/Berlin.',
})}`
}

function folderField(fields: Fields): Html {
  return textField({
    name: 'folder',
    label: 'Folder for exports',
    value: fields('folder') || defaultFolder,
    required: true,
    maxLength: 500,
    hint: 'On the machine that runs Rollcall, relative to the folder of its configuration. Rollcall reads the newest file there every night at 02:00.',
  })
}
