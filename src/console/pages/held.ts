import type { ConnectionStatus, Run } from '../../contract/control/shapes.ts'
import { address } from '../../web/address.ts'
import { actionLink } from '../../web/forms.ts'
import { type Html, html, type Renderable } from '../../web/html.ts'
import { card, heading } from '../../web/layout.ts'
import { definitions, figures, joined, live } from '../../web/parts.ts'
import { formatInstant, formatRelativeTime, number, pluralize } from '../../web/words.ts'
import { seesValues } from '../site/control.ts'
import type { PageContext, Site } from '../site/site.ts'
import { capital, changesIn, countsText, effectsText, kindFigures, kinds, runHref, sentence } from '../site/words.ts'
import { answersPart } from './held-answers.ts'
import { connectionOf, decisionReasonField, hasParts, heldPartPages } from './held-part.ts'
import { changesTable, summaryParts, verdictsParts } from './plan-parts.ts'
import { heldRun, runOf } from './run.ts'

/** Largest plan that is shown person by person. */
const maxListedPeople = 200
/** Number of examples of each kind for a larger plan. */
const maxExamples = 20
const renewSeconds = 10

/** Adds the page on which a held plan is reviewed, and the actions to approve or reject it. */
export function heldPages(site: Site): void {
  heldPartPages(site)
  site.page('/runs/:runId/decision', async (context, fields) => {
    const run = await runOf(context, fields)
    if (run.state !== 'held') return { to: runHref(run.id) }
    const connection = await connectionOf(context, run)
    const failed = (run.guards ?? []).filter(({ ok }) => !ok)
    const content = html`${heading({
      title: html`Held plan of ${run.connection}`,
      crumbs: [
        { name: 'Runs', href: '/runs' },
        { name: 'The run', href: runHref(run.id) },
      ],
      lead: html`${run.source === null ? 'Nothing new was read' : run.source.name}${run.asOf && html` · as of ${formatInstant(run.asOf)}`}`,
    })}
${decisionPart(run, context, connection)}
${card({
  title: failed.length === 0 ? 'What the guards found' : 'Why it is held',
  id: 'why',
  content: html`${failed.length === 0 && html`<p class="reason">${run.reason && sentence(run.reason)}</p>`}${verdictsParts(run.guards ?? [], run.connection)}`,
})}
${await answersPart(run, context)}
${await peopleParts(run, context)}`
    return {
      title: `Held plan of ${run.connection}`,
      content,
      section: 'runs',
      ...(connection && { follows: { connection: connection.name } }),
    }
  })

  site.part('/runs/:runId/decision/card', async (context, fields) => {
    const run = await runOf(context, fields)
    return run.state === 'held' ? decisionPart(run, context, await connectionOf(context, run)) : null
  })

  site.action('/runs/:runId/approval', {
    section: 'runs',
    operation: 'approveRun',
    ask: async (context, fields) => {
      const run = await heldRun(context, fields)
      const connection = await connectionOf(context, run)
      const counts = run.counts
      const digest = fields('digest') || (run.digest ?? '')
      return {
        title: `Approve the plan of ${run.connection}?`,
        explanation: html`<p>The plan is delivered to the platform at once. It <strong>${effectsText(counts)}</strong>.</p>
<p>You approve exactly this plan: <span class="key">${digest}</span>. If the plan changes before you confirm, nothing is sent.</p>
${run.moved && html`<p><strong>${capital(run.moved)}.</strong> After an approval, Rollcall plans again. It delivers the new plan if that is the same, or if no guard holds it.</p>`}
<p>Approval rule: ${twoPeopleFact(run, context, connection)}.</p>`,
        fields: decisionReasonField(fields, connection),
        hidden: { digest },
        button: `Approve and deliver ${pluralize(changesIn(counts), 'change')}`,
        cancel: `${runHref(run.id)}/decision`,
      }
    },
    perform: async ({ control }, fields) => {
      const [runId, digest, reason] = [fields('runId'), fields('digest'), fields('reason')]
      const run = await control.approveRun({ params: { runId }, body: { digest, ...(reason && { reason }) } })
      const done =
        run.id === runId
          ? 'The plan is approved and is being delivered.'
          : 'The data behind the plan has changed, so this run plans again.'
      return { to: runHref(run.id), done }
    },
  })

  site.action('/runs/:runId/rejection', {
    section: 'runs',
    operation: 'rejectRun',
    ask: async (context, fields) => {
      const run = await heldRun(context, fields)
      return {
        title: `Reject the plan of ${run.connection}?`,
        explanation: html`<p>Nothing of it is sent (${countsText(run.counts) ?? 'no change'}).${run.parts.length > 0 && ' The parts that were approved before stay delivered.'}</p>
<p>A later run reads the source again. If the source has not changed, the same plan is held again.</p>`,
        fields: decisionReasonField(fields, await connectionOf(context, run)),
        button: 'Reject the plan',
        danger: true,
        cancel: `${runHref(run.id)}/decision`,
      }
    },
    perform: async ({ control }, fields) => {
      const [runId, reason] = [fields('runId'), fields('reason')]
      const run = await control.rejectRun({ params: { runId }, body: { ...(reason && { reason }) } })
      const done =
        run.parts.length === 0
          ? 'The plan was rejected. Nothing was sent.'
          : 'The rest of the plan was rejected. Only the parts that were approved before were sent.'
      return { to: runHref(run.id), done }
    },
  })
}

