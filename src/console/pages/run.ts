import { feedText } from '../../contract/control/feed-texts.ts'
import { heldPartOutcome } from '../../contract/control/held-part-texts.ts'
import { isEndedOrHeld, type Run, type Verification } from '../../contract/control/shapes.ts'
import { Failure } from '../../errors.ts'
import { address } from '../../web/address.ts'
import { actionLink, filterForm, selectField, textField } from '../../web/forms.ts'
import { type Html, html, type Renderable } from '../../web/html.ts'
import { card, heading } from '../../web/layout.ts'
import { definitions, figures, joined, live, type TimelineEntry, timeline } from '../../web/parts.ts'
import { paging } from '../../web/tables.ts'
import { duration, formatInstant, formatRelativeTime, number, pluralize } from '../../web/words.ts'
import { seesValues } from '../site/control.ts'
import type { Fields, PageContext, SharedContext, Site } from '../site/site.ts'
import {
  capital,
  countChanges,
  countsText,
  effectsText,
  guardsInWords,
  kindFigures,
  kinds,
  personLink,
  reasonField,
  runHref,
  runStates,
  sentence,
  shortId,
  stateBadge,
  triggers,
  withCode,
} from '../site/words.ts'
import { changesTable, kindOf, rejectsTable, verdictsParts } from './plan-parts.ts'
import { accountPart } from './run-account.ts'

const perPage = 25
const renewSeconds = 2

/** Adds the page of a run: progress, findings, plan and facts. */
export function runPages(site: Site): void {
  site.page('/runs/:runId', async (context, fields) => {
    const run = await runOf(context, fields)
    const content = html`${heading({
      title: html`Run of ${run.connection}`,
      crumbs: [
        { name: 'Runs', href: '/runs' },
        { name: run.connection, href: address('/runs', { connection: run.connection }) },
      ],
      lead: html`${formatInstant(run.createdAt)}, started by ${joined(run.requestedBy.length > 0 ? run.requestedBy : [triggers[run.trigger]])}${optionsText(run)} · <span class="key">${run.id}</span>`,
      actions: actionsFor(run, context),
    })}
${progressPart(run, context)}
${run.guards !== null && run.guards.length > 0 && card({ title: 'Guards', id: 'guards', content: verdictsParts(run.guards, run.connection) })}
${run.warnings.length > 0 && card({ title: 'Warnings about the source', id: 'warnings', content: html`<ul class="lines">${run.warnings.map((warning) => html`<li>${warning}</li>`)}</ul>` })}
${run.verification && card({ title: 'Result of the verification', id: 'verification', content: verificationPart(run.verification, run.connection) })}
${await accountPart(run, context)}
${run.counts && (await planPart(run, context, fields))}
${run.counts && run.counts.rejected + run.counts.incomplete > 0 && (await rejectsPart(run, context, fields))}
${factsPart(run)}`
    return {
      title: `Run of ${run.connection}`,
      content,
      section: 'runs',
      ...(!isEndedOrHeld(run) && { follows: { connection: run.connection } }),
    }
  })

  site.sharedPart('/runs/:runId/progress', async (context, fields) => {
    const run = await runOf(context, fields)
    return isEndedOrHeld(run) ? null : progressPart(run, context)
  })

  site.action('/runs/:runId/cancellation', {
    section: 'runs',
    operation: 'cancelRun',
    ask: async (context, fields) => {
      const run = await runOf(context, fields)
      return {
        title: `Cancel this run of ${run.connection}?`,
        explanation: html`<p>The platform has acknowledged ${number(run.confirmed)} of ${pluralize(countChanges(run.counts), 'change')}. What was delivered stays; this run sends nothing more.</p>
<p>Nothing is lost: the next run plans the remaining differences again.</p>`,
        button: 'Cancel the run',
        danger: true,
        cancel: runHref(run.id),
      }
    },
    perform: async ({ control }, fields) => {
      const run = await control.cancelRun({ params: { runId: fields('runId') }, body: {} })
      return { to: runHref(run.id), done: 'The run was cancelled. What was delivered stays.' }
    },
  })

  site.action('/runs/:runId/revert', {
    section: 'runs',
    operation: 'revertRun',
    ask: async (context, fields) => {
      const run = await runOf(context, fields)
      return {
        title: 'Revert this run?',
        explanation: html`<p>This run ${effectsText(run.counts)}. A new run restores the earlier data of these people. The guards check it like any other run, and may hold it for an approval.</p>
<p>People with newer data are not changed. Joiners stay; you can retract each of them by name.</p>`,
        fields: reasonField(fields),
        button: 'Plan the revert',
        danger: true,
        cancel: runHref(run.id),
      }
    },
    perform: async ({ control }, fields) => {
      const run = await control.revertRun({ params: { runId: fields('runId') }, body: { reason: fields('reason') } })
      return { to: runHref(run.id), done: 'The revert is being planned.' }
    },
  })
}

