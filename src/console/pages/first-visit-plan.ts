import type { FirstPlan } from '../../contract/control/first-visit.ts'
import type { ChangeView, RejectView, Verdict } from '../../contract/control/shapes.ts'
import { Failure } from '../../errors.ts'
import { failureStatuses } from '../../http/server/failure-statuses.ts'
import { actionLink, textField } from '../../web/forms.ts'
import { type Html, html, type Renderable } from '../../web/html.ts'
import { card, heading, notice } from '../../web/layout.ts'
import { badge, code, figures, joined, listing } from '../../web/parts.ts'
import { table } from '../../web/tables.ts'
import { number, pluralize } from '../../web/words.ts'
import type { Fields, PageContext, Site } from '../site/site.ts'
import {
  countChanges,
  fieldName,
  firstVisitHref,
  guardName,
  kindBadge,
  sentence,
  valueText,
  withCode,
} from '../site/words.ts'
import { collectAnswers, uploadHref } from './first-visit-answers.ts'
import { goneHref, proposedFor, type ReadingResult } from './first-visit-reading.ts'

/** How many changes are shown before a visitor asks for more. */
const maxChangesShown = 10

/** Adds the page with the plan of a first run, and the action that writes the connection. */
export function planPages(site: Site): void {
  site.page(`${firstVisitHref}/:upload/plan`, async (context, fields) => {
    const reading = await proposedFor(context, fields)
    if (reading === null) return { to: goneHref }
    const { upload } = reading.proposed
    const answers = collectAnswers(fields, reading.proposed)
    const back = uploadHref(upload.id, '', answers)
    const plan = reading.refused ?? (await planOf(context, fields, reading))
    const head = heading({
      title: 'What a first run would do',
      crumbs: [
        { name: 'Connect HR', href: firstVisitHref },
        { name: upload.name, href: back },
      ],
      lead: leadText(plan),
    })
    const content =
      typeof plan === 'string'
        ? html`${head}${notice(plan, 'bad')}<p>${actionLink({ href: back, name: 'Back to how it is read', kind: 'main' })}</p>`
        : html`${head}${planParts(plan, { connect: uploadHref(upload.id, '/connection', answers), back, backName: 'Back to how it is read' })}`
    return { title: 'What a first run would do', content, section: 'overview' }
  })

  site.action(`${firstVisitHref}/:upload/connection`, {
    section: 'overview',
    operation: 'makeFirstConnection',
    ask: async (context, fields) => {
      const { plan, answers } = await plannedFor(context, fields)
      return {
        title: `Connect ${answers.name ?? plan.connection}?`,
        explanation: plan.upload.bytes === null ? listText(plan) : exportText(plan),
        fields: keyField(plan),
        hidden: { ...answers, digest: plan.digest },
        button: 'Write it and connect',
        cancel: uploadHref(plan.upload.id, '/plan', answers),
      }
    },
    perform: async (context, fields) => {
      const { plan, reading } = await plannedFor(context, fields)
      const { upload } = plan
      const body = { reading: reading.answers, ...connectionFields(fields), digest: fields('digest') }
      const { connection, file, source, isTakenUp } = await context.control.makeFirstConnection({
        params: { upload: upload.id },
        body: { ...body, ...(fields('apiKey') && { apiKey: fields('apiKey') }) },
      })
      const next = isTakenUp ? '' : ' Restart Rollcall to apply the new configuration.'
      return {
        to: `${firstVisitHref}/done`,
        done: `The connection ${connection} was written to ${file}. ${upload.bytes === null ? 'Start' : `Put an export at ${source}, and start`} a run on the overview page.${next}`,
      }
    },
  })
}

function leadText(plan: FirstPlan | string): Html | string {
  if (typeof plan === 'string') return 'Nothing is stored or sent.'
  if (plan.upload.bytes !== null) return 'Calculated from the export that you uploaded. Nothing is stored or sent.'
  return html`Calculated from the list at ${plan.source}. ${plan.end !== null && html`How Rollcall recognised its end: ${plan.end}. `}Nothing is stored or sent.`
}

function connectionFields(fields: Fields) {
  const folder = fields('folder')
  return { name: fields('name'), ...(folder !== '' && { folder }), timeZone: fields('timeZone') }
}

