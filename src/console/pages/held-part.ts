import type { ConnectionStatus, PartSelection, PlanPart, Run } from '../../contract/control/shapes.ts'
import { Failure } from '../../errors.ts'
import { address } from '../../web/address.ts'
import { actionLink, areaField, textField } from '../../web/forms.ts'
import { type Html, html, type Renderable } from '../../web/html.ts'
import { card, heading } from '../../web/layout.ts'
import { figures } from '../../web/parts.ts'
import { number, pluralize } from '../../web/words.ts'
import { seesValues } from '../site/control.ts'
import type { Action, Fields, PageContext, Site } from '../site/site.ts'
import { countChanges, countsText, kindFigures, kinds, runHref, whoText } from '../site/words.ts'
import { decisionHref } from './held-links.ts'
import { changesTable } from './plan-parts.ts'
import { heldRun, runOf } from './run.ts'

/** How many groups are listed at once, and how many can be ticked; others are searched. */
const maxGroups = 20
const maxTickedGroups = 100
/** How many leavers can be ticked; others are named by key. */
const maxTicks = 200
/** How many changes of a part are listed before it is approved, and how many of them are shown at once. */
const maxListed = 500
const maxShown = 25

const nothingElse = { unchanged: 0, rejected: 0, incomplete: 0 }

/** Adds the page on which a part of a held plan is chosen, and the action that approves it. */
export function heldPartPages(site: Site): void {
  site.page('/runs/:runId/part', async (context, fields) => {
    const run = await runOf(context, fields)
    if (run.state !== 'held') return { to: runHref(run.id) }
    const selection = selectionIn(fields)
    const chosen = selection === null ? null : await lookAt(run, context, selection)
    return {
      title: `A part of the held plan of ${run.connection}`,
      section: 'runs',
      content: html`${heading({
        title: html`Approve a part of the plan of ${run.connection}`,
        crumbs: [
          { name: 'Runs', href: '/runs' },
          { name: 'Held plan', href: decisionHref(run) },
        ],
        lead: html`The part is delivered at once. The rest stays held, also in later plans, until somebody approves it.`,
      })}
${chosen && chosenCard(run, context, fields, chosen)}
${await choiceCard(run, context, fields)}`,
    }
  })
  site.action('/runs/:runId/part/approval', approvePart)
}

const tooManyGroups = `at most ${maxTickedGroups} groups can be ticked. Untick some, approve this part, and then choose the others`

function isTooMany(groups: readonly (string | null)[]): boolean {
  return groups.filter((group) => group !== null).length > maxTickedGroups
}

type PartPreview = { readonly part: PlanPart } | { readonly error: string }

async function lookAt(run: Run, { control, caller }: PageContext, selection: PartSelection): Promise<PartPreview> {
  if (isTooMany(selection.groups ?? [])) return { error: tooManyGroups }
  try {
    const query = { values: seesValues(caller), limit: maxListed }
    return { part: await control.previewPart({ params: { runId: run.id }, query, body: selection }) }
  } catch (error) {
    if (error instanceof Failure && error.code === 'usage') return { error: error.message }
    throw error
  }
}

/** What the chosen part does, with the link that approves it. */
function chosenCard(run: Run, context: PageContext, fields: Fields, chosen: PartPreview): Html {
  if ('error' in chosen)
    return html`<p class="notice bad" role="alert">This part cannot be approved: ${chosen.error}.</p>`
  const { part } = chosen
  const { counts, changes, people, remaining } = part
  const approval = address(`${runHref(run.id)}/part/approval`, { ...chosenFields(fields), digest: part.digest })
  return card({
    title: 'This part',
    id: 'part',
    tone: 'wait',
    content: html`${figures(kindFigures({ ...counts, ...nothingElse }))}
<p>It separates <strong>${pluralize(counts.leave, 'leaver')}</strong>. What stays held: ${countsText({ ...remaining, ...nothingElse }) ?? 'people who are sent again'}.</p>
<div class="row">
${actionLink({ href: approval, name: 'Approve this part …', kind: 'main', notAllowed: context.notAllowed('approveRun') })}
<a class="button" href="#choice">Choose another part</a>
</div>
${changesOfPart(changes, run)}
${changes.length < people && html`<p class="hint">and ${pluralize(people - changes.length, 'more change')}</p>`}`,
  })
}

