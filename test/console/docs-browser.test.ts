import { readdir } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { docsGroups } from '../../src/console/pages/docs.ts'
import { helpByPath, helpFor } from '../../src/console/site/help.ts'
import { excessOf, screens, violationsOn } from '../helpers/axe.ts'
import { createVisitor } from '../helpers/console.ts'
import { startChromium } from '../helpers/servers/chromium.ts'
import { isFull } from '../helpers/tier.ts'
import { type Host, startHost } from '../helpers/world.ts'
import { type Company, openCompany } from './company.ts'
import { newWindow, textOf } from './windows.ts'

let host: Host
let company: Company
let chromium: Awaited<ReturnType<typeof startChromium>>

beforeAll(async () => {
  host = await startHost()
  company = await openCompany(host)
  chromium = await startChromium()
})
afterAll(async () => {
  await chromium[Symbol.asyncDispose]()
  await company[Symbol.asyncDispose]()
  await host[Symbol.asyncDispose]()
})

const viewer = () => createVisitor(company.console.url, 'val.viewer')
const pages = docsGroups.flatMap(([, names]) => names)

test('the list has every page of the docs', async () => {
  const files = await readdir(new URL('../../docs/', import.meta.url))
  const { text } = await viewer().get('/docs')

  expect(pages.toSorted()).toEqual(
    files.flatMap((file) => (file.endsWith('.md') ? [file.slice(0, -3)] : [])).toSorted(),
  )
  for (const name of pages) expect(text).toContain(`href="/docs/${name}"`)
})

test('every link between pages leads to a page with that heading, and every picture is there', async () => {
  const ana = viewer()
  const texts = new Map(
    await Promise.all(pages.map(async (name) => [name, (await ana.get(`/docs/${name}`)).text] as const)),
  )
  const broken: string[] = []
  for (const [name, text] of texts) {
    for (const [, page = name, anchor = ''] of text.matchAll(/href="(?:\/docs\/([a-z-]+))?(?:#([^"]*))?"/g)) {
      if (anchor !== 'content' && !texts.get(page)?.includes(anchor === '' ? '<h1>' : `id="${anchor}"`))
        broken.push(`${name}: ${page}#${anchor}`)
    }
    for (const [, picture = ''] of text.matchAll(/(?:src|srcset)="(\/docs\/[^"]+)"/g)) {
      const { status, headers } = await ana.get(picture)
      if (status !== 200 || !headers.get('content-type')?.startsWith('image/')) broken.push(`${name}: ${picture}`)
    }
  }

  expect(broken).toEqual([])
})

test.each(helpByPath)('pages at %s have a page of the docs that is there', async (_path, target) => {
  const [page = '', anchor] = target.split('#')

  const { status, text } = await viewer().get(`/docs/${page}`)

  expect(status).toBe(200)
  if (anchor !== undefined) expect(text).toContain(`id="${anchor}"`)
})

test.each([
  ['/', '/docs/console'],
  ['/runs/r1/decision?x=1', '/docs/operate#a-run-is-held'],
  ['/runs/r1', '/docs/operate#what-a-runs-state-means'],
  ['/connections/acme/statement', '/docs/audit#the-population-statement'],
  ['/person/state-departure?key=E1', '/docs/operate#hr-has-not-recorded-a-departure-yet'],
  ['/connect/list/l1', '/docs/console#the-first-connection'],
  ['/docs/alerts', null],
])('help for %s is %s', (path, expected) => {
  expect(helpFor(path)).toBe(expected)
})

describe('the docs', () => {
  test('are for people who are signed in', async () => {
    const stranger = createVisitor(company.console.url, null)

    const answers = await Promise.all(
      ['/docs', '/docs/alerts', '/docs/pictures/held-plan-dark.webp'].map((path) => stranger.get(path)),
    )

    expect(answers.map(({ status, location }) => [status, location?.startsWith('/sign-in')])).toEqual(
      answers.map(() => [303, true]),
    )
  })

  test.each([
    '/docs/nothing',
    '/docs/..%2fpackage',
    '/docs/..%2f..%2fetc%2fpasswd',
    '/docs/ALERTS',
    '/docs/pictures/..%2falerts.md',
    '/docs/pictures/nothing.webp',
    '/docs/pictures',
  ])('have nothing at %s', async (path) => {
    expect((await viewer().get(path)).status).toBe(404)
  })
})

describe.each([
  ['with scripts', true],
  ['without scripts', false],
])('in Chromium %s', (_how, scripts) => {
  test('a person presses Help on the problems, reads the docs there, and follows a link to another page', async () => {
    await using window = await newWindow(chromium, company.console, { scripts })
    const { page, go, press } = window
    await go('/problems')

    await press('Help')
    const arrived = [new URL(page.url()).pathname + new URL(page.url()).hash, await textOf(page, 'h1')]
    const target = await textOf(page, ':target')
    await Promise.all([page.waitForNavigation(), page.click('.docs a[href^="/docs/guards"]')])
    const followed = await textOf(page, 'h1')
    await press('Docs')
    const list = await textOf(page, 'h1')

    expect(arrived).toEqual(['/docs/operate#people-who-need-attention', 'Operate'])
    expect(target).toBe('People who need attention')
    expect(followed).toBe('Guards')
    expect(list).toBe('Docs')
    expect(window.complaints).toEqual([])
  })
})

test('a page shows its picture', async () => {
  await using window = await newWindow(chromium, company.console)
  await window.go('/docs/console')

  const width = await window.page.$eval('.docs img', (image) => image.naturalWidth)

  expect(width).toBeGreaterThan(100)
  expect(window.complaints).toEqual([])
})

// In the small form axe looks at each page on one of the screens. The width is measured on each.
test.each(screens.map(([scheme, width], position) => ({ scheme, width, position })))(
  'axe finds nothing in the docs on $scheme screens $width pixels wide, and none is wider',
  async ({ scheme, width, position }) => {
    await using window = await newWindow(chromium, company.console)
    const { page, go } = window
    await page.setViewport({ width, height: 900 })
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
    const violations: (readonly [string, string[]])[] = []

    for (const [index, path] of [
      '/docs',
      '/docs/console',
      '/docs/alerts',
      '/docs/operate',
      '/docs/first-connection',
      '/docs/audit',
    ].entries()) {
      await go(path)
      const wider = await excessOf(page)
      const problems = isFull || index % screens.length === position ? await violationsOn(page) : []
      violations.push([path, [...problems, ...(wider === 0 ? [] : [`wider by ${wider}`])]])
    }

    expect(violations.filter(([, problems]) => problems.length > 0)).toEqual([])
  },
)