async function askPlan(
  { control }: PageContext,
  fields: Fields,
  { proposed, answers }: ReadingResult,
): Promise<FirstPlan> {
  const params = { upload: proposed.upload.id }
  return await control.planFirstRun({ params, body: { reading: answers, ...connectionFields(fields) } })
}

/** The plan, or a sentence that says why there is none. */
async function planOf(context: PageContext, fields: Fields, reading: ReadingResult): Promise<FirstPlan | string> {
  try {
    return await askPlan(context, fields, reading)
  } catch (error) {
    if (error instanceof Failure && failureStatuses[error.code] < 500)
      return sentence(error.message, reading.proposed.upload.name)
    throw error
  }
}

async function plannedFor(context: PageContext, fields: Fields) {
  const reading = await proposedFor(context, fields)
  if (reading === null)
    throw new Failure(
      'not_found',
      'the export or address is no longer stored here: go to the overview and give it again',
    )
  if (reading.refused !== null) throw new Failure('usage', reading.refused)
  return { reading, plan: await askPlan(context, fields, reading), answers: collectAnswers(fields, reading.proposed) }
}

/** What a first run would do, of an export or a list. */
type PlannedRun = Omit<FirstPlan, 'upload' | 'makesFolder'>

type PlanLinks = { readonly connect: string; readonly back: string; readonly backName: string }

/** The parts of the page that shows what a first run would do. */
export function planParts(plan: PlannedRun, { connect, back, backName }: PlanLinks): Html {
  const { counts, rows, records, changes, guards, rejected, rejects, warnings, text, file } = plan
  const failed = guards.filter(({ ok }) => !ok)
  const all = countChanges(counts)
  return html`<section class="card" aria-label="In numbers">${figures([
    { name: 'Rows', value: number(rows) },
    { name: 'People', value: number(records) },
    { name: 'Have left already', value: number(guards.find(({ name }) => name === 'leftJoiners')?.actual ?? 0) },
    { name: 'Would be sent', value: number(all), tone: all === 0 ? 'wait' : 'good' },
    { name: 'Unreadable rows and cells', value: number(rejected), tone: rejected === 0 ? 'plain' : 'bad' },
  ])}</section>
${failed.length > 0 && card({ title: 'This plan would be held', id: 'guards', tone: 'wait', content: heldText(failed) })}
${plan.key.trouble !== null && card({ title: 'The API key of the platform', id: 'key', tone: 'wait', content: keyText(plan.key) })}
${warnings.length > 0 && card({ title: 'Warnings about the data', id: 'warnings', content: html`<ul class="lines">${warnings.map((warning) => html`<li>${warning}</li>`)}</ul>` })}
${rejected > 0 && card({ title: html`Rows and cells that cannot be read <span class="faint">${number(rejected)}</span>`, id: 'rejects', content: html`${rejectsTable(rejects)}${shownText(rejected, rejects)}` })}
${card({ title: html`New content of ${file}`, id: 'text', content: listing('The configuration', text) })}
${card({ title: html`People who would be sent <span class="faint">${number(all)}</span>`, id: 'changes', content: html`${changesTable(changes.slice(0, maxChangesShown))}${moreChanges(changes.slice(maxChangesShown))}${shownText(all, changes)}` })}
<div class="row">${actionLink({ href: connect, name: 'Connect …', kind: 'main' })}
${actionLink({ href: back, name: backName })}</div>`
}

function keyText({ isKnown, file, trouble }: PlannedRun['key']): Html {
  if (isKnown || file === null) return html`<p>${sentence(trouble ?? '')}</p>`
  return html`<p>Rollcall has no key yet. The last step asks for it, and writes it to ${code(file)}.</p>`
}

function moreChanges(changes: readonly ChangeView[]): Html | false {
  return (
    changes.length > 0 &&
    html`<details><summary>${number(changes.length)} more</summary>${changesTable(changes)}</details>`
  )
}

function shownText(all: number, shown: readonly unknown[]): Html | false {
  return all > shown.length && html`<p class="hint">The first ${number(shown.length)} are shown.</p>`
}

