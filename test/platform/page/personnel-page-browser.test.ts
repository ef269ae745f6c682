import type { Page } from 'puppeteer-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { excessOf, screens, violationsOn } from '../../helpers/axe.ts'
import { startChromium } from '../../helpers/servers/chromium.ts'
import { createPostgresDatabase } from '../../helpers/servers/databases.ts'
import { newPageCompany, password } from '../helpers/page-visitors.ts'
import { openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

/** Runs in the page. */
const whatHasTheFocus = `(() => {
  const element = document.activeElement
  if (element === document.body) return null
  const { outlineStyle, outlineWidth } = getComputedStyle(element)
  const name = element.getAttribute('aria-label') ?? element.labels?.[0]?.textContent ?? element.textContent
  return { name: name.replaceAll(/\\s+/g, ' ').trim(), shows: outlineStyle !== 'none' && outlineWidth !== '0px' }
})()`
const desktop = { width: 1280, height: 900 }

let opened: TestPlatform
let chromium: Awaited<ReturnType<typeof startChromium>>

beforeAll(async () => {
  chromium = await startChromium()
  opened = await openTestPlatform(createPostgresDatabase)
  await opened.newAccount()
  await opened.operator.createOperator({ body: { name: 'ana', account: null, password } })
})
afterAll(async () => {
  await opened[Symbol.asyncDispose]()
  await chromium[Symbol.asyncDispose]()
})

/** A separate window without the cookies of the others. Errors in the page's console fail the test. */
async function newWindow(options: { readonly scripts?: boolean } = {}) {
  const context = await chromium.browser.createBrowserContext()
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('requestfailed', (request) => complaints.push(request.url()))
  await page.setViewport(desktop)
  await page.setJavaScriptEnabled(options.scripts ?? true)
  const origin = new URL(opened.platform.baseUrl).origin
  return {
    page,
    complaints,
    go: (path: string) => page.goto(origin + path),
    press: (name: string) => leave(page, async () => (await shown(page, `::-p-aria(${name})`)).click()),
    [Symbol.asyncDispose]: () => context.close(),
  }
}

async function shown(page: Page, selector: string) {
  const element = await page.$(selector)
  if (element === null) throw new Error(`there is no ${selector} on ${page.url()}`)
  return element
}

/** Resolves when the page has such an element. The page may reload itself before that. */
async function untilShown(page: Page, selector: string): Promise<void> {
  const matched = Promise.withResolvers<void>()
  const look = () => void page.$(selector).then((element) => element && matched.resolve(), matched.reject)
  page.on('load', look)
  look()
  await matched.promise
  page.off('load', look)
}

async function leave(page: Page, act: () => Promise<unknown>): Promise<void> {
  await Promise.all([page.waitForNavigation(), act()])
}

async function signIn(window: Awaited<ReturnType<typeof newWindow>>): Promise<void> {
  await window.go('/personnel/sign-in')
  await window.page.type('::-p-aria(Name)', 'ana')
  await window.page.type('::-p-aria(Password)', password)
  await window.press('Sign in')
}

function textOf(page: Page, selector: string): Promise<string> {
  return page.$eval(selector, (element) => element.textContent.replaceAll(/\s+/g, ' ').trim())
}

describe.each([
  ['with scripts', true],
  ['without scripts', false],
])('in Chromium %s', (_how, scripts) => {
  test('an operator signs in, looks for somebody, gives them back to the sync, syncs and signs out', async () => {
    const acme = await newPageCompany(opened)
    await using window = await newWindow({ scripts })
    const { page, go, press } = window
    await signIn(window)

    await go(`/personnel?account=${acme.id}`)
    await page.type('::-p-aria(Name or address)', 'desk front')
    await press('Show')
    const countText = await textOf(page, '[aria-labelledby=people] [role=status]')
    await press('Reset Front Desk')
    const reset = await textOf(page, '.notice')
    await press('Sync now')
    const started = await textOf(page, '.notice')
    await untilShown(page, '.sync button')
    const result = await textOf(page, '.sync [role=status]')
    const status = await textOf(page, 'td .badge')
    await press('Sign out')

    expect(countText).toBe('1 person')
    expect(reset).toBe('The next sync updates 1 person again.')
    expect(started).toMatch(/^The sync has (?:been started|finished)\.$/)
    expect(result).toContain('started by ana. 2 HR records in')
    expect(status).toBe('Current contractor')
    expect(await page.title()).toBe('Sign in · Rollcall')
    expect(window.complaints).toEqual([])
  })

  test('everybody set by hand is given back after a question, and not without it', async () => {
    const acme = await newPageCompany(opened)
    await using window = await newWindow({ scripts })
    await signIn(window)
    await window.go(`/personnel?account=${acme.id}`)

    await window.press('Reset everybody set by hand (1)')
    await window.press('Cancel')
    const kept = (await acme.person('desk@acme.example')).statusUpdatedAt
    await window.press('Reset everybody set by hand (1)')
    await window.press('Reset 1 person')

    expect(kept).not.toBeNull()
    expect(await textOf(window.page, '.notice')).toBe('The next sync updates 1 person again.')
    expect((await acme.person('desk@acme.example')).statusUpdatedAt).toBeNull()
  })

  test('a page that follows a sync reloads until the sync has ended, and then shows its result', async () => {
    const acme = await newPageCompany(opened)
    await using window = await newWindow({ scripts })
    const { page } = window
    await signIn(window)
    await window.go(`/personnel?account=${acme.id}`)
    const [held, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const holding = opened.platform.database.db.transaction().execute(async (trx) => {
      await trx.selectFrom('custom_connections').select('id').where('account_id', '=', acme.id).forUpdate().execute()
      held.resolve()
      await release.promise
    })
    await held.promise

    await window.press('Sync now')
    const running = await textOf(page, '.sync [role=status]')
    await page.waitForNavigation()
    const still = await textOf(page, '.sync [role=status]')
    release.resolve()
    await holding
    await untilShown(page, '.sync button')

    for (const text of [running, still])
      expect(text).toMatch(/^Sync running since .* started by ana\. .*Stop reloading$/)
    expect(await textOf(page, '.sync [role=status]')).toContain('started by ana. 2 HR records in')
  })
})

test('the keyboard alone leads to everything, and what has the focus shows it', async () => {
  const acme = await newPageCompany(opened)
  await using window = await newWindow()
  const { page, go } = window
  await go('/personnel/sign-in')
  await page.waitForFunction('document.activeElement.id === "name"')
  await page.keyboard.type('ana')
  await page.keyboard.press('Tab')
  await page.keyboard.type(password)
  await leave(page, () => page.keyboard.press('Enter'))
  await go(`/personnel?account=${acme.id}`)
  const met: string[] = []
  const unseen: string[] = []
  const focused = async () => (await page.evaluate(whatHasTheFocus)) as { name: string; shows: boolean } | null

  for (;;) {
    await page.keyboard.press('Tab')
    const on = await focused()
    if (on === null || met.length > 50) break
    met.push(on.name)
    if (!on.shows) unseen.push(on.name)
  }
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  const skipped = await page.evaluate('document.activeElement.id')
  for (let name = ''; name !== 'Reset Front Desk'; name = (await focused())?.name ?? '')
    await page.keyboard.press('Tab')
  await leave(page, () => page.keyboard.press('Enter'))
  await page.waitForFunction('document.activeElement !== document.body')

  expect(met).toEqual([
    'Skip to the content',
    'Rollcall',
    'Sign out',
    'Choose another account',
    'Sync now',
    'Everybody 3',
    'Current employee 1',
    'Out of scope 1',
    'Unknown 1',
    'Reset everybody set by hand (1)',
    'Name or address',
    'Employment status',
    'Source',
    'Show',
    'Nora Berg',
    'Front Desk',
    'Reset Front Desk',
    'Ana Ruiz',
  ])
  expect(unseen).toEqual([])
  expect(skipped).toBe('content')
  expect(await page.evaluate('document.activeElement.textContent')).toBe('The next sync updates 1 person again.')
})

test.each(screens)('axe finds nothing in %s on a screen %d pixels wide', async (scheme, width) => {
  const acme = await newPageCompany(opened)
  await using window = await newWindow()
  const { page, go } = window
  await page.setViewport({ width, height: 900 })
  await page.emulateMediaFeatures([
    { name: 'prefers-color-scheme', value: scheme },
    { name: 'prefers-reduced-motion', value: 'reduce' },
  ])
  await go('/personnel/sign-in')
  const violations: (readonly [string, string[]])[] = [['sign-in', await violationsOn(page)]]
  await page.type('::-p-aria(Name)', 'ana')
  await page.type('::-p-aria(Password)', 'wrong horse battery')
  await window.press('Sign in')
  violations.push(['refused', await violationsOn(page)])
  await signIn(window)
  violations.push(['accounts', await violationsOn(page)])
  const started_at = opened.clock.now()
  const syncs = opened.platform.database.db.insertInto('identity_sync_attempts')
  const attempt = { account_id: acme.id, trigger: 'schedule', started_by: null, started_at } as const

  await syncs.values({ ...attempt, ended_at: started_at }).execute()
  for (const path of [
    `/personnel?account=${acme.id}`,
    `/personnel?account=${acme.id}&q=nobody&status=UNKNOWN`,
    `/personnel/reset-all?account=${acme.id}`,
    `/personnel/person?account=${acme.id}&person=${acme.deskId}`,
    '/personnel/nothing',
  ]) {
    await go(path)
    violations.push([path, await violationsOn(page)])
  }
  await syncs.values(attempt).execute()
  await go(`/personnel?account=${acme.id}&source=by-hand`)
  violations.push(['running', await violationsOn(page)])
  await window.press('Reset Front Desk')
  violations.push(['told', await violationsOn(page)])

  expect(violations.filter(([, problems]) => problems.length > 0)).toEqual([])
  expect(await excessOf(page)).toBe(0)
})

test.each([
  ['one word', 'x'.repeat(191)],
  ['many words', 'Northern Region Payroll '.repeat(7).trim()],
])(
  'a connection whose name is %s of great length leaves the page as wide as the screen',
  async (_what, clientAlias) => {
    const acme = await newPageCompany(opened)
    const params = { connectionId: acme.connectionId }
    await acme.client.updateCustomConnection({ params, body: { clientAlias } })
    await using window = await newWindow()
    const { page, go } = window
    await signIn(window)
    const widths: (readonly [number, unknown, unknown])[] = []

    for (const width of [1280, 900, 700, 390]) {
      await page.setViewport({ width, height: 900 })
      await go(`/personnel?account=${acme.id}`)
      const overflow = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      )
      const squeezed = await page.evaluate(`[...document.querySelectorAll('tbody .row-name')]
      .filter((element) => element.getBoundingClientRect().width < 150).length`)
      widths.push([width, overflow, squeezed])
    }

    expect(widths).toEqual([1280, 900, 700, 390].map((width) => [width, 0, 0]))
  },
)

test('an error page shows who is signed in and lets them sign out', async () => {
  await using window = await newWindow()
  await signIn(window)

  await window.go('/personnel/nothing')
  const header = await textOf(window.page, 'header')
  await window.press('Sign out')

  expect(header).toBe('Rollcall Signed in as ana Sign out')
  expect(await textOf(window.page, 'h1')).toBe('Sign in to Personnel')
})

test('nothing is fetched from elsewhere', async () => {
  const acme = await newPageCompany(opened)
  await using window = await newWindow()
  const requested = new Set<string>()
  window.page.on('request', (request) => requested.add(new URL(request.url()).origin))
  await signIn(window)

  await window.go(`/personnel?account=${acme.id}`)

  expect([...requested]).toEqual([new URL(opened.platform.baseUrl).origin])
})
