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

/** Adds the page of people whose status on the platform does not match HR’s data, and the reset of their sync. */
export function effectivePages(site: Site): void {
  site.page(path, async (context, fields) => {
    const { control } = context
    const [coverage, findings] = [await control.effectiveCoverage({}), await readFindings(context, fields)]
    const connection = fields('connection')
    const names = [...(await control.about({})).connections, ...coverage.directories.map(({ directory }) => directory)]
    const ofDirectory = coverage.directories.find(({ directory }) => directory === connection)
    const { comparedAt } = ofDirectory ?? coverage
    const content = html`${heading({ title: 'Effective on the platform', lead: 'People whose status on the platform, or whose account in a directory, does not match HR’s data, and why.' })}
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
    return { title: 'Effective on the platform', content, section: 'problems' }
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
    return html`<p>Nobody has been compared with the platform yet. ${failure === null ? 'Rollcall compares everybody within an hour of the first delivery.' : html`<strong class="bad">The newest comparison failed: ${failure}.</strong>`}</p>`
  return html`<p>Compared ${formatRelativeTime(comparedAt, now)}${syncedAt !== null && html`, after the identity sync of ${formatInstant(syncedAt)}`}.${failure !== null && html` <strong class="bad">The newest comparison failed: ${failure}. The list is from the comparison before it.</strong>`}</p>`
}

function directoryText(
  { directory, comparedAt, asOf, accounts, unreadable, failure, causes }: EffectiveCoverage['directories'][number],
  { now }: PageContext,
): Html {
  const ghosts = (causes.account_of_leaver ?? 0) + (causes.account_unknown ?? 0)
  const compared =
    comparedAt === null
      ? html`its accounts have not been compared yet.`
      : html`${pluralize(accounts, 'account')}, as of ${formatRelativeTime(asOf ?? comparedAt, now)}: ${pluralize(ghosts, 'enabled account')} of leavers or of people whom HR does not know, ${pluralize(causes.account_missing ?? 0, 'person', 'people')} without an account.${unreadable > 0 && html` ${pluralize(unreadable, 'row')} could not be read.`}`
  return html`<p><a href="${address(path, { connection: directory })}"><b>${directory}</b></a>: ${compared}${failure !== null && html` <strong class="bad">The newest list could not be compared: ${failure}.</strong>`}</p>`
}

/** Why nobody has been compared yet, if a comparison was tried. */
export function uncomparedText({ comparedAt, failure }: EffectiveCoverage): Html {
  return html`${comparedAt === null && failure !== null && html`<p class="wide"><strong class="bad">Nobody has been compared with the platform yet: ${failure}.</strong></p>`}`
}

/** One sentence for each compared connection. */
export function coverageSentences({ connections, failure }: EffectiveCoverage, now: Date): ReadonlyMap<string, Html> {
  return new Map(
    connections.map(({ connection, comparedAt, percent, people, effective, findings }) => {
      const others = html`<a href="${address(path, { connection })}">${findings > 0 ? html`<strong class="bad">${pluralize(findings, 'finding')}</strong>` : 'no findings'}</a>`
      return [
        connection,
        html`<p class="wide"><b>Effective on the platform</b> ${percent} %: ${number(effective)} of ${pluralize(people, 'delivered person', 'delivered people')}; ${others}. Compared ${formatRelativeTime(comparedAt, now)}.${failure !== null && html` <strong class="bad">The newest comparison failed: ${failure}.</strong>`}</p>`,
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
    caption: 'People who do not match HR’s data on the platform or in a directory',
    columns,
    rows: findings,
    empty: emptyText(isCompared, isOfDirectory),
  })
}

function emptyText(isCompared: boolean, isOfDirectory: boolean): string {
  if (!isCompared) return 'No findings, because nobody has been compared yet.'
  return isOfDirectory ? 'All accounts match HR’s data.' : 'Everybody’s status matches HR’s data.'
}

const fix: Action = {
  section: 'problems',
  operation: 'fixEffective',
  ask: async ({ control }, fields) => {
    const [connection, person] = [fields('connection'), fields('person')]
    const all = await control.listEffective({ query: { connection, person } })
    const data = all.data.filter(({ canReset }) => canReset)
    if (data.length === 0)
      throw new Failure('not_found', `there is no longer a finding about ${person} that a reset can fix`)
    return {
      title: `Reset the sync of ${person}?`,
      explanation: html`${data.map(({ text, evidence }) => html`<p>${capital(text)}. <span class="hint">${evidence}</span></p>`)}
<p>The platform discards the edits made by hand. After its next identity sync, it shows this person as HR states.</p>`,
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
      done: `The sync of ${person} was reset. The platform updates ${pluralize(reset, 'person', 'people')} again at its next identity sync. The next comparison then removes what is right from this list.`,
    }
  },
}