/** Reads the run with the ID in the address. Throws `not_found`. */
export async function runOf({ control }: SharedContext, fields: Fields): Promise<Run> {
  const runId = fields('runId')
  if (!/^[\da-f-]{36}$/i.test(runId)) throw new Failure('not_found', `there is no run "${runId}"`)
  return await control.getRun({ params: { runId } })
}

/** Reads the held run with the ID in the address. Throws `conflict` if it is no longer held. */
export async function heldRun(context: PageContext, fields: Fields): Promise<Run> {
  const run = await runOf(context, fields)
  if (run.state === 'held') return run
  const decided = run.decidedBy === null ? '' : `, decided by ${run.decidedBy}`
  const instead = run.instead ? `; run ${run.instead.runId} took its place` : ''
  throw new Failure(
    'conflict',
    `this run is no longer held: it is ${runStates[run.state].name.toLowerCase()}${decided}${instead}`,
  )
}

function actionsFor(run: Run, context: PageContext): Renderable {
  const href = runHref(run.id)
  if (run.state === 'held') {
    return html`${actionLink({ href: `${href}/decision`, name: 'Review the plan', kind: 'main' })}`
  }
  if (run.instead)
    return html`${actionLink({ href: `${runHref(run.instead.runId)}/decision`, name: 'Review the new plan', kind: 'main' })}`
  if (!isEndedOrHeld(run)) {
    return actionLink({
      href: `${href}/cancellation`,
      name: 'Cancel',
      kind: 'danger',
      notAllowed: context.notAllowed('cancelRun'),
    })
  }
  const isDone = run.state === 'finished' || run.state === 'finished_with_problems'
  if (!isDone || countChanges(run.counts) === 0) return null
  return actionLink({
    href: `${href}/revert`,
    name: 'Revert',
    kind: 'danger',
    notAllowed: context.notAllowed('revertRun'),
  })
}

function optionsText({ options }: Run): Html | null {
  const { full, verify, sample, retract, restore, person, revert } = options
  const parts: Renderable[] = [
    full && 'everybody again',
    verify && 'with verification',
    sample && 'a sample',
    retract && html`retraction of ${retract.identityId}`,
    restore && html`restoration of ${restore.identityId}`,
    person && html`one person${person.identityId !== undefined && html` (${person.identityId})`}`,
    revert && html`reverts <a href="${runHref(revert.runId)}">run ${shortId(revert.runId)}</a>`,
  ]
  const known = parts.filter(Boolean)
  return known.length === 0 ? null : html` · ${joined(known)}`
}

/** The progress of the run; it refreshes itself until the run ends or is held. */
function progressPart(run: Run, context: SharedContext): Html {
  const all = countChanges(run.counts)
  const content = html`<section class="card" aria-labelledby="progress">
<div class="heading"><h2 id="progress">${stateBadge(run)}</h2>${run.durationMs !== null && html`<span class="faint">took ${duration(run.durationMs)}</span>`}</div>
${sentenceOf(run)}
${timeline('What happened', momentsOf(run, context.now))}
${
  run.counts !== null &&
  html`${figures([
    ...kindFigures(run.counts),
    { name: 'Unchanged', value: number(run.counts.unchanged) },
    { name: 'Rejected', value: number(run.counts.rejected + run.counts.incomplete), note: 'rows and cells' },
    ...(all > 0 ? [{ name: 'Acknowledged', value: number(run.confirmed), note: `of ${number(all)}` }] : []),
    ...(run.problems > 0 ? [{ name: 'Refused', value: number(run.problems), tone: 'bad' as const }] : []),
  ])}`
}
${run.state === 'delivering' && all > 0 && html`<progress max="${all}" value="${run.confirmed + run.problems}" aria-label="Changes done">${run.confirmed + run.problems} of ${all}</progress>`}
</section>`
  const href = isEndedOrHeld(run) ? null : `${runHref(run.id)}/progress`
  return live({ id: 'run-progress', href, everySeconds: renewSeconds, content })
}

