import { readdir, readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { errorCode } from '../../errors.ts'
import { html } from '../../web/html.ts'
import { card, heading } from '../../web/layout.ts'
import { type PageAddresses, renderMarkdown } from '../../web/markdown.ts'
import type { Content } from '../site/frame.ts'
import type { Site } from '../site/site.ts'

/** Beside `src`, in the sources as in an installed package. */
const folder = new URL('../../../docs/', import.meta.url)

/** The pages of the docs by what their reader wants, as the list shows them. */
export const docsGroups: readonly (readonly [title: string, pages: readonly string[]])[] = [
  ['Getting started', ['first-connection', 'concepts', 'install', 'glossary']],
  ['Every day', ['operate', 'console', 'alerts', 'metrics', 'traces']],
  [
    'HR’s exports',
    [
      ...['configure', 'settings', 'sources', 'sources-files', 'sources-formats', 'sources-excel-json'],
      ...['sources-http', 'sources-http-pages', 'sources-sftp'],
      ...['sources-object-storage', 'sources-scim', 'webhooks', 'recipes', 'presets', 'records'],
    ],
  ],
  ['Decisions', ['guards', 'evidence', 'deliveries', 'disasters']],
  ['Auditors', ['leavers', 'effective', 'audit', 'access', 'security']],
  ['Programs and developers', ['api', 'platform', 'platform-contract', 'design', 'decisions', 'testing', 'capacity']],
]

const pictureTypes: Readonly<Record<string, string>> = { '.webp': 'image/webp', '.svg': 'image/svg+xml' }

const addresses: PageAddresses = {
  hrefOf(link) {
    if (link.startsWith('#') || link.startsWith('https://')) return link
    const [, page, anchor = ''] = /^([a-z-]+)\.md(#[^/]*)?$/.exec(link) ?? []
    // What lies beside the docs, such as the sources, is not served.
    return page === undefined ? null : `/docs/${page}${anchor}`
  },
  pictureOf: (file) => (/^pictures\/[a-z-]+\.(?:webp|svg)$/.test(file) ? `/docs/${file}` : null),
}

/** Adds the docs: a list of the pages, each page, and their pictures. They hold nothing of this installation. */
export function docsPages(site: Site): void {
  site.page('/docs', async () => await listPage())
  site.page('/docs/:page', async (_context, fields) => await docsPage(fields('page')))
  site.file('/docs/pictures/:name', async (_context, fields) => {
    const name = fields('name')
    const content = /^[a-z-]+\.(?:webp|svg)$/.test(name) ? await contentOf(`pictures/${name}`) : null
    return content && { name, type: pictureTypes[extname(name)] ?? 'image/webp', content }
  })
}

async function docsPage(name: string): Promise<Content | null> {
  const file = /^[a-z-]+$/.test(name) ? await contentOf(`${name}.md`) : null
  if (file === null) return null
  const { title, content } = await renderMarkdown(file.toString('utf8'), addresses)
  return {
    title,
    content: html`${heading({ title, crumbs: [{ name: 'Docs', href: '/docs' }] })}
<article class="docs">
${content}
</article>`,
    section: null,
  }
}

async function listPage(): Promise<Content> {
  const names = await pageNames()
  const groups = docsGroups.map(([group, pages]) => ({ group, pages: pages.filter((name) => names.includes(name)) }))
  const lead = 'The docs of the installed version.'
  const content = html`${heading({ title: 'Docs', lead })}
${names.length === 0 && html`<p class="empty" role="status">This installation came without the folder docs. <code>rollcall help</code> explains each command.</p>`}
${await Promise.all(
  groups.map(async ({ group, pages }, index) => {
    if (pages.length === 0) return null
    const items = await Promise.all(
      pages.map(async (name) => html`<li><a href="/docs/${name}">${await titleOf(name)}</a></li>\n`),
    )
    return card({ title: group, id: `group-${index}`, content: html`<ul class="docs-list">${items}</ul>` })
  }),
)}`
  return { title: 'Docs', content, section: null }
}

async function titleOf(name: string): Promise<string> {
  const text = (await contentOf(`${name}.md`))?.toString('utf8') ?? ''
  return /^# (.+)$/m.exec(text)?.[1] ?? name
}

async function pageNames(): Promise<string[]> {
  try {
    const files = await readdir(folder)
    return files.filter((file) => file.endsWith('.md')).map((file) => file.slice(0, -'.md'.length))
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return []
    throw error
  }
}

/** Null if there is no such file. */
async function contentOf(path: string): Promise<Buffer | null> {
  try {
    return await readFile(new URL(path, folder))
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null
    throw error
  }
}
