import { requestTexts } from '../../contract/control/person-texts.ts'
import type { PersonAccount, RevertAccount, Run, RunAccount } from '../../contract/control/shapes.ts'
import { Failure } from '../../errors.ts'
import { type Html, html, type Renderable } from '../../web/html.ts'
import { card } from '../../web/layout.ts'
import { definitions, joined } from '../../web/parts.ts'
import { type Column, table } from '../../web/tables.ts'
import { formatInstant, number, pluralize } from '../../web/words.ts'
import { seesValues } from '../site/control.ts'
import type { PageContext } from '../site/site.ts'
import { answerText, fieldName, fieldsText, kindBadge, personLink, runHref, shortId, valueText } from '../site/words.ts'

/** Maximum number of people named on the page. */
const maxNamedPeople = 200

/** The details of a run of one person or of a revert; null for other runs. */
export async function accountPart(run: Run, context: PageContext): Promise<Html | null> {
  const account = run.feed === 'person' || run.feed === 'revert' ? await fetchRunAccount(run, context) : null
  if (account?.person) return personCard(account.person, run)
  return account?.revert ? revertCard(account.revert, run) : null
}

async function fetchRunAccount({ id: runId }: Run, { control, caller }: PageContext): Promise<RunAccount | null> {
  try {
    return await control.runAccount({ params: { runId }, query: { values: seesValues(caller) } })
  } catch (error) {
    if (error instanceof Failure && error.code === 'not_found') return null
    throw error
  }
}

type Cell = PersonAccount['rows'][number]['cells'][number]

function personCard(account: PersonAccount, { connection }: Run): Html {
  const { identityId, source, asOf, rows, decision, evidence, delivery } = account
  const columns: readonly Column<Cell>[] = [
    { name: 'Column', kind: 'row', cell: ({ column }) => column },
    { name: 'Field', cell: ({ field }) => fieldName(field) },
    { name: 'Cell', kind: 'long', cell: ({ text }) => asWritten(text) },
    { name: 'Read as', kind: 'long', cell: readAs },
  ]
  return card({
    title: html`From the row to the response: ${personLink({ connection, identityId })}`,
    id: 'account',
    content: html`<p>${source}, as of ${formatInstant(asOf)}</p>
${rows.length === 0 && html`<p class="empty">The source has no row for this person.</p>`}
${rows.map(
  ({ place: location, reason, cells }) => html`<div class="group"><h3>Row ${location}</h3>
${reason !== null && html`<p class="reason">Not used: ${reason}.</p>`}
${table({ caption: `Cells of ${location}`, columns, rows: cells, empty: 'No cell of it is mapped.' })}</div>`,
)}
${definitions([
  ['Decision', decision === 'none' ? 'nothing to send' : kindBadge(decision)],
  ['Evidence', evidence.length > 0 && html`<ul class="list">${evidence.map((line) => html`<li>${line}</li>`)}</ul>`],
  ['Request', delivery && html`${requestTexts[delivery.kind]} ${delivery.fields && fieldsText(delivery.fields)}`],
  ['Response', delivery && answerText(delivery)],
])}`,
  })
}

/** Dates too are shown as the row has them. */
function asWritten(text: Cell['text']): Renderable {
  return typeof text === 'string' && text !== '' ? text : valueText('', text)
}

function readAs({ field, value, normalised, keeps, reason }: Cell): Renderable {
  if (reason !== null) return html`cannot be used: ${reason}`
  if (keeps) return 'empty: the known value stays'
  return html`${valueText(field, value)}${normalised && html` <span class="hint">normalized</span>`}`
}

function revertCard(
  { runId, people, joiners, retracted, left: notReverted }: RevertAccount,
  { connection }: Run,
): Html {
  const columns: readonly Column<RevertAccount['left']['people'][number]>[] = [
    { name: 'Person', kind: 'row', cell: ({ identityId }) => personLink({ connection, identityId }) },
    { name: 'Why', kind: 'long', cell: ({ reason }) => reason },
  ]
  const named = ({ count, keys }: RevertAccount['joiners']) =>
    count > 0 &&
    html`${number(count)} <span class="hint">${joined(keys.slice(0, maxNamedPeople).map((identityId) => personLink({ connection, identityId })))}${count > maxNamedPeople && ` and ${number(count - maxNamedPeople)} more`}</span>`
  return card({
    title: html`Reverts <a href="${runHref(runId)}">run ${shortId(runId)}</a>`,
    id: 'account',
    content: html`<p>${pluralize(people, 'person gets', 'people get')} back the data from before that run.</p>
${definitions([
  ['Joined in that run (not reverted)', named(joiners)],
  ['Retracted in that run (not reverted)', named(retracted)],
])}
${(joiners.count > 0 || retracted.count > 0) && html`<p class="hint">Retract a person, or undo a retraction, on the page of the person.</p>`}
${notReverted.count > 0 && html`<div class="group"><h3>Not reverted <span class="faint">${number(notReverted.count)}</span></h3>${table({ caption: 'People who are not reverted', columns, rows: notReverted.people.slice(0, maxNamedPeople), empty: null })}</div>`}
<p class="hint">The next export is read as usual. If HR has not fixed it, the same changes are planned again, with the same guards. To hold back the departure of one person, use the page of the person.</p>`,
  })
}