function sentenceOf(run: Run): Html | null {
  const links = [
    heldPartSentence(run),
    run.heldPartOf &&
      html`All others went on in <a href="${runHref(run.heldPartOf)}">run ${shortId(run.heldPartOf)}</a>.`,
    run.instead &&
      html`<a href="${runHref(run.instead.runId)}/decision">Run ${shortId(run.instead.runId)}</a> took its place and waits for a decision${run.instead.isSame && ', with the same plan'}.`,
    run.wentOn &&
      html`The changes that no guard questions continue in <a href="${runHref(run.wentOn)}">another run</a>.`,
    run.partOf && html`It delivers the approved part of <a href="${runHref(run.partOf)}">a held plan</a>.`,
    run.parts.length > 0 &&
      html`Approved before: ${joined(run.parts.map((id, at) => html`<a href="${runHref(id)}">part ${number(at + 1)}</a>`))}.`,
    ...run.also.map(
      ({ id, connection }) =>
        html`${connection} reads the same export, in <a href="${runHref(id)}">a run of its own</a>.`,
    ),
    run.ridesWith &&
      html`It reads the same export as <a href="${runHref(run.ridesWith)}">a run of another connection</a>.`,
    run.problems > 0 &&
      html`Every later run tries <a href="${address('/problems', { connection: run.connection })}">the people that the platform refuses</a> again.`,
    run.delay && html`${capital(run.delay)}.`,
    run.state === 'held' && run.moved && html`${capital(run.moved)}; after an approval, Rollcall plans again.`,
  ]
  // The reason of a held plan stays after the decision.
  const wasHeld = run.decidedAt !== null && run.state !== 'held'
  const why = wasHeld || run.state === 'held' ? guardsInWords(run.reason ?? '') : run.reason
  const reason = why && sentence(wasHeld ? `It was held: ${why}` : why)
  return html`${reason && html`<p class="reason">${withCode(reason)}</p>`}${links.filter(Boolean).map((link) => html`<p>${link}</p>`)}`
}

/** Whom a guard held while the others went on, and what became of them. */
function heldPartSentence({ heldPart, heldPartRun: held }: Run): Html | null {
  if (heldPart === null) return null
  const link = html`<a href="${runHref(heldPart)}">run ${shortId(heldPart)}</a>`
  if (!held) return html`A guard holds some of its people in ${link}.`
  const people = pluralize(held.people, 'person', 'people')
  const outcome = heldPartOutcome(held)
  if (outcome === null)
    return html`A guard holds ${people} in ${link}: <a href="${runHref(heldPart)}/decision">review that plan</a>.${held.reason && html` <span class="hint">${withCode(sentence(guardsInWords(held.reason)))}</span>`}`
  const by =
    held.replacedBy !== null &&
    html` by <a href="${runHref(held.replacedBy)}">run ${shortId(held.replacedBy)}</a>, which is held`
  return html`A guard held ${people} in ${link}, ${outcome}${by}.`
}

function momentsOf(run: Run, now: Date): TimelineEntry[] {
  const { createdAt, startedAt, finishedAt, decidedAt, decidedBy, decidedReason, expiresAt, asOf, state } = run
  const decided = state === 'rejected' || state === 'cancelled' ? state : 'approved'
  const known: (TimelineEntry | null)[] = [
    asOf === null ? null : { at: formatInstant(asOf), title: 'Data from HR', tone: 'plain' },
    { at: formatInstant(createdAt), title: 'Requested', tone: 'plain' },
    startedAt === null ? null : { at: formatInstant(startedAt), title: 'Started', tone: 'plain' },
    decidedAt === null
      ? null
      : {
          at: formatInstant(decidedAt),
          title: html`${capital(decided)} by ${decidedBy ?? 'a person'}`,
          detail: decidedReason,
          tone: decided === 'approved' ? 'good' : 'plain',
        },
    state === 'held' && expiresAt !== null
      ? {
          at: html`until ${formatInstant(expiresAt)}, ${formatRelativeTime(expiresAt, now)}`,
          title: 'Waits for a decision',
          tone: 'wait',
        }
      : null,
    isEndedOrHeld(run) || state === 'waiting' ? null : { at: 'now', title: runStates[state].name, tone: 'busy' },
    finishedAt === null
      ? null
      : { at: formatInstant(finishedAt), title: runStates[state].name, tone: runStates[state].tone },
  ]
  return known.filter((one) => one !== null)
}

async function planPart(run: Run, context: PageContext, fields: Fields): Promise<Html> {
  const kind = kindOf(fields('kind'))
  const [after, q] = [fields('after'), fields('q')]
  const { data, next } = await context.control.listChanges({
    params: { runId: run.id },
    query: {
      ...(kind !== null && { kind }),
      ...(after && { after }),
      ...(q && { search: q }),
      limit: perPage,
      values: seesValues(context.caller),
    },
  })
  const href = runHref(run.id)
  const isNarrowed = kind !== null || q !== ''
  const { counts } = run
  return html`<section class="card" id="plan" aria-labelledby="plan-title">
<div class="heading"><h2 id="plan-title">Plan</h2><span class="faint">${countsText(counts) ?? 'nothing to change'}</span></div>
${
  countChanges(counts) > 0 &&
  html`${filterForm({
    action: href,
    label: 'Plan',
    part: 'plan',
    all: isNarrowed ? `${href}#plan` : null,
    fields: html`${selectField({
      name: 'kind',
      label: 'Kind of change',
      options: [
        { value: '', name: `All (${number(countChanges(counts))})` },
        ...kinds.flatMap((one) =>
          counts !== null && counts[one.kind] > 0
            ? [{ value: one.kind, name: `${one.title} (${number(counts[one.kind])})` }]
            : [],
        ),
      ],
      value: kind ?? '',
    })}${textField({ name: 'q', label: seesValues(context.caller) ? 'Key, e-mail or name' : 'Key', type: 'search', value: q, maxLength: 320, placeholder: 'Any part' })}`,
  })}
${changesTable(data, {
  connection: run.connection,
  caption: 'The changes of the plan, by key',
  withKind: true,
  empty: next === null ? 'No change matches.' : 'No match on this page; the next page searches further.',
})}
${paging({ label: 'Pages of the plan', path: href, query: { kind, q }, after, next, anchor: 'plan' })}`
}
</section>`
}

