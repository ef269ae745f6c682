import { requestTexts } from '../../contract/control/person-texts.ts'
import type { PersonAccount, RevertAccount, Run, RunAccount } from '../../contract/control/shapes.ts'
import { Failure } from '../../errors.ts'
import { type Html, html, type Renderable } from '../../web/html.ts'
import { card } from '../../web/layout.ts'
import { definitions, joined } from '../../web/parts.ts'
import { type Column, table } from '../../web/tables.ts'
import { pluralize, formatInstant, number } from '../../web/words.ts'
import { seesValues } from '../site/control.ts'
import type { PageContext } from '../site/site.ts'
import { shortId } from '../site/words.ts'
import { answerText, fieldName, fieldsText, kindBadge, personLink, runHref, valueText } from '../site/words.ts'

/** So many people are named on a page. */
const namedAtMost = 200

/** What a run of one person, or one that takes another back, accounts for beyond its plan; null: nothing. */
export async function accountPart(run: Run, context: PageContext): Promise<Html | null> {
  const account = run.feed === 'person' || run.feed === 'revert' ? await accountOf(run, context) : null
  if (account?.person) return personCard(account.person, run)
  return account?.revert ? revertCard(account.revert, run) : null
}

async function accountOf({ id: runId }: Run, { control, caller }: PageContext): Promise<RunAccount | null> {
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
    title: html`From the row to the answer: ${personLink({ connection, identityId })}`,
    id: 'account',
    content: html`<p>${source}, as of ${formatInstant(asOf)}</p>
${rows.length === 0 && html`<p class="empty">The source has no row of this person.</p>`}
${rows.map(
  ({ place, reason, cells }) => html`<div class="group"><h3>Row ${place}</h3>
${reason !== null && html`<p class="reason">It does not count: ${reason}.</p>`}
${table({ caption: `Cells of ${place}`, columns, rows: cells, empty: 'No cell of it is mapped.' })}</div>`,
)}
${definitions([
  ['Decision', decision === 'none' ? 'nothing to send' : kindBadge(decision)],
  ['Evidence', evidence.length > 0 && html`<ul class="list">${evidence.map((line) => html`<li>${line}</li>`)}</ul>`],
  ['Request', delivery && html`${requestTexts[delivery.kind]} ${delivery.fields && fieldsText(delivery.fields)}`],
  ['Answer', delivery && answerText(delivery)],
])}`,
  })
}

/** A date too, as the row has it. */
function asWritten(text: Cell['text']): Renderable {
  return typeof text === 'string' && text !== '' ? text : valueText('', text)
}

function readAs({ field, value, normalised, keeps, reason }: Cell): Renderable {
  if (reason !== null) return html`cannot be used: ${reason}`
  if (keeps) return 'says nothing; what is known stays'
  return html`${valueText(field, value)}${normalised && html` <span class="hint">written otherwise than in the cell</span>`}`
}

function revertCard({ runId, people, joiners, retracted, left }: RevertAccount, { connection }: Run): Html {
  const columns: readonly Column<RevertAccount['left']['people'][number]>[] = [
    { name: 'Person', kind: 'row', cell: ({ identityId }) => personLink({ connection, identityId }) },
    { name: 'Why', kind: 'long', cell: ({ reason }) => reason },
  ]
  const named = ({ count, keys }: RevertAccount['joiners']) =>
    count > 0 &&
    html`${number(count)} <span class="hint">${joined(keys.slice(0, namedAtMost).map((identityId) => personLink({ connection, identityId })))}${count > namedAtMost && ` and ${number(count - namedAtMost)} more`}</span>`
  return card({
    title: html`What it takes back: <a href="${runHref(runId)}">run ${shortId(runId)}</a>`,
    id: 'account',
    content: html`<p>${pluralize(people, 'person goes back', 'people go back')} to what was known of them before that run.</p>
${definitions([
  ['Joined by it, and left as they are', named(joiners)],
  ['Retracted by it, and left so', named(retracted)],
])}
${(joiners.count > 0 || retracted.count > 0) && html`<p class="hint">The page of each person retracts them, or takes the retraction back.</p>`}
${left.count > 0 && html`<div class="group"><h3>Left as they are <span class="faint">${number(left.count)}</span></h3>${table({ caption: 'People who are left as they are', columns, rows: left.people.slice(0, namedAtMost), empty: null })}</div>`}
<p class="hint">The next export is read as ever. If HR has not mended it, the same changes are planned again, under the same guards. A leaving of a single person can be held back on their page.</p>`,
  })
}