/** The first changes of a part, and the others where they are asked for, so that the form below stays near. */
function changesOfPart(changes: PlanPart['changes'], { connection }: Run): Html {
  const caption = 'The people of this part'
  const [first, others] = [changes.slice(0, maxShown), changes.slice(maxShown)]
  return html`${changesTable(first, { connection, caption, withKind: true, empty: 'nobody' })}
${
  others.length > 0 &&
  html`<details><summary>${pluralize(others.length, 'more change')}</summary>
${changesTable(others, { connection, caption: `${caption}, continued`, withKind: true, empty: 'nobody' })}</details>`
}`
}

/** The form that chooses a part. It only changes the address of the page. */
async function choiceCard(run: Run, context: PageContext, fields: Fields): Promise<Html> {
  const href = `${runHref(run.id)}/part`
  return card({
    title: 'Choose the part',
    id: 'choice',
    content: html`<p>The part has the people who match every choice below. Nothing is sent yet.</p>
<form class="stack" method="get" action="${href}">
${kindChoice(run, fields)}
${await groupChoice(run, context, fields)}
${await peopleChoice(run, context, fields)}
<div class="row"><button class="main">Preview this part</button> <a class="button" href="${decisionHref(run)}">Go back</a></div>
</form>`,
  })
}

function kindChoice({ counts }: Run, fields: Fields): Html {
  const planned = kinds.filter(({ kind }) => (counts?.[kind] ?? 0) > 0)
  return choices(
    'Kinds of change',
    planned.map(({ kind, title }) => ({
      name: `kind-${kind}`,
      value: '1',
      label: html`${title} <span class="faint">${number(counts?.[kind] ?? 0)}</span>`,
      checked: fields(`kind-${kind}`) !== '',
    })),
  )
}

async function groupChoice(run: Run, { control, notAllowed }: PageContext, fields: Fields): Promise<Html | null> {
  if (notAllowed('listPlanGroups') !== null) return null
  const search = fields('search')
  const query = { limit: maxGroups, ...(search && { search }) }
  const { data, count } = await control.listPlanGroups({ params: { runId: run.id }, query })
  const hasGroups = search !== '' || data.some(({ group }) => group !== null)
  if (!hasGroups) return null
  const picked = groupsIn(fields)
  const listed = data.flatMap(({ group }) => group ?? [])
  const ticks = [
    ...picked.filter((group) => !listed.includes(group)).map((group) => ({ group, people: null, leavers: 0 })),
    // So that no tick is lost, too many of them are listed alone.
    ...data.filter(({ group }) => !isTooMany(picked) || group === null || picked.includes(group)),
  ]
  return html`${choices(
    'Groups',
    ticks.map(({ group, people, leavers }, at) => ({
      name: group === null ? 'no-group' : `group-${at}`,
      value: group ?? '1',
      label: html`${group ?? 'No group'} ${people !== null && html`<span class="faint">${pluralize(people, 'change')}, ${pluralize(leavers, 'leaver')}</span>`}`,
      checked: group === null ? fields('no-group') !== '' : picked.includes(group),
    })),
  )}
${
  (count > data.length || search !== '') &&
  textField({
    name: 'search',
    label: 'Find a group',
    type: 'search',
    value: search,
    hint: `${number(data.length)} of ${pluralize(count, 'group')} ${data.length === 1 ? 'is' : 'are'} listed. The button below searches too; ticked groups stay, at most ${maxTickedGroups}.`,
  })
}`
}

async function peopleChoice(run: Run, { control, caller }: PageContext, fields: Fields): Promise<Html> {
  const { counts, connection } = run
  const leavers = counts?.leave ?? 0
  const query = { kind: 'leave', limit: maxTicks, values: seesValues(caller) } as const
  const isListed = leavers > 0 && leavers <= maxTicks
  const { data } = isListed ? await control.listChanges({ params: { runId: run.id }, query }) : { data: [] }
  const picked = new Set(numberedFields(fields, 'person', maxTicks))
  return html`${
    data.length > 0 &&
    html`<details${picked.size > 0 && html` open`}><summary>Tick leavers one by one</summary>
${choices(
  'Leavers',
  data.map(({ identityId, person }, at) => ({
    name: `person-${at}`,
    value: identityId,
    label: whoText({ connection, identityId }, person),
    checked: picked.has(identityId),
  })),
)}</details>`
  }
${areaField({
  name: 'keys',
  label: 'Keys of people',
  hint: 'Optional. One key on each line, or separated by commas. The part has these people and the leavers ticked above.',
  value: fields('keys'),
})}`
}

type Choice = {
  readonly name: string
  readonly value: string
  readonly label: Renderable
  readonly checked: boolean
}

function choices(legend: string, options: readonly Choice[]): Html {
  return html`<fieldset class="choice"><legend>${legend}</legend>
${options.map(
  ({ name, value, label, checked }) =>
    html`<div class="check"><input id="${name}" name="${name}" type="checkbox" value="${value}"${checked && html` checked`}><label for="${name}">${label}</label></div>`,
)}</fieldset>`
}

