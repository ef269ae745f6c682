import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { excessOf, screens, violationsOn } from '../helpers/axe.ts'
import { startChromium } from '../helpers/servers/chromium.ts'
import { isFull } from '../helpers/tier.ts'
import { type Host, peopleOn, startHost } from '../helpers/world.ts'
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

function pathsOf({ settled: finished, held }: Company): string[] {
  return [
    '/',
    '/runs',
    '/runs?state=cancelled',
    `/runs/${finished.id}`,
    `/runs/${held.id}`,
    `/runs/${held.id}/decision`,
    `/runs/${held.id}/approval?digest=${held.digest}`,
    `/runs/${held.id}/rejection`,
    `/runs/${held.id}/keys/answer`,
    `/runs/${held.id}/values?field=status&value=Dormant`,
    '/people',
    '/person?connection=acme&key=E0007',
    '/person?connection=acme&key=E0005',
    '/person/hold-back?connection=acme&key=E0005',
    '/problems',
    '/problems?values=1',
    '/problems/hr',
    '/problems/hr?values=1',
    '/sources',
    `/sources/${finished.id}`,
    '/events',
    '/schedules',
    '/schedules/acme/pause',
    '/reports?values=1&from=2026-11-01&to=2026-11-30',
    '/audit',
    '/settings',
    '/connections/acme/sync',
    '/nothing',
  ]
}

describe.each([
  ['with scripts', true],
  ['without scripts', false],
])('in Chromium %s', (_how, scripts) => {
  test('a person finds the held plan on the overview, reads it, approves it with a reason, and it is delivered', async () => {
    await using own = await openCompany(host, { people: scripts ? 34 : 35 })
    await using window = await newWindow(chromium, own.console, { scripts })
    const { page, go, press } = window
    await go('/')

    await press('View the plan')
    const why = await textOf(page, '.verdicts')
    await press('Approve …')
    const question = await textOf(page, '.says')
    await page.type('::-p-aria(Reason)', 'HR confirms it')
    await press('Approve and deliver 13 changes')
    const confirmation = await textOf(page, '.notice')
    await own.world.drain()

    expect(why).toMatch(/^Leavers Failed 12 of \d+ people would be separated; the limit is 5/)
    expect(question).toContain('It separates 13 people.')
    expect(question).toContain(`You approve exactly this plan: ${own.held.digest}.`)
    expect(confirmation).toBe('The plan is approved and is being delivered.')
    const run = await own.world.runOf(own.held.id)
    expect(run).toMatchObject({ state: 'finished_with_problems', decidedBy: 'ana', decidedReason: 'HR confirms it' })
    const leavers = [...(await peopleOn(own.client)).values()].filter(({ separatedAt }) => separatedAt !== null)
    expect(leavers).toHaveLength(13)
    expect(window.complaints).toEqual([])
  })

  test('one person is synced, held back and released again, each after a confirmation', async () => {
    await using own = await openCompany(host, { people: scripts ? 36 : 37 })
    await using window = await newWindow(chromium, own.console, { scripts })
    const { page, go, press } = window
    await go('/person?connection=acme&key=E0005')

    await press('Hold back')
    await press('Go back')
    const kept = await textOf(page, 'h1')
    await press('Hold back')
    await page.$eval('#until', (input) => Object.assign(input, { value: '2026-12-24' }))
    await page.type('#reason', 'HR lists them by mistake')
    await press('Hold the departure back')
    const held = [await textOf(page, '.notice'), await textOf(page, '.notes')]
    await press('End hold-back')
    await press('End the hold-back')
    const ended = await textOf(page, '.notice')
    await press('Sync now')
    await press('Sync this person now')
    const synced = await textOf(page, '.notice')

    expect(kept).toBe('Person 5 E0005')
    expect(held).toEqual([
      'The departure of E0005 is held back until 2026-12-24.',
      expect.stringContaining('held back until 24 Dec 2026 by ana: HR lists them by mistake.'),
    ])
    expect(ended).toBe('HR’s data about E0005 applies again.')
    expect(synced).toBe('E0005 is being synced.')
    expect(window.complaints).toEqual([])
  })
})

test('scripts filter a list without a page load, and going back undoes the filter', async () => {
  await using window = await newWindow(chromium, company.console)
  const { page, go } = window
  await go('/runs')
  await page.evaluate('window.stays = true')

  await page.select('::-p-aria(State)', 'held')
  await page.waitForFunction('document.querySelectorAll("#runs tbody tr").length === 1')
  const narrowed = [new URL(page.url()).searchParams.get('state'), await page.evaluate('window.stays')]
  await page.evaluate('history.back()')
  await page.waitForSelector('#runs tbody tr:nth-child(3)')

  expect(narrowed).toEqual(['held', true])
  expect(new URL(page.url()).search).toBe('')
  expect(window.complaints).toEqual([])
})

test('the keyboard alone leads to everything on a held plan, and what has the focus shows it', async () => {
  await using window = await newWindow(chromium, company.console)
  const { page, go } = window
  await go(`/runs/${company.held.id}/decision`)
  const focusable = await page.$$eval(
    'a[href], button, input, select, summary',
    (elements) => elements.filter((element) => element.checkVisibility({ visibilityProperty: true })).length,
  )
  const met = new Set<string>()
  const unseen: string[] = []

  for (let steps = 0; steps < focusable; steps += 1) {
    await page.keyboard.press('Tab')
    const [location, name, shows] = (await page.evaluate(`(() => {
      const element = document.activeElement
      const { outlineStyle, outlineWidth } = getComputedStyle(element)
      const place = [...document.querySelectorAll('*')].indexOf(element)
      return [place, element.textContent.trim(), outlineStyle !== 'none' && outlineWidth !== '0px']
    })()`)) as [number, string, boolean]
    met.add(String(location))
    if (!shows) unseen.push(name)
  }

  expect(met.size).toBe(focusable)
  expect(unseen).toEqual([])
})

// In the small form axe looks at each page on one of the screens. The width is measured on each.
test.each(screens.map(([scheme, width], position) => ({ scheme, width, position })))(
  'axe finds nothing in $scheme on a screen $width pixels wide, and no page is wider',
  async ({ scheme, width, position }) => {
    await using window = await newWindow(chromium, company.console)
    const { page, go } = window
    await page.setViewport({ width, height: 900 })
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
    const violations: (readonly [string, string[]])[] = []
    let looked = 0
    const look = async (path: string) => {
      await page.$$eval('details', (all) => {
        for (const one of all) one.open = true
      })
      const wider = await excessOf(page)
      looked += 1
      const problems = isFull || looked % screens.length === position ? await violationsOn(page) : []
      violations.push([path, [...problems, ...(wider === 0 ? [] : [`wider by ${wider}`])]])
    }

    for (const path of pathsOf(company)) {
      await go(path)
      await look(path)
    }
    await window.leave()
    for (const path of ['/sign-in?to=%2Fruns', '/sign-in?out=1']) {
      await go(path)
      await look(path)
    }
    await page.type('::-p-aria(Token)', 'a wrong one')
    await window.press('Sign in')
    await look('a refused sign-in')

    expect(violations.filter(([, problems]) => problems.length > 0)).toEqual([])
  },
)

test('nothing is fetched from elsewhere', async () => {
  await using window = await newWindow(chromium, company.console)
  const requested = new Set<string>()
  window.page.on('request', (request) => requested.add(new URL(request.url()).origin))

  for (const path of pathsOf(company).slice(0, 6)) await window.go(path)

  expect([...requested]).toEqual([company.console.url])
})
