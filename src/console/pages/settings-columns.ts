import { ConnectionColumns } from '../../contract/control/settings-changes.ts'
import { Failure } from '../../errors.ts'
import { plainName } from '../../text/escape.ts'
import { actionForm, actionLink, hiddenInput } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { card, heading, notice } from '../../web/layout.ts'
import { code, joined } from '../../web/parts.ts'
import { table } from '../../web/tables.ts'
import { pluralize } from '../../web/words.ts'
import { seesValues } from '../site/control.ts'
import type { Content } from '../site/frame.ts'
import type { Fields, PageContext, Site } from '../site/site.ts'
import { connectionHref, fieldName, sentence } from '../site/words.ts'
import { readAnswers, valueInput } from './first-visit-answers.ts'
import { columnSelect, statusMeanings, valuesPart } from './reading-parts.ts'
import { previewPage, readSettings, settingsHref } from './settings-change.ts'
import { hashOf, sectionInput, seenTextInput } from './settings-sections.ts'

/** Below a longer list of words, the button is out of sight. */
const manyWords = 10

const path = '/connections/:connection/settings/columns'

/** Adds the page on which an admin chooses the columns of a connection and what its status words mean, as at the first visit. */
export function settingsColumnsPages(site: Site): void {
  site.page(path, async (context, fields) => {
    const refusal = context.notAllowed('chooseConnectionColumns')
    if (refusal === null) return await columnsOrReason(context, fields)
    const title = `Columns of ${fields('connection')}`
    const content = html`${heading({ title })}<p class="empty" role="status">You cannot change the settings: ${refusal}.</p>`
    return { title, content, section: 'settings' }
  })
  site.resultPage(`${path}/preview`, preview)
}

/** `wordsOf`: the column whose values are listed; default: that of the status. */
async function readColumns(context: PageContext, fields: Fields, wordsOf?: string): Promise<ConnectionColumns> {
  const query = { values: seesValues(context.caller), ...(wordsOf !== undefined && { wordsOf }) }
  return await context.control.getConnectionColumns({ params: { connection: fields('connection') }, query })
}

/** The form, or why the export cannot be read, with the way to the settings in YAML. */
async function columnsOrReason(context: PageContext, fields: Fields): Promise<Content> {
  try {
    return columnsPage(await readColumns(context, fields), { context, fields })
  } catch (error) {
    if (!(error instanceof Failure) || error.code === 'not_found') throw error
    const connection = fields('connection')
    const title = `Columns of ${connection}`
    const content = html`${heading({
      title,
      crumbs: [
        { name: connection, href: connectionHref(connection) },
        { name: 'Settings', href: settingsHref(connection) },
      ],
    })}
<p class="notice bad">${sentence(`The columns cannot be shown: ${error.message}`)}</p>
<p>Encoding, delimiter, sheet and header line are part of the settings of the source, which can be changed as YAML.</p>
<div class="row">${actionLink({ href: settingsHref(connection), name: 'Edit as YAML', kind: 'main' })}</div>`
    return { title, content, section: 'settings' }
  }
}

type FormState = {
  readonly context: PageContext
  /** What was chosen so far. */
  readonly fields: Fields
  /** Why the last step was refused. */
  readonly refused?: string
}

function columnsPage(read: ConnectionColumns, { context, fields, refused }: FormState): Content {
  const { connection, file, digest, moreColumns } = read
  const title = `Columns of ${connection}`
  const form = html`${hiddenInput('digest', digest)}${hiddenInput('shown', toHidden(read))}
${card({
  title: 'Columns',
  id: 'columns',
  content: html`${read.otherTroubles.map((text) => html`<p class="error">${sentence(text)}</p>`)}
${columnsTable(read, fields)}
${otherColumns(read)}
${moreColumns > 0 && html`<p class="hint">${pluralize(moreColumns, 'further column')} of the export cannot be chosen here: name them in YAML.</p>`}`,
})}
${read.statuses.length > manyWords && html`<div class="row"><button class="main">See what changes</button></div>`}
${statusCard(read, fields)}
<div class="row"><button class="main">See what changes</button><a class="button" href="${settingsHref(connection)}">Edit as YAML instead</a></div>`
  const content = html`${refused !== undefined && notice(refused, 'bad')}
${heading({
  title,
  crumbs: [
    { name: connection, href: connectionHref(connection) },
    { name: 'Settings', href: settingsHref(connection) },
  ],
  lead: html`As the newest export has them. Your choices become settings in ${code(file)}; nothing is saved before you have seen what changes.`,
})}
${actionForm({ action: settingsHref(connection, '/columns/preview'), formToken: context.formToken, content: form })}`
  return { title, content, section: 'settings' }
}

