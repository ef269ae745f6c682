import { type Html, html, type Renderable } from './html.ts'

/** The state of something: good, in between, bad, running, or none of these. */
export type Tone = 'good' | 'wait' | 'bad' | 'busy' | 'plain'

/** A short word with a colour. */
export function badge(text: Renderable, tone: Tone = 'plain'): Html {
  return html`<span class="badge ${tone}">${text}</span>`
}

/** Facts by name. What is null or false is left out. */
export function definitions(facts: readonly (readonly [string, Renderable])[]): Html {
  const known = facts.filter(([, value]) => value !== null && value !== undefined && value !== false && value !== '')
  return html`<dl class="facts">${known.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>\n`)}</dl>`
}

/** The few numbers that matter most, large. */
export function figures(
  items: readonly {
    readonly name: string
    readonly value: Renderable
    readonly note?: Renderable
    readonly tone?: Tone
  }[],
): Html {
  return html`<dl class="figures">${items.map(({ name, value, note, tone }) => html`<div class="${tone}"><dt>${name}</dt><dd><b class="number">${value}</b>${note && html` <span>${note}</span>`}</dd></div>\n`)}</dl>`
}

/** One event of a timeline. */
export type TimelineEntry = {
  readonly at: Renderable
  readonly title: Renderable
  readonly detail?: Renderable
  readonly tone?: Tone
}

/** Events, the oldest first. */
export function timeline(label: string, moments: readonly TimelineEntry[]): Html {
  return html`<ol class="timeline" aria-label="${label}">${moments.map(({ at, title, detail, tone = 'plain' }) => html`<li class="${tone}"><span class="what">${title}</span> <span class="at">${at}</span>${detail && html`<p class="hint">${detail}</p>`}</li>\n`)}</ol>`
}

/** A value and its replacement. */
export function difference(from: Renderable, to: Renderable): Html {
  return html`<span class="difference"><del>${from}</del><span class="arrow" aria-hidden="true">→</span><span class="unseen">becomes</span> <ins>${to}</ins></span>`
}

/** Parts of a sentence or a line, with a separator. */
export function joined(parts: readonly Renderable[], between: Renderable = ', '): Html {
  const shown = parts.filter((part) => part !== null && part !== undefined && part !== false && part !== '')
  return html`${shown.map((part, at) => html`${at > 0 && between}${part}`)}`
}

/** A text of several lines as in a file. */
export function listing(label: string, text: string): Html {
  const lines = text.replace(/\n$/, '').split('\n')
  return html`<div class="listing" role="region" tabindex="0" aria-label="${label}"><pre>${lines.map((line) => html`<code>${line}</code>\n`)}</pre></div>`
}

/** Text that a person copies, such as a command. */
export function code(text: string): Html {
  return html`<code>${text}</code>`
}

type LivePart = {
  readonly id: string
  readonly href: string | null
  readonly everySeconds: number
  readonly content: Renderable
}

/**
 * A part of a page that renews itself if `href` is given: when the page's stream of events says so, and at intervals without a
 * stream. Without scripts the page is loaded again by hand. Morphing keeps the focus, and an error of the server leaves the part unchanged.
 */
export function live({ id, href, everySeconds, content }: LivePart): Html {
  if (href === null) return html`<div id="${id}" class="live">${content}</div>`
  return html`<div id="${id}" class="live" hx-get="${href}" hx-trigger="renew" hx-swap="outerMorph" hx-status:4xx="swap:none" hx-status:5xx="swap:none" data-renew-seconds="${everySeconds}">${content}
<noscript><p class="hint"><a href="">Reload this page</a> to see the progress.</p></noscript></div>`
}
