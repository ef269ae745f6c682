import { controlPrefix } from '../../contract/control/control.ts'
import { live } from '../../contract/control/live.ts'
import { address } from '../../web/address.ts'
import type { AssetName, Assets } from '../../web/assets.ts'
import { tokenField } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { page } from '../../web/layout.ts'
import type { Visitor } from './access.ts'

/** The console sections, in the order of the navigation. */
const sections = {
  overview: { name: 'Overview', href: '/' },
  runs: { name: 'Runs', href: '/runs' },
  people: { name: 'People', href: '/people' },
  problems: { name: 'Problems', href: '/problems' },
  sources: { name: 'Sources', href: '/sources' },
  events: { name: 'Webhooks', href: '/events' },
  schedules: { name: 'Schedules', href: '/schedules' },
  reports: { name: 'Reports', href: '/reports' },
  audit: { name: 'Audit', href: '/audit' },
  settings: { name: 'Settings', href: '/settings' },
} as const

/** A console section. */
export type Section = keyof typeof sections

/** One console page. */
export type Content = {
  readonly title: string
  readonly content: Html
  /** Its section in the navigation; null for pages outside of it, such as an error page. */
  readonly section: Section | null
  /** The events that refresh its live parts: those of one connection, or of all. Omitted if nothing on it is live. */
  readonly follows?: { readonly connection?: string }
}

/** The scripts that pages load. */
export const scripts = ['local-time.js', 'htmx.js', 'htmx-sse.js', 'live.js'] as const satisfies readonly AssetName[]
const streamPath = `${controlPrefix}${live.watchLive.path}`

type Surroundings = {
  readonly assets: Assets
  /** The address of the docs page that helps; null: the page is one of the docs. */
  readonly help: string | null
}

/** A complete HTML document. `visitor`: the signed-in person; null if signed out. */
export function documentOf(
  { title, content, section, follows }: Content,
  visitor: Visitor | null,
  { assets, help }: Surroundings,
): Html {
  const nav = Object.entries(sections).map(([name, item]) => ({ ...item, current: name === section }))
  return page({
    title,
    content,
    home: '/',
    assets: {
      style: assets.href('style.css'),
      icon: assets.href('icon.svg'),
      scripts: scripts.map((name) => assets.href(name)),
    },
    nav: visitor === null ? [] : nav,
    aside: visitor && html`${helpLink(help)}${visitorPart(visitor)}`,
    foot: visitor && html`<a href="/docs">Docs</a> · <a href="/reference/">API</a>`,
    stream: follows === undefined ? null : address(streamPath, follows),
  })
}

function helpLink(help: string | null): Html {
  if (help === null) return html`<a class="help" href="/docs" aria-current="true">Help</a>`
  return html`<a class="help" href="${help}" title="What the docs say about this page">Help</a>`
}

function visitorPart({ caller, formToken }: Visitor): Html {
  return html`<form class="visitor" method="post" action="/sign-out">
${tokenField(formToken)}
<span title="${caller.name}, ${caller.role}"><strong>${caller.name}</strong> <span class="role">${caller.role}</span></span>
${caller.via !== 'machine' && html`<button class="quiet">Sign out</button>`}
</form>`
}
