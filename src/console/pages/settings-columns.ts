import { ConnectionColumns } from '../../contract/control/settings-changes.ts'
import { Failure } from '../../errors.ts'
import { actionForm, hidden } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { card, heading, notice } from '../../web/layout.ts'
import { code } from '../../web/parts.ts'
import { table } from '../../web/tables.ts'
import { pluralize } from '../../web/words.ts'
import type { Content } from '../site/frame.ts'
import type { Fields, PageContext, Site } from '../site/site.ts'
import { connectionHref, fieldName, sentence } from '../site/words.ts'
import { readAnswers, valueInput } from './first-visit-answers.ts'
import { columnSelect, statusMeanings, valuesPart } from './reading-parts.ts'
import { previewPage, readSettings, settingsHref } from './settings-change.ts'
import { hashOf, markInput, partInput } from './settings-sections.ts'

/** Below a longer list of words, the button is out of sight. */
const manyWords = 10

const path = '/connections/:connection/settings/columns'

/** Adds the page on which an admin chooses the columns of a connection and what its status words mean, as at the first visit. */
export function settingsColumnsPages(site: Site): void {
  site.page(path, async (context, fields) => {
    const refusal = context.notAllowed('chooseConnectionColumns')
    if (refusal === null) return columnsPage(await readColumns(context, fields), { context, fields })
    const title = `Columns of ${fields('connection')}`
    const content = html`${heading({ title })}<p class="empty" role="status">You cannot change the settings: ${refusal}.</p>`
    return { title, content, section: 'settings' }
  })
  site.resultPage(`${path}/preview`, preview)
}

async function readColumns({ control }: PageContext, fields: Fields): Promise<ConnectionColumns> {
  return await control.getConnectionColumns({ params: { connection: fields('connection') } })
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
  const form = html`${hidden('digest', digest)}${hidden('shown', toHidden(read))}
${card({
  title: 'Columns',
  id: 'columns',
  content: html`${columnsTable(read, fields)}
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
  const status = read.fields.find(({ field }) => field === 'status')
  if (!status) return html`<p class="hint">No column says who has left. To read one, add ${code('status')} in YAML.</p>`
  const content =
    status.column === null
      ? html`<p class="hint">The status is not read from a single column of this export, so its words are not listed. Save a column for it first, or edit the words as YAML.</p>`
      : html`<p class="hint">${wordsText(read)} If you choose another column for the status, save that first: its words show here afterwards.</p>
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
    unknown === 0 ? 'All have a meaning.' : `${pluralize(unknown, 'unknown word stands', 'unknown words stand')} first.`
  const more =
    moreStatuses === 0
      ? ''
      : ` ${pluralize(moreStatuses, 'further word is', 'further words are')} not listed: add the words in YAML.`
  return `Counted in the first ${pluralize(rows, 'row')}.${statuses.length === 0 ? '' : ` ${known}`}${more}`
}

/** What the page shows, for the next step: the export may be another one by then. */
function toHidden(read: ConnectionColumns): string {
  return Buffer.from(JSON.stringify(read)).toString('base64url')
}

function fromHidden(text: string): ConnectionColumns | null {
  try {
    return ConnectionColumns.parse(JSON.parse(Buffer.from(text, 'base64url').toString()))
  } catch {
    return null
  }
}

function columnsTable({ fields: mapped, columns }: ConnectionColumns, fields: Fields): Html {
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
          const problem = trouble === null || trouble === 'notNeeded' ? undefined : troubles[trouble]
          return columnSelect({ field, column, present: presentText(read), columns, canBeLeftOut, problem }, fields)
        },
      },
    ],
    rows: mapped,
    empty: 'The export has no columns.',
  })
}

const troubles = {
  missing: 'The export has no such column, so runs are held. Choose the one that has it now.',
  lost: 'The last accepted export had it and this one has none, so runs are held. Choose the one that has it now.',
  several: 'The export has several columns of that name, so runs are held. Choose another one.',
} as const

/** Where the field comes from now. */
function presentText({ column, written, trouble }: ConnectionColumns['fields'][number]): string {
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
  const settings = await readSettings(context, fields)
  if (settings.digest !== digest) return again(movedText(shown), { ...shown, digest: settings.digest })
  try {
    const { sections } = await context.control.chooseConnectionColumns({ params, body: { digest, ...chosen } })
    const typed = new Map([
      ['connection', connection],
      ['digest', digest],
    ])
    for (const { section, text } of settings.sections) {
      typed.set(partInput(section), sections[section] ?? text)
      typed.set(markInput(section), hashOf(text))
    }
    return await previewPage(context, (name) => typed.get(name) ?? '')
  } catch (error) {
    if (!(error instanceof Failure) || (error.code !== 'conflict' && error.code !== 'usage')) throw error
    return again(sentence(error.message))
  }
}

function movedText({ file }: ConnectionColumns): string {
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