async function rejectsPart(run: Run, { control }: PageContext, fields: Fields): Promise<Html> {
  const after = fields('rejects')
  const { data, next } = await control.listRejects({
    params: { runId: run.id },
    query: { ...(after && { after }), limit: perPage },
  })
  return card({
    title: html`Rejected rows and cells <span class="faint">${number((run.counts?.rejected ?? 0) + (run.counts?.incomplete ?? 0))}</span>`,
    id: 'rejects',
    content: html`${rejectsTable(data, run)}
${paging({ label: 'Pages of rejects', path: runHref(run.id), query: {}, name: 'rejects', after, next, anchor: 'rejects' })}`,
  })
}

function verificationPart(
  { listed, asked: requested, lost, changed, foreign, separated = 0, people }: Verification,
  connection: string,
): Html {
  const named = (keys: readonly string[] | undefined) =>
    keys && keys.length > 0 && joined(keys.map((identityId) => personLink({ connection, identityId })))
  return definitions([
    requested === undefined
      ? ['On the platform', pluralize(listed, 'person', 'people')]
      : ['Checked', pluralize(requested, 'person', 'people')],
    [
      'Lost',
      html`${number(lost)} <span class="hint">${named(people?.lost) || 'nobody; lost people are sent again'}</span>`,
    ],
    [
      'Changed',
      html`${number(changed)} <span class="hint">${named(people?.changed) || 'nobody; changed people are sent again'}</span>`,
    ],
    [
      'Only on the platform',
      html`${number(foreign)} <span class="hint">${named(people?.foreign) || 'nobody who is unknown to HR is employed on the platform'}${separated > 0 && `; ${number(separated)} more have left, as the platform shows`}</span>`,
    ],
  ])
}

const jobs = {
  upsert: 'Create or update',
  update: 'Update one by one',
  delete: 'Delete',
  session: 'All records at once',
} as const

function factsPart(run: Run): Html {
  const { source, inDoubt, blockedPeople } = run
  const sent = (['upsert', 'update', 'delete', 'session'] as const).flatMap((job) => {
    const { requests, people } = run.sent[job]
    return requests === 0
      ? []
      : [html`<li>${jobs[job]}: ${pluralize(requests, 'request')} for ${pluralize(people, 'person', 'people')}</li>`]
  })
  return card({
    title: 'Facts',
    id: 'facts',
    content: definitions([
      [
        'Source',
        source &&
          html`${source.name} <span class="hint">${pluralize(source.bytes, 'byte')}${source.textBytes !== undefined && `, ${number(source.textBytes)} as plain text`}</span>`,
      ],
      ['End of the list', source?.end],
      ['Input', feedText(run)],
      ['Rows', run.rows !== null && `${number(run.rows)}, of which ${pluralize(run.records ?? 0, 'record')}`],
      ['Requests', sent.length > 0 && html`<ul class="list">${sent}</ul>`],
      ['To be acknowledged', run.remaining > 0 && number(run.remaining)],
      [
        'Need attention',
        blockedPeople &&
          blockedPeople.people + blockedPeople.rows > 0 &&
          html`<a href="${address('/problems', { connection: run.connection })}#blocked-people">${pluralize(blockedPeople.people, 'person', 'people')}${blockedPeople.rows > 0 && ` and ${pluralize(blockedPeople.rows, 'row')} without a readable key`}</a>`,
      ],
      [
        'In doubt',
        inDoubt &&
          html`${pluralize(inDoubt.people, 'person', 'people')}, checked until ${formatInstant(inDoubt.until)} at least`,
      ],
      ['Digest of the plan', run.digest && html`<span class="key">${run.digest}</span>`],
      ['Failure code', run.failure && html`<code>${run.failure}</code>`],
      ['Personal values', run.valuesRemovedAt && html`removed on ${formatInstant(run.valuesRemovedAt)}`],
    ]),
  })
}
