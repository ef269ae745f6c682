import { type EffectiveCoverage, type EffectiveFinding, effectiveCauses } from '../../contract/control/effective.ts'
import { Failure } from '../../errors.ts'
import { address } from '../../web/address.ts'
import { actionLink, filterForm } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { card, heading } from '../../web/layout.ts'
import { badge } from '../../web/parts.ts'
import { type Column, paging, table } from '../../web/tables.ts'
import { formatInstant, formatRelativeTime, number, pluralize } from '../../web/words.ts'
import { seesValues } from '../site/control.ts'
import type { Action, Fields, PageContext, Site } from '../site/site.ts'
import { capital, connectionField, personCell, reasonField } from '../site/words.ts'

const perPage = 50
const path = '/effective'

/** Adds the page of people whom the platform does not show as HR implies, and the reset of their sync. */
export function effectivePages(site: Site): void {
  site.page(path, async (context, fields) => {
    const { control } = context
    const [coverage, findings] = [await control.effectiveCoverage({}), await readFindings(context, fields)]
    const connection = fields('connection')
    const names = [...(await control.about({})).connections, ...coverage.directories.map(({ directory }) => directory)]
    const ofDirectory = coverage.directories.find(({ directory }) => directory === connection)
    const { comparedAt } = ofDirectory ?? coverage
    const content = html`${heading({ title: 'Shown as HR implies', lead: 'People whom the platform’s personnel, or a directory of accounts, shows otherwise than HR’s facts imply, and why.' })}
${coverage.directories.map((directory) => directoryText(directory, context))}
${filterForm({
  action: path,
  label: 'People',
  part: 'list',
  all: connection === '' ? null : path,
  fields: connectionField(names, connection),
})}
<div id="list">${card({
      title: 'People',
      id: 'effective',
      content: html`${ofDirectory === undefined && comparedText(coverage, context)}${findingsTable(findings.data, { context, isCompared: comparedAt !== null || findings.data.length > 0, isOfDirectory: ofDirectory !== undefined })}${paging(
        {
          label: 'Pages of people',
          path,
          query: { connection },
          after: fields('after'),
          next: findings.next,
          anchor: 'effective',
        },
      )}`,
    })}</div>`
    return { title: 'Shown as HR implies', content, section: 'problems' }
  })

  site.action('/effective/fix', fix)
}

function readFindings({ control, caller }: PageContext, fields: Fields) {
  const [connection, after] = [fields('connection'), fields('after')]
  const query = { ...(connection && { connection }), ...(after && { after }), limit: perPage }
  return control.listEffective({ query: { ...query, values: seesValues(caller) } })
}

function comparedText({ comparedAt, syncedAt, failure }: EffectiveCoverage, { now }: PageContext): Html {
  if (comparedAt === null)
    return html`<p>Nobody was compared with the platform so far. ${failure === null ? 'Rollcall compares everybody within an hour of the first delivery.' : html`<strong class="bad">The newest comparison failed: ${failure}.</strong>`}</p>`
  return html`<p>Compared ${formatRelativeTime(comparedAt, now)}${syncedAt !== null && html`, after the identity sync of ${formatInstant(syncedAt)}`}.${failure !== null && html` <strong class="bad">The newest comparison failed: ${failure}. The list is from the one before.</strong>`}</p>`
}

function directoryText(
  { directory, comparedAt, asOf, accounts, unreadable, failure, causes }: EffectiveCoverage['directories'][number],
  { now }: PageContext,
): Html {
  const ghosts = (causes.account_of_leaver ?? 0) + (causes.account_unknown ?? 0)
  const compared =
    comparedAt === null
      ? html`its accounts were not compared so far.`
      : html`${pluralize(accounts, 'account')}, as of ${formatRelativeTime(asOf ?? comparedAt, now)}: ${pluralize(ghosts, 'enabled account')} of leavers or of people whom HR does not know, ${pluralize(causes.account_missing ?? 0, 'person', 'people')} without an account.${unreadable > 0 && html` ${pluralize(unreadable, 'row')} could not be read.`}`
  return html`<p><a href="${address(path, { connection: directory })}"><b>${directory}</b></a>: ${compared}${failure !== null && html` <strong class="bad">The newest list could not be compared: ${failure}.</strong>`}</p>`
}

