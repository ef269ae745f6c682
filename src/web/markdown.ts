import type { Token, Tokens } from 'marked'
import { type Html, html, type Renderable } from './html.ts'

/** A page that was written in Markdown. */
type MarkdownPage = { readonly title: string; readonly content: Html }

/** The addresses of what a page refers to. */
export type PageAddresses = {
  /** The address of what a page links to; null: it is not served, and shown without a link. */
  readonly hrefOf: (link: string) => string | null
  /** The address of a picture; null: it is not served, and its description is shown. */
  readonly pictureOf: (file: string) => string | null
}

/**
 * A page from Markdown. Every part of it becomes markup by our templates, which escape all text: markup in the source is shown as text,
 * except for the one form of pictures that the docs have.
 */
export async function renderMarkdown(markdown: string, addresses: PageAddresses): Promise<MarkdownPage> {
  // Loaded when it is used: most processes never show a page of the docs.
  const { lexer } = await import('marked')
  const tokens = lexer(markdown, { gfm: true })
  const isTitle = (token: Token): token is Tokens.Heading => token.type === 'heading' && token.depth === 1
  const title = tokens.find(isTitle)?.text ?? ''
  const content = tokens.filter((token) => !isTitle(token)).map((token) => block(token, addresses))
  return { title, content: html`${content}` }
}

/** The name of a heading in addresses, as GitHub makes it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

function block(token: Token, addresses: PageAddresses): Renderable {
  const inside = () => inline(token, addresses)
  switch (token.type) {
    case 'heading': {
      const { depth, text } = token as Tokens.Heading
      const id = anchorOf(text)
      if (depth <= 2) return html`<h2 id="${id}">${inside()}</h2>\n`
      return html`<h3 id="${id}">${inside()}</h3>\n`
    }
    case 'paragraph':
      return html`<p>${inside()}</p>\n`
    case 'code':
      return html`<div class="listing" tabindex="0"><pre><code>${lines(token as Tokens.Code)}</code></pre></div>\n`
    case 'list':
      return list(token as Tokens.List, addresses)
    case 'table':
      return table(token as Tokens.Table, addresses)
    case 'blockquote':
      return html`<blockquote>${blocksIn(token, addresses)}</blockquote>\n`
    case 'hr':
      return html`<hr>\n`
    case 'html':
      return picture(token as Tokens.HTML, addresses)
    case 'space':
    case 'def':
      return null
    default:
      return inside()
  }
}

/** Code keeps its lines, which `html` would escape in one text. */
function lines({ text }: Tokens.Code): Renderable {
  return text.split('\n').map((line, index) => (index === 0 ? line : html`\n${line}`))
}

function blocksIn(token: Token, addresses: PageAddresses): Renderable {
  return 'tokens' in token ? (token.tokens ?? []).map((one) => block(one, addresses)) : null
}

function list({ ordered, items }: Tokens.List, addresses: PageAddresses): Html {
  const shown = items.map((item) => html`<li>${blocksIn(item, addresses)}</li>\n`)
  return ordered ? html`<ol>${shown}</ol>\n` : html`<ul>${shown}</ul>\n`
}

function table({ header, rows }: Tokens.Table, addresses: PageAddresses): Html {
  const cells = (row: readonly Tokens.TableCell[]) =>
    row.map((cell) => html`<td>${inlineOf(cell.tokens, addresses)}</td>`)
  const names = header.map((cell) => html`<th scope="col">${inlineOf(cell.tokens, addresses)}</th>`)
  return html`<div class="scrolled" tabindex="0"><table>
<thead><tr>${names}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${cells(row)}</tr>\n`)}</tbody>
</table></div>
`
}

function inline(token: Token, addresses: PageAddresses): Renderable {
  return 'tokens' in token && token.tokens ? inlineOf(token.tokens, addresses) : token.raw
}

function inlineOf(tokens: readonly Token[], addresses: PageAddresses): Renderable {
  return tokens.map((token) => inlinePart(token, addresses))
}

function inlinePart(token: Token, addresses: PageAddresses): Renderable {
  const inside = () => inline(token, addresses)
  switch (token.type) {
    case 'strong':
      return html`<strong>${inside()}</strong>`
    case 'em':
      return html`<em>${inside()}</em>`
    case 'del':
      return html`<del>${inside()}</del>`
    case 'codespan':
      return html`<code>${(token as Tokens.Codespan).text}</code>`
    case 'br':
      return html`<br>`
    case 'link':
      return link((token as Tokens.Link).href, { inside: inside(), addresses })
    case 'escape':
      return (token as Tokens.Escape).text
    case 'text':
      return 'tokens' in token && token.tokens ? inside() : (token as Tokens.Text).text.replaceAll('\n', ' ')
    default:
      // Markup in a line, such as a tag, is text.
      return token.raw
  }
}

function link(
  to: string,
  { inside, addresses }: { readonly inside: Renderable; readonly addresses: PageAddresses },
): Renderable {
  const href = addresses.hrefOf(to)
  if (href === null) return inside
  return href.startsWith('https://')
    ? html`<a href="${href}" rel="noreferrer">${inside}</a>`
    : html`<a href="${href}">${inside}</a>`
}

/** A picture with a light and a dark form. Other markup is shown as text. */
function picture({ text }: Tokens.HTML, addresses: PageAddresses): Renderable {
  if (!text.startsWith('<picture>')) return html`<p>${text}</p>\n`
  const [, dark = ''] = /srcset="([^"]+)"/.exec(text) ?? []
  const [, light = ''] = /<img src="([^"]+)"/.exec(text) ?? []
  const [, description = ''] = /alt="([^"]*)"/.exec(text) ?? []
  const [bright, night] = [addresses.pictureOf(light), addresses.pictureOf(dark)]
  if (bright === null) return html`<p>${description}</p>\n`
  return html`<picture>${night !== null && html`<source media="(prefers-color-scheme: dark)" srcset="${night}">`}<img src="${bright}" alt="${description}"></picture>\n`
}