const approvePart: Action = {
  section: 'runs',
  operation: 'approveRun',
  ask: async (context, fields) => {
    const run = await heldRun(context, fields)
    const chosen = await lookAt(run, context, requireSelection(fields))
    if ('error' in chosen) throw new Failure('usage', chosen.error)
    const { counts, remaining, people } = chosen.part
    const digest = fields('digest') || chosen.part.digest
    const connection = await connectionOf(context, run)
    return {
      title: `Approve a part of the plan of ${run.connection}?`,
      explanation: html`<p>It separates <strong>${pluralize(counts.leave, 'leaver')}</strong> and is delivered to the platform at once: ${countsText({ ...counts, ...nothingElse })}.</p>
<p>What stays held: ${countsText({ ...remaining, ...nothingElse }) ?? 'people who are sent again'}.</p>
<p>You approve exactly this part: <span class="key">${digest}</span>. If the part has changed by then, nothing is sent.</p>`,
      fields: decisionReasonField(fields, connection),
      hidden: { ...chosenFields(fields), digest },
      button: `Approve and deliver ${pluralize(people, 'change')}`,
      cancel: address(`${runHref(run.id)}/part`, chosenFields(fields)),
    }
  },
  perform: async ({ control }, fields) => {
    const [runId, digest, reason] = [fields('runId'), fields('digest'), fields('reason')]
    const body = { digest, part: requireSelection(fields), ...(reason && { reason }) }
    const run = await control.approveRun({ params: { runId }, body })
    return { to: runHref(run.id), done: 'The part is approved and is being delivered. The rest stays held.' }
  },
}

/** The field for the reason of a decision about a held plan. */
export function decisionReasonField(fields: Fields, connection: ConnectionStatus | undefined): Html {
  const isRequired = connection?.requireReason === true
  return areaField({
    name: 'reason',
    label: 'Reason',
    hint: `${isRequired ? 'Recorded' : 'Optional. Recorded'} in the audit trail. Do not write names of people.`,
    required: isRequired,
    value: fields('reason'),
    maxLength: 500,
  })
}

/** The connection of a run, as the status has it. */
export async function connectionOf({ control }: PageContext, run: Run): Promise<ConnectionStatus | undefined> {
  const { connections } = await control.status({ query: { connection: run.connection } })
  return connections[0]
}

/** Whether a part of a plan can be approved: with one change, it is the whole. */
export function hasParts({ counts }: Run): boolean {
  return countChanges(counts) > 1
}

function requireSelection(fields: Fields): PartSelection {
  const selection = selectionIn(fields)
  if (selection === null) throw new Failure('usage', 'choose at least one kind, group or person')
  return selection
}

/** The part that the fields of the form choose; null if they choose nothing. */
function selectionIn(fields: Fields): PartSelection | null {
  const chosenKinds = kinds.flatMap(({ kind }) => (fields(`kind-${kind}`) === '' ? [] : [kind]))
  const groups = [...groupsIn(fields), ...(fields('no-group') === '' ? [] : [null])]
  const keys = fields('keys')
    .split(/[\n\r,]+/)
    .map((key) => key.trim())
    .filter((key) => key !== '')
  const people = [...new Set([...numberedFields(fields, 'person', maxTicks), ...keys])]
  if (chosenKinds.length + groups.length + people.length === 0) return null
  return {
    ...(chosenKinds.length > 0 && { kinds: chosenKinds }),
    ...(groups.length > 0 && { groups }),
    ...(people.length > 0 && { people }),
  }
}

/** The fields that choose a part, to be sent once more. */
function chosenFields(fields: Fields): Record<string, string> {
  const names = [
    ...kinds.map(({ kind }) => `kind-${kind}`),
    ...Array.from({ length: maxTickedGroups + maxGroups }, (_, at) => `group-${at}`),
    ...Array.from({ length: maxTicks }, (_, at) => `person-${at}`),
    'no-group',
    'keys',
  ]
  return Object.fromEntries(names.flatMap((name) => (fields(name) === '' ? [] : [[name, fields(name)]])))
}

/** The groups that are ticked, as many as the page lists. */
function groupsIn(fields: Fields): string[] {
  return [...new Set(numberedFields(fields, 'group', maxTickedGroups + maxGroups))]
}

function numberedFields(fields: Fields, name: string, most: number): string[] {
  return Array.from({ length: most }, (_, at) => fields(`${name}-${at}`)).filter((value) => value !== '')
}
