import type { CheckView, Setting } from '../../contract/control/settings.ts'
import { actionForm, filterForm, textField } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { card, heading } from '../../web/layout.ts'
import { badge, joined, type Tone } from '../../web/parts.ts'
import { type Column, paging, table } from '../../web/tables.ts'
import { formatInstant, number, pluralize } from '../../web/words.ts'
import type { Fields, PageContext, Site } from '../site/site.ts'
import { spaced } from '../site/words.ts'
import { changeLink } from './settings-change.ts'

const levels: Readonly<Record<CheckView['level'], { readonly name: string; readonly tone: Tone }>> = {
  ok: { name: 'OK', tone: 'good' },
  warning: { name: 'Warning', tone: 'wait' },
  rejected: { name: 'Rows rejected', tone: 'wait' },
  failed: { name: 'Failed', tone: 'bad' },
}

/** Adds the page with the configuration in effect, and the page with the results of a check. */
export function settingsPages(site: Site): void {
  site.page('/settings', async (context, fields) => {
    const { control } = context
    const refusal = context.notAllowed('getSettings')
    if (refusal !== null) {
      const content = html`${heading({ title: 'Settings' })}<p class="empty" role="status">You cannot see the settings: ${refusal}.</p>`
      return { title: 'Settings', content, section: 'settings' }
    }
    const { file, readAt: changedAt, data } = await control.getSettings({})
    const content = html`${heading({
      title: 'Settings',
      lead: html`<code>${file}</code>, last changed ${formatInstant(changedAt)}`,
      actions: checkForm(context),
    })}
${groupCards(context, groupsOf(data), fields)}`
    return { title: 'Settings', content, section: 'settings' }
  })

  site.resultPage('/settings/check', async (context) => {
    const { ok, data } = await context.control.checkConfiguration({})
    const bad = data.filter(({ level }) => level !== 'ok').length
    const content = html`${heading({
      title: 'Check results',
      crumbs: [{ name: 'Settings', href: '/settings' }],
      lead: ok
        ? `Runs can start. ${bad === 0 ? 'No warnings.' : `${pluralize(bad, 'warning')}.`}`
        : 'A run would fail.',
      actions: checkForm(context),
    })}
<section class="card" aria-label="Checks">
${checksTable(data)}
</section>`
    return { title: 'Check results', content, section: 'settings' }
  })
}

function checkForm({ formToken }: PageContext): Html {
  return actionForm({ action: '/settings/check', formToken, kind: 'row', content: html`<button>Check now</button>` })
}

type Group = {
  readonly title: string
  readonly settings: readonly Setting[]
  /** Null: it is about no single connection. */
  readonly connection: string | null
}

/** The sections of the file, and each connection. */
function groupsOf(settings: readonly Setting[]): Group[] {
  const titleOf = ({ connection, path }: Setting) => {
    if (connection !== null) return `Connection ${connection}`
    return path.includes('.') ? spaced(path.split('.', 1)[0] ?? path) : 'Installation'
  }
  return [...Map.groupBy(settings, titleOf)].map(([title, all]) => ({
    title,
    settings: all,
    connection: all[0]?.connection ?? null,
  }))
}

/** How many connections a page has. */
const connectionsPerPage = 10