function heldText(failed: readonly Verdict[]): Html {
  return html`<p>Somebody would have to approve it before anything is sent.</p>
<ul class="lines">${failed.map(({ name, reason, hints = [] }) => html`<li>${withCode(sentence(reason ?? guardName(name)))}${hints.map((hint) => html`<p class="hint">${withCode(sentence(hint))}</p>`)}</li>`)}</ul>`
}

function changesTable(changes: readonly ChangeView[]): Html {
  return table({
    caption: 'People who would be sent',
    columns: [
      { name: 'Person', kind: 'row', cell: ({ identityId }) => html`<span class="key">${identityId}</span>` },
      { name: 'Change', cell: ({ kind }) => kindBadge(kind) },
      { name: 'What is sent', kind: 'sentence', cell: ({ fields }) => sentText(fields) },
    ],
    rows: changes,
    empty: 'Nobody would be sent.',
  })
}

/** On one line, because a first run sends many. */
function sentText(fields: ChangeView['fields'] = {}): Html {
  return joined(
    Object.entries(fields).flatMap(([name, change]) =>
      'to' in change && change.to !== null
        ? [html`<span class="faint">${fieldName(name)}</span> ${valueText(name, change.to)}`]
        : [],
    ),
    ' · ',
  )
}

function rejectsTable(rejects: readonly RejectView[]): Html {
  return table({
    caption: 'Rows and cells that cannot be read',
    columns: [
      { name: 'Line', kind: 'row', cell: ({ line }) => `line ${number(line)}` },
      { name: 'Column', kind: 'long', cell: ({ column }) => column },
      { name: 'Why', kind: 'sentence', cell: ({ reason }) => reason },
      {
        name: 'Ignored',
        cell: ({ cellOnly, mayLeave }) =>
          html`${cellOnly ? 'the field' : 'the row'}${mayLeave && html` ${badge('May have left', 'bad')}`}`,
      },
    ],
    rows: rejects,
    empty: 'Every row can be read.',
  })
}

/** What connecting a list writes. */
export function listText(plan: PlannedRun): Html {
  const more = html`<li>Rollcall reads ${code(plan.source)} every night at 02:00.</li>`
  return writingText(plan, { noun: 'list', more })
}

function exportText(plan: FirstPlan): Html {
  const { makesFolder, source } = plan
  const more = html`${makesFolder !== null && html`<li>The folder ${code(makesFolder)} is created.</li>`}
<li>The export that you uploaded is removed. Rollcall reads exports from ${code(source)}: put it there too.</li>`
  return writingText(plan, { noun: 'export', more })
}

/** `more`: lines about where people are read from. */
type WrittenSource = { readonly noun: 'export' | 'list'; readonly more: Renderable }

function writingText(
  { file, text, secretFiles, key, counts, guards }: PlannedRun,
  { noun, more }: WrittenSource,
): Html {
  const people = pluralize(countChanges(counts), 'person', 'people')
  const effect = guards.every(({ ok }) => ok)
    ? `would send ${people}`
    : `would be held until somebody approves it. It would then send ${people}`
  return html`<ul class="lines">
<li>The connection is written to ${code(file)}, and Rollcall starts to use it.</li>
${secretFiles.map((path) => html`<li>A secret is written to ${code(path)}, which only the account of Rollcall can read.</li>`)}
${key.file !== null && html`<li>The key is written to ${code(key.file)}, which only the account of Rollcall can read.</li>`}
${more}
<li>Nothing is sent now. A first run over this ${noun} ${effect}.</li>
</ul>
<details open><summary>New content of the file</summary>${listing('The configuration', text)}</details>
${key.trouble !== null && key.file === null && html`<p class="notice bad">${sentence(key.trouble)}</p>`}`
}

/** The field for the key of the platform; null if the key comes from elsewhere. */
export function keyField({ key }: Pick<PlannedRun, 'key'>): Html | null {
  if (key.file === null) return null
  return textField({
    name: 'apiKey',
    type: 'password',
    label: 'The API key of the platform',
    required: true,
    maxLength: 4096,
    hint: 'Rollcall tests the key before it stores it. The test changes nothing on the platform.',
  })
}