/** Why nobody was compared so far, if it was tried. */
export function uncomparedText({ comparedAt, failure }: EffectiveCoverage): Html {
  return html`${comparedAt === null && failure !== null && html`<p class="wide"><strong class="bad">Nobody was compared with the platform so far: ${failure}.</strong></p>`}`
}

/** One sentence for each compared connection. */
export function coverageSentences({ connections, failure }: EffectiveCoverage, now: Date): ReadonlyMap<string, Html> {
  return new Map(
    connections.map(({ connection, comparedAt, percent, people, effective, findings }) => {
      const others = html`<a href="${address(path, { connection })}">${findings > 0 ? html`<strong class="bad">${pluralize(findings, 'finding')}</strong>` : 'no findings'}</a>`
      return [
        connection,
        html`<p class="wide"><b>Shown as HR implies</b> ${percent} %: ${number(effective)} of ${pluralize(people, 'delivered person', 'delivered people')}; ${others}. Compared ${formatRelativeTime(comparedAt, now)}.${failure !== null && html` <strong class="bad">The newest comparison failed: ${failure}.</strong>`}</p>`,
      ]
    }),
  )
}

type TableContext = { readonly context: PageContext; readonly isCompared: boolean; readonly isOfDirectory: boolean }

function findingsTable(
  findings: readonly EffectiveFinding[],
  { context, isCompared, isOfDirectory }: TableContext,
): Html {
  const columns: readonly Column<EffectiveFinding>[] = [
    {
      name: 'Person',
      kind: 'row',
      cell: ({ identityId, person, connection, personConnection, name }) =>
        identityId === null
          ? html`${name ?? person} <span class="hint">${person.startsWith('account ') && 'directory '}${connection}</span>`
          : html`${personCell({ identityId, connection: personConnection, name })}${personConnection !== connection && html`<span class="hint">directory ${connection}</span>`}`,
    },
    {
      name: 'Why',
      kind: 'long',
      cell: ({ cause, text, evidence, helps }) =>
        html`${badge(effectiveCauses[cause].name, cause === 'not_synced' ? 'wait' : 'bad')} ${capital(text)}.<span class="hint">${evidence}</span><span class="hint">What helps: ${helps}</span>`,
    },
    { name: 'Since', cell: ({ firstSeenAt }) => formatRelativeTime(firstSeenAt, context.now) },
    {
      name: 'Action',
      cell: ({ canReset, connection, person }) =>
        canReset
          ? actionLink({
              href: address('/effective/fix', { connection, person }),
              name: 'Reset the sync',
              label: `Reset the sync of ${person}`,
              notAllowed: context.notAllowed('fixEffective'),
            })
          : null,
    },
  ]
  return table({
    caption: 'People whom the platform, or a directory, does not show as HR implies',
    columns,
    rows: findings,
    empty: emptyText(isCompared, isOfDirectory),
  })
}

function emptyText(isCompared: boolean, isOfDirectory: boolean): string {
  if (!isCompared) return 'No findings, because nobody was compared.'
  return isOfDirectory ? 'The accounts are as HR implies.' : 'Everybody is shown as HR implies.'
}

const fix: Action = {
  section: 'problems',
  operation: 'fixEffective',
  ask: async ({ control }, fields) => {
    const [connection, person] = [fields('connection'), fields('person')]
    const all = await control.listEffective({ query: { connection, person } })
    const data = all.data.filter(({ canReset }) => canReset)
    if (data.length === 0)
      throw new Failure('not_found', `there is no finding about ${person} any more that a reset mends`)
    return {
      title: `Reset the sync of ${person}?`,
      explanation: html`${data.map(({ text, evidence }) => html`<p>${capital(text)}. <span class="hint">${evidence}</span></p>`)}
<p>The platform forgets what was edited by hand, and shows this person as HR states them from its next identity sync on.</p>`,
      fields: reasonField(fields),
      button: 'Reset the sync',
      hidden: { connection, person },
      cancel: address(path, { connection }),
    }
  },
  perform: async ({ control }, fields) => {
    const [connection, person] = [fields('connection'), fields('person')]
    const { reset } = await control.fixEffective({ body: { connection, keys: [person], reason: fields('reason') } })
    return {
      to: address(path, { connection }),
      done: `The sync of ${person} was reset. The platform updates ${pluralize(reset, 'person', 'people')} again at its next identity sync, and what is right then leaves this list with the next comparison.`,
    }
  },
}
