import type { ConnectionColumns } from '../../contract/control/settings-changes.ts'
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
  const { connection, file, digest, statuses, rows } = read
  const title = `Columns of ${connection}`
  const statusColumn = read.fields.find(({ field }) => field === 'status')
  const form = html`${hidden('digest', digest)}
${card({ title: 'Columns', id: 'columns', content: columnsTable(read, fields) })}
${
  statusColumn
    ? card({
        title: 'What the status words mean',
        id: 'statuses',
        content:
          statusColumn.column === null
            ? html`<p class="hint">The status is not read from a single column of this export, so its words are not listed. Save a column for it first, or edit the words as YAML.</p>`
            : html`<p class="hint">The most frequent words of the first ${pluralize(rows, 'row')}. If you choose another column for the status, save that first: its words show here afterwards.</p>
${valuesPart(
  'status',
  statuses.map((one) => ({ ...one, meaning: one.means })),
  { meanings: statusMeanings, caption: 'What each status means', fields },
)}`,
      })
    : html`<p class="hint">No column says who has left. To read one, add ${code('status')} in YAML.</p>`
}
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

function columnsTable({ fields: mapped, columns }: ConnectionColumns, fields: Fields): Html {
  return table({
    caption: 'Which column each field is read from',
    columns: [
      { name: 'Field', kind: 'row', cell: ({ field }) => fieldName(field) },
      {
        name: 'Column',
        cell: ({ field, column, written }) => {
          const isSent = column !== null || written !== null
          const canBeLeftOut = isSent && field !== 'identityId' && field !== 'status'
          const present = column ?? (written === null ? 'nothing' : `as written: ${written}`)
          return columnSelect({ field, column, present, columns, canBeLeftOut }, fields)
        },
      },
    ],
    rows: mapped,
    empty: 'The export has no columns.',
  })
}

/** Shows what the choices change as if the settings that they make had been typed. */
async function preview(context: PageContext, fields: Fields): Promise<Content> {
  const read = await readColumns(context, fields)
  const { connection } = read
  const chosen = choicesIn(read, fields)
  if (Object.keys({ ...chosen.fields, ...chosen.statuses }).length === 0)
    return columnsPage(read, { context, fields, refused: 'Nothing was chosen yet.' })
  try {
    const body = { digest: fields('digest'), ...chosen }
    const { sections } = await context.control.chooseConnectionColumns({ params: { connection }, body })
    const settings = await readSettings(context, fields)
    const typed = new Map([['digest', fields('digest')]])
    for (const { section, text } of settings.sections) {
      typed.set(partInput(section), sections[section] ?? text)
      typed.set(markInput(section), hashOf(text))
    }
    return await previewPage(context, (name) => (name === 'connection' ? connection : (typed.get(name) ?? '')))
  } catch (error) {
    if (!(error instanceof Failure) || (error.code !== 'conflict' && error.code !== 'usage')) throw error
    return columnsPage(read, { context, fields, refused: sentence(error.message) })
  }
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