function statusCard(read: ConnectionColumns, fields: Fields): Html {
  const { wordsOf } = read
  const isRead = read.fields.some(({ field, column, written }) => field === 'status' && (column ?? written) !== null)
  const content =
    wordsOf === null
      ? html`<p class="hint">${isRead ? 'The status is not read from a single column of this export, so its words are not listed.' : 'No column says who has left.'} Choose a column for it above: its words show here with the next step.</p>`
      : html`<p class="hint">The words of ${plainName(wordsOf)}. ${wordsText(read)}</p>
${valuesPart(
  'status',
  read.statuses.map((one) => ({ ...one, meaning: one.means })),
  { meanings: statusMeanings, caption: 'What each status means', fields },
)}`
  return card({ title: 'What the status words mean', id: 'statuses', content })
}

function wordsText({ statuses, moreStatuses, rows }: ConnectionColumns): string {
  const unknown = statuses.filter(({ means }) => means === 'open').length
  const known =
    unknown === 0
      ? `${moreStatuses === 0 ? 'All' : 'Those listed here'} have a meaning.`
      : `${pluralize(unknown, 'unknown word stands', 'unknown words stand')} first.`
  const more =
    moreStatuses === 0
      ? ''
      : ` ${pluralize(moreStatuses, 'further word is', 'further words are')} not listed: add the words in YAML.`
  return `Counted in the first ${pluralize(rows, 'row')}.${statuses.length === 0 ? '' : ` ${known}`}${more}`
}

/** What the page shows, for the next step: the export may be another one by then. */
function toHidden(read: ConnectionColumns): string {
  const withoutCells = { ...read, examples: read.columns.map(() => []) }
  return Buffer.from(JSON.stringify(withoutCells)).toString('base64url')
}

function fromHidden(text: string): ConnectionColumns | null {
  try {
    return ConnectionColumns.parse(JSON.parse(Buffer.from(text, 'base64url').toString()))
  } catch {
    return null
  }
}

/** The first cells of a column. */
function exampleText({ columns, examples }: ConnectionColumns, column: string | null): Html | null {
  const cells = (column === null ? null : examples[columns.indexOf(column)]) ?? []
  return cells.length === 0 ? null : html`<span class="faint">${joined(cells, ' · ')}</span>`
}

const maxOpenColumns = 12

/** The columns that no field is read from: HR may have renamed one of them. */
function otherColumns(shown: ConnectionColumns): Html | null {
  const own = new Set(shown.fields.map(({ column }) => column))
  const others = shown.columns.filter((column) => !own.has(column))
  if (others.length === 0) return null
  const list = html`<ul class="lines">${others.map((column) => html`<li>${plainName(column)} ${exampleText(shown, column)}</li>`)}</ul>`
  if (others.length <= maxOpenColumns) return html`<h3>Other columns of the export</h3>${list}`
  return html`<details><summary>${pluralize(others.length, 'other column')} of the export</summary>${list}</details>`
}

function columnsTable(shown: ConnectionColumns, fields: Fields): Html {
  const { fields: mapped, columns } = shown
  return table({
    caption: 'Which column each field is read from',
    columns: [
      { name: 'Field', kind: 'row', cell: ({ field }) => fieldName(field) },
      {
        name: 'Column',
        cell: (read) => {
          const { field, column, written, trouble } = read
          const isSent = column !== null || written !== null
          const canBeLeftOut = isSent && field !== 'identityId' && field !== 'status'
          const problem = trouble === null || trouble === 'notNeeded' ? undefined : troubleText(trouble, read)
          return columnSelect({ field, column, present: presentText(read), columns, canBeLeftOut, problem }, fields)
        },
      },
      { name: 'Examples', kind: 'long', cell: ({ column }) => exampleText(shown, column) },
    ],
    rows: mapped,
    empty: 'The export has no columns.',
  })
}

type Mapped = ConnectionColumns['fields'][number]

const troubles = {
  missing: 'The export has no such column, so runs are held. Choose the one that has it now.',
  lost: 'The last accepted export had it and this one has none, so runs are held. Choose the one that has it now.',
  several: 'The export has several columns of that name, so runs are held. Choose another one.',
} as const