/** The sections of the file, then a page of the connections, which can be filtered by name where there are several pages. */
function groupCards(context: PageContext, groups: readonly Group[], fields: Fields): Html {
  const [search, after] = [fields('search').trim().toLowerCase(), fields('after')]
  const connections = groups.filter(({ connection }) => connection !== null)
  const matches = connections.filter(({ connection }) => connection?.toLowerCase().includes(search))
  const start = matches.findIndex(({ connection }) => connection === after) + 1
  const shown = matches.slice(start, start + connectionsPerPage)
  const next = start + connectionsPerPage < matches.length ? (shown.at(-1)?.connection ?? null) : null
  const isFirst = after === '' && search === ''
  return html`${isFirst && groups.filter(({ connection }) => connection === null).map((group) => groupCard(context, group))}
${
  connections.length > connectionsPerPage &&
  card({
    title: html`Connections <span class="faint">${number(matches.length)}</span>`,
    id: 'connections',
    content: html`${filterForm({
      action: '/settings',
      label: 'Connections',
      part: 'content',
      all: isFirst ? null : '/settings',
      fields: textField({
        name: 'search',
        label: 'Connection',
        value: fields('search'),
        hint: 'Any part of its name.',
      }),
    })}${matches.length === 0 && html`<p class="empty" role="status">No connection matches.</p>`}`,
  })
}
${shown.map((group) => groupCard(context, group, connections.length > connectionsPerPage ? foldedSettings(group) : settingsOf(group)))}
${paging({ label: 'Pages of connections', path: '/settings', query: { search: fields('search') }, after, next })}`
}

function groupCard(context: PageContext, group: Group, content = settingsOf(group)): Html {
  const { title, connection } = group
  const id = `settings-${title.toLowerCase().replaceAll(' ', '-')}`
  return card({ title, id, aside: connection !== null && changeLink(context, connection), content })
}

/** The settings of one of many connections. */
function foldedSettings(group: Group): Html {
  return html`<details><summary>${pluralize(group.settings.length, 'setting')}</summary>${settingsOf(group)}</details>`
}

function settingsOf({ title, settings }: Group): Html {
  const own = settings.filter(({ from }) => from.some(({ kind }) => kind !== 'default'))
  const defaults = settings.filter(({ from }) => from.every(({ kind }) => kind === 'default'))
  return html`${own.length > 0 && settingsTable(`${title}: what is set`, own)}
${
  defaults.length > 0 &&
  html`<details><summary>${pluralize(defaults.length, 'default')}</summary>
${settingsTable(`${title}: defaults`, defaults)}</details>`
}`
}

function settingsTable(caption: string, settings: readonly Setting[]): Html {
  const columns: readonly Column<Setting>[] = [
    { name: 'Setting', kind: 'row', cell: (setting) => html`<code>${nameOf(setting)}</code>` },
    { name: 'Value', kind: 'long', cell: ({ value }) => valueText(value) },
    { name: 'Comes from', kind: 'long', cell: originText },
  ]
  return table({ caption, columns, rows: settings, empty: 'Nothing is set.' })
}

/** Inside the card of a connection its name is not repeated. */
function nameOf({ path, connection }: Setting): string {
  return connection === null ? path : path.slice(`connections.${connection}.`.length)
}

function valueText(value: string | null): Html {
  if (value === null) return html`<span class="faint">secret, not shown</span>`
  return value === '' ? html`<span class="faint">nothing</span>` : html`${value}`
}

function originText({ from, line }: Setting): Html {
  const parts = from.map(({ kind, name }) => {
    switch (kind) {
      case 'environment':
        return html`the environment variable <code>${name}</code>`
      case 'secret_file':
        return html`the file <code>${name}</code>`
      case 'preset':
        return html`the preset <code>${name}</code>`
      case 'file':
        return line === null ? html`<code>${name}</code>` : `line ${line}`
      case 'default':
        return html`default`
      default:
        return kind satisfies never
    }
  })
  const isReference = from.some(({ kind }) => kind === 'environment' || kind === 'secret_file')
  return html`${joined(parts)}${isReference && line !== null && html` <span class="hint">named in line ${line}</span>`}`
}

function checksTable(checks: readonly CheckView[]): Html {
  const columns: readonly Column<CheckView>[] = [
    { name: 'Checked', kind: 'row', cell: ({ name }) => name },
    { name: 'Result', cell: ({ level }) => badge(levels[level].name, levels[level].tone) },
    { name: 'Message', kind: 'long', cell: ({ message }) => message },
  ]
  return table({ caption: 'Checks', columns, rows: checks, empty: 'Nothing was checked.' })
}