/** The decision card; it refreshes itself until the run is decided. The people of the plan are not refreshed, because each look at them is recorded. */
function decisionPart(run: Run, context: PageContext, connection: ConnectionStatus | undefined): Html {
  return live({
    id: 'decision-part',
    href: `${runHref(run.id)}/decision/card`,
    everySeconds: renewSeconds,
    content: decisionCard(run, context, connection),
  })
}

function decisionCard(run: Run, context: PageContext, connection: ConnectionStatus | undefined): Html {
  const href = runHref(run.id)
  const counts = run.counts
  const all = changesIn(counts)
  const employed = connection ? connection.people.desired - connection.people.separated : null
  const isExpired = run.expiresAt !== null && Date.parse(run.expiresAt) <= context.now.getTime()
  return card({
    title: 'The decision',
    id: 'decision',
    tone: 'wait',
    content: html`${figures(kindFigures(counts, employed))}
<p>An approval ${all === 0 ? 'changes nobody on the platform' : effectsText(counts)}. Nothing is sent before that.</p>
${run.moved && html`<p><strong>${capital(run.moved)}.</strong> After an approval, Rollcall plans again.</p>`}
${definitions([
  [
    'Can be approved',
    run.expiresAt &&
      html`until ${formatInstant(run.expiresAt)} <span class="hint">${isExpired ? 'expired: start a new run' : formatRelativeTime(run.expiresAt, context.now)}</span>`,
  ],
  ['Requested by', run.requestedBy.length > 0 && joined(run.requestedBy)],
  ['Approval rule', twoPeopleFact(run, context, connection)],
  ['Rows that cannot be read', rejectsFact(run)],
])}
<div class="row">
${actionLink({ href: address(`${href}/approval`, { digest: run.digest }), name: 'Approve …', kind: 'main', notAllowed: isExpired ? 'the plan has expired' : context.notAllowed('approveRun') })}
${hasParts(run) && actionLink({ href: `${href}/part`, name: 'Approve a part …', notAllowed: isExpired ? 'the plan has expired' : context.notAllowed('approveRun') })}
${actionLink({ href: `${href}/rejection`, name: 'Reject …', kind: 'danger', notAllowed: context.notAllowed('rejectRun') })}
</div>`,
  })
}

function rejectsFact({ id, counts }: Run): Renderable {
  const rejected = (counts?.rejected ?? 0) + (counts?.incomplete ?? 0)
  return rejected > 0 && html`<a href="${runHref(id)}#rejects">${number(rejected)}</a>`
}

/** Whether this visitor may approve the plan by the rule of two people. */
function twoPeopleFact(
  { requestedBy }: Run,
  { caller }: PageContext,
  connection: ConnectionStatus | undefined,
): Renderable {
  if (connection?.twoPeople !== true) return 'the person who requested a run may approve its plan'
  return requestedBy.includes(caller.name)
    ? html`<strong>you requested this run</strong>, so another person has to approve it`
    : 'somebody who did not request this run has to approve it'
}

async function peopleParts(run: Run, { control, caller }: PageContext): Promise<Html> {
  const { id: runId, connection, counts } = run
  const values = seesValues(caller)
  const isLarge = changesIn(counts) > maxListedPeople
  const summary = isLarge ? await control.summarizeRun({ params: { runId }, query: { values } }) : null
  const groups = await Promise.all(
    kinds.map(async ({ kind, title, many }) => {
      const count = counts?.[kind] ?? 0
      if (count === 0) return null
      const limit = isLarge ? maxExamples : maxListedPeople
      const { data } = await control.listChanges({ params: { runId }, query: { kind, limit, values } })
      return card({
        title: html`${title} <span class="faint">${number(count)}</span>`,
        id: `kind-${kind}`,
        content: html`${changesTable(data, { connection, caption: title, withKind: false, empty: 'nobody' })}
${data.length < count && html`<p><a href="${address(runHref(runId), { kind })}#plan">All ${pluralize(count, many.replace(/s$/, ''), many)}</a></p>`}`,
      })
    }),
  )
  return html`${summary && card({ title: 'Summary', id: 'summary', content: summaryParts(summary, connection) })}
${groups}`
}