function troubleText(trouble: keyof typeof troubles, { written, lacking, similar }: Mapped): string {
  const isPart = lacking.length > 0 && lacking.join(', ') !== written
  const hint = similar === null ? '' : ` Did you mean “${plainName(similar)}”?`
  return `${isPart ? `${lacking.join(', ')}: ` : ''}${troubles[trouble]}${hint}`
}

/** Where the field comes from now. */
function presentText({ column, written, trouble }: Mapped): string {
  if (column !== null) return column
  if (written === null) return 'nothing'
  if (trouble === 'notNeeded') return `nothing: the export has no ${written}`
  return trouble === null ? `as written: ${written}` : `${trouble === 'several' ? 'several' : 'missing'}: ${written}`
}

/** Shows what the choices change as if the settings that they make had been typed. */
async function preview(context: PageContext, fields: Fields): Promise<Content> {
  const shown = fromHidden(fields('shown'))
  if (shown === null || shown.connection !== fields('connection'))
    return columnsPage(await readColumns(context, fields), { context, fields, refused: 'Nothing was chosen yet.' })
  const { connection, digest } = shown
  const params = { connection }
  const chosen = choicesIn(shown, fields)
  const again = (refused: string, read = shown) => columnsPage(read, { context, fields, refused })
  if (Object.keys({ ...chosen.fields, ...chosen.statuses }).length === 0) return again('Nothing was chosen yet.')
  const withWords = await wordsPage(shown, { context, fields, column: chosen.fields.status })
  if (withWords !== null) return withWords
  try {
    const settings = await readSettings(context, fields)
    if (settings.digest !== digest) return again(changedFileText(shown), { ...shown, digest: settings.digest })
    const { sections } = await context.control.chooseConnectionColumns({ params, body: { digest, ...chosen } })
    const typed = new Map([
      ['connection', connection],
      ['digest', digest],
    ])
    for (const { section, text } of settings.sections) {
      typed.set(sectionInput(section), sections[section] ?? text)
      typed.set(seenTextInput(section), hashOf(text))
    }
    return await previewPage(context, (name) => typed.get(name) ?? '')
  } catch (error) {
    if (!(error instanceof Failure) || (error.code !== 'conflict' && error.code !== 'usage')) throw error
    return again(sentence(error.message))
  }
}

type ChosenStatus = Pick<FormState, 'context' | 'fields'> & { readonly column: string | null | undefined }

/**
 * The form with the words of the status column that is chosen now, if it has those of another one. Null: it has them already, or the export
 * cannot be read any more.
 */
async function wordsPage(shown: ConnectionColumns, { context, fields, column }: ChosenStatus): Promise<Content | null> {
  const words = plainName(shown.wordsOf ?? '')
  if (column === null || words === (column ?? presentStatus(shown))) return null
  const read = await readColumns(context, fields, column).catch((error: unknown) => {
    if (error instanceof Failure) return null
    throw error
  })
  const page = (of: ConnectionColumns, refused: string) => columnsPage(of, { context, fields, refused })
  if (column === undefined) {
    if (read === null) return page(shown, `The words below are those of ${words}: choose it, or open this page again.`)
    return page(read, 'Another status column is chosen than before: look at its words below, and go on.')
  }
  if (!read?.wordsOf || read.digest !== shown.digest) return null
  return page(read, `Say below what the words of ${column} mean, and go on.`)
}

/** The status column of the settings; empty if the status is read from no single column. */
function presentStatus({ fields }: ConnectionColumns): string {
  return plainName(fields.find(({ field }) => field === 'status')?.column ?? '')
}

function changedFileText({ file }: ConnectionColumns): string {
  return `${file} has changed since you opened this page. Your choices are kept below, beside the settings as they were: continue if they are still right.`
}

function choicesIn({ fields: mapped, statuses }: ConnectionColumns, fields: Fields) {
  const meanings = statuses.flatMap(({ value }) => {
    const answer = fields(valueInput('status', value))
    return answer === 'left' || answer === 'employed' || answer === 'open' ? [[value, answer] as const] : []
  })
  return {
    fields: readAnswers(
      fields,
      mapped.map(({ field }) => field),
    ).fields,
    statuses: Object.fromEntries(meanings),
  }
}
