import type { ConnectionStatus, Run } from '../../contract/control/shapes.ts'
import { address } from '../../web/address.ts'
import { actionLink } from '../../web/forms.ts'
import { type Html, html, type Renderable } from '../../web/html.ts'
import { card, heading } from '../../web/layout.ts'
import { definitions, figures, joined, live } from '../../web/parts.ts'
import { formatInstant, formatRelativeTime, number, pluralize } from '../../web/words.ts'
import type { PageContext, Site } from '../site/site.ts'
import {
  capital,
  countChanges,
  countsText,
  effectsText,
  kindFigures,
  runHref,
  sentence,
  shortId,
} from '../site/words.ts'
import { answersPart } from './held-answers.ts'
import { connectionOf, decisionReasonField, hasParts, heldPartPages } from './held-part.ts'
import { peopleParts } from './held-people.ts'
import { verdictsParts } from './plan-parts.ts'
import { heldRun, runOf } from './run.ts'

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
      lead: html`${run.source?.name ?? (run.heldPartOf ? 'Some people of an export or event' : 'Nothing new was read')}${run.asOf && html` · as of ${formatInstant(run.asOf)}`}`,
    })}
${decisionPart(run, context, connection)}
${card({
  title: failed.length === 0 ? 'What the guards found' : 'Why it is held',
  id: 'why',
  content: html`${failed.length === 0 && html`<p class="reason">${run.reason && sentence(run.reason)}</p>`}${verdictsParts(run.guards ?? [], run.connection)}`,
})}
${await answersPart(run, context)}
${await peopleParts(run, context, fields)}
${decisionBarPart(run, context)}`
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

  site.part('/runs/:runId/decision/bar', async (context, fields) => {
    const run = await runOf(context, fields)
    return run.state === 'held' ? decisionBarPart(run, context) : null
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
        button: `Approve and deliver ${pluralize(countChanges(counts), 'change')}`,
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
<p>${
          run.feed === 'source' && run.mode === 'delta' && run.source !== null
            ? 'This export contains only changes and is not read again: what it states for a later day is dropped too.'
            : run.heldPartOf && run.feed === 'source'
              ? 'These people wait until the next export states the change again, which is then held again.'
              : 'A later run reads the source again. If the source has not changed, the same plan is held again.'
        }</p>`,
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
  const counts = run.counts
  const all = countChanges(counts)
  const employed = connection ? connection.people.desired - connection.people.separated : null
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
      html`until ${formatInstant(run.expiresAt)} <span class="hint">${isExpired(run, context) ? 'expired: start a new run' : formatRelativeTime(run.expiresAt, context.now)}</span>`,
  ],
  ['Requested by', run.requestedBy.length > 0 && joined(run.requestedBy)],
  ['Approval rule', twoPeopleFact(run, context, connection)],
  ['Rows that cannot be read', rejectsFact(run)],
  [
    'All others went on in',
    run.heldPartOf && html`<a href="${runHref(run.heldPartOf)}">run ${shortId(run.heldPartOf)}</a>`,
  ],
])}`,
  })
}

/** The bar with the decision. It stays in view however long the page is, and refreshes itself as the card does. */
function decisionBarPart(run: Run, context: PageContext): Html {
  const leavers = run.counts?.leave ?? 0
  return live({
    id: 'decision-bar',
    href: `${runHref(run.id)}/decision/bar`,
    everySeconds: renewSeconds,
    content: html`<section class="decide" aria-label="Decide about the plan">
<p><strong${leavers > 0 && html` class="bad"`}>${pluralize(leavers, 'leaver')}</strong> <span class="faint">in ${pluralize(countChanges(run.counts), 'change')}</span></p>
<div class="row">${decisionLinks(run, context)}</div>
</section>`,
  })
}

function decisionLinks(run: Run, context: PageContext): Renderable {
  const href = runHref(run.id)
  const forbidden = context.notAllowed('approveRun')
  if (forbidden !== null) return actionLink({ href, name: 'Approve or reject', notAllowed: forbidden })
  const approve = isExpired(run, context)
    ? actionLink({ href, name: 'Approve …', notAllowed: 'the plan has expired' })
    : html`${actionLink({ href: address(`${href}/approval`, { digest: run.digest }), name: 'Approve …', kind: 'main' })}
${hasParts(run) && actionLink({ href: `${href}/part`, name: 'Approve a part …' })}`
  return html`${approve}
${actionLink({ href: `${href}/rejection`, name: 'Reject …', kind: 'danger', notAllowed: context.notAllowed('rejectRun') })}`
}

function isExpired({ expiresAt }: Run, { now }: PageContext): boolean {
  return expiresAt !== null && Date.parse(expiresAt) <= now.getTime()
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
