import { type Html, html, type Renderable } from './html.ts'

type NavItem = {
  readonly name: string
  readonly href: string
  /** Whether the current page belongs to it. */
  readonly current: boolean
  /** How many items wait there for a person; zero shows nothing. */
  readonly waiting?: number
}

/** What a complete document consists of. */
export type Frame = {
  readonly title: string
  readonly content: Renderable
  /** Where the name in the header leads. */
  readonly home: string
  /** The addresses of the page's assets. */
  readonly assets: { readonly style: string; readonly icon: string; readonly scripts?: readonly string[] }
  readonly nav?: readonly NavItem[]
  /** The end of the header, such as who is signed in. */
  readonly aside?: Renderable
  /** The footer. */
  readonly foot?: Renderable
  /** The URL of the event stream that says when to renew live parts of the page; null: the page has none. */
  readonly stream?: string | null
}

/**
 * How htmx works on our pages. It adds no style sheet, calls no other site, and going back loads the page again. Our markup has no
 * expressions to evaluate, and the content security policy forbids them.
 */
const htmxConfig = JSON.stringify({ includeIndicatorCSS: false, history: 'reload', mode: 'same-origin' })

/** A whole document: header, navigation and content. */
export function page({ title, content, home, assets, nav = [], aside, foot, stream = null }: Frame): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title} · Rollcall</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="stylesheet" href="${assets.style}">
<link rel="icon" type="image/svg+xml" href="${assets.icon}">
${
  assets.scripts !== undefined &&
  html`<meta name="htmx-config" content="${htmxConfig}">
${assets.scripts.map((script) => html`<script src="${script}" defer></script>\n`)}`
}
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="bar">
<div class="inner">
<a class="brand" href="${home}"><img src="${assets.icon}" alt="" width="28" height="28">Rollcall</a>
${nav.length > 0 && html`<nav class="main-nav" aria-label="Pages"><ul>${nav.map(navItem)}</ul></nav>`}
${aside}
</div>
</header>
<main id="content" tabindex="-1" class="inner">
${content}
</main>
${foot && html`<footer class="foot inner">${foot}</footer>`}
${stream !== null && html`<div data-stream="${stream}" hx-swap="none" hidden></div>`}
</body>
</html>
`
}

function navItem({ name, href, current, waiting = 0 }: NavItem): Html {
  return html`<li><a href="${href}"${current && html` aria-current="page"`}>${name}${waiting > 0 && html` <span class="count">${waiting}</span>`}</a></li>`
}

/** A notice of what just happened. It gets the focus, so that screen readers read it after the page was loaded again. */
export function notice(text: Renderable, kind: 'good' | 'bad' = 'good'): Html {
  return html`<p class="notice ${kind}" role="${kind === 'good' ? 'status' : 'alert'}" tabindex="-1" autofocus>${text}</p>`
}

type Crumb = { readonly name: Renderable; readonly href: string }
type Heading = {
  readonly title: Renderable
  readonly crumbs?: readonly Crumb[]
  readonly lead?: Renderable
  readonly actions?: Renderable
}

/** The beginning of a page: its breadcrumbs, its title, its subject in a line, and its actions. */
export function heading({ title, crumbs = [], lead, actions }: Heading): Html {
  return html`<div class="head">
${crumbs.length > 0 && html`<nav aria-label="Breadcrumbs" class="crumbs"><ol>${crumbs.map(({ name, href }) => html`<li class="crumb"><a href="${href}">${name}</a></li>`)}</ol></nav>`}
<div class="heading">
<h1>${title}</h1>
${actions && html`<div class="row">${actions}</div>`}
</div>
${lead && html`<p class="lead">${lead}</p>`}
</div>`
}

type Card = {
  readonly title: Renderable
  readonly content: Renderable
  readonly id: string
  /** The content beside the title, such as a link. */
  readonly aside?: Renderable
  readonly tone?: 'bad' | 'wait'
}

/** A part of a page with a title of its own. `id` is its address within the page. */
export function card({ title, content, id, aside, tone }: Card): Html {
  return html`<section class="card ${tone}" aria-labelledby="${id}">
<div class="heading"><h2 id="${id}">${title}</h2>${aside}</div>
${content}
</section>`
}

type ProblemCard = {
  readonly title?: string
  readonly message: Renderable
  readonly back: { readonly name: string; readonly href: string }
}

/** Explains in a sentence why there is no page, and where to continue. */
export function problemCard({ title = 'That did not work', message, back }: ProblemCard): Html {
  return html`<div class="card narrow">
<h1>${title}</h1>
<p role="alert">${message}</p>
<p><a href="${back.href}">${back.name}</a></p>
</div>`
}
