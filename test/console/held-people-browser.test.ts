import { afterAll, beforeAll, expect, test } from 'vitest'
import { Mapping } from '../../src/identity/mapping/mapping.ts'
import { excessOf, violationsOn } from '../helpers/axe.ts'
import { createVisitor, openConsole } from '../helpers/console.ts'
import { startChromium } from '../helpers/servers/chromium.ts'
import { type Host, openWorld, staff, startHost } from '../helpers/world.ts'
import { newWindow, textOf } from './windows.ts'

let host: Host
let held: Awaited<ReturnType<typeof openHeld>>
let chromium: Awaited<ReturnType<typeof startChromium>>
beforeAll(async () => {
  host = await startHost()
  held = await openHeld()
  chromium = await startChromium()
})
afterAll(async () => {
  await chromium[Symbol.asyncDispose]()
  await held[Symbol.asyncDispose]()
  await host[Symbol.asyncDispose]()
})

const mapping = Mapping.parse({
  fields: { identityId: 'Worker ID', email: 'Email', firstName: 'First Name', separatedAt: { column: 'Leaving Date' } },
  status: { column: 'Status', leftWhen: ['Inactive'], employedWhen: ['Active'] },
  group: 'Job Title',
})

/** A held plan of 130 leavers, on two pages, and of one joiner. */
async function openHeld() {
  await using opening = new AsyncDisposableStack()
  const { client } = await host.tenant()
  const world = opening.use(await openWorld({ client, feed: { mapping } }))
  const people = staff(151).map((person, at) => ({
    ...person,
    title: ['<b>Sales</b> & Söhne', 'Legal', ''][at % 3] ?? '',
    ...(at === 60 && { first: 'Öztürk' }),
  }))
  await world.night(people.slice(0, 150), { asOf: '2026-11-19T01:00:00.000Z' })
  const run = await world.night([...people.slice(0, 20), ...people.slice(150)], { asOf: '2026-11-20T01:00:00.000Z' })
  const console = opening.use(await openConsole(world))
  const opened = opening.move()
  return {
    console,
    path: `/runs/${run.id}/decision`,
    visit: (who: string) => createVisitor(console.url, who),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** The keys in the list of people, in its order. */
function keysIn(text: string): string[] {
  const [, list = ''] = text.split('The people of the plan</caption>')
  return [...list.matchAll(/<th role="rowheader".*?<a class="key"[^>]*>(E\d+)<\/a>/gs)].map(([, key = '']) => key)
}

test('the address filters, searches and sorts the people, and the next page keeps it', async () => {
  const ana = held.visit('ana.approver')
  const sales = `group=${encodeURIComponent('of:<b>Sales</b> & Söhne')}`

  const first = await ana.get(held.path)
  const filtered = await ana.get(`${held.path}?kind=leave&group=of:Legal&sort=key`)
  const joiner = await ana.get(`${held.path}?kind=join`)
  const searched = await ana.get(`${held.path}?q=oezt&${sales}`)
  const foreign = await ana.get(`${held.path}?group=of:Nobody`)
  const [next = ''] = first.text.match(/(?<=rel="next" href=")[^"]*/) ?? []
  const second = await ana.get(next.replaceAll('&amp;', '&'))

  expect(keysIn(first.text)).toHaveLength(100)
  expect(next).toContain('sort=kind')
  expect(keysIn(second.text)).toHaveLength(31)
  expect(keysIn(second.text).at(-1)).toBe('E0151')
  expect(new Set([...keysIn(first.text), ...keysIn(second.text)]).size).toBe(131)
  expect(keysIn(filtered.text)).toHaveLength(43)
  expect(keysIn(joiner.text)).toEqual(['E0151'])
  expect(keysIn(searched.text)).toEqual(['E0061'])
  expect(searched.text).toContain('value="of:&lt;b&gt;Sales&lt;/b&gt; &amp; Söhne" selected')
  expect(foreign.text).toContain('Nobody in the plan matches.')
})

test('a viewer filters by kind and key, and the page names neither people nor groups', async () => {
  const vera = held.visit('vera.viewer')

  const page = await vera.get(`${held.path}?kind=leave&q=e0061`)
  const refused = await vera.get(`${held.path}?group=of:Legal`)

  expect(keysIn(page.text)).toEqual(['E0061'])
  expect(page.text).not.toMatch(/Öztürk|Legal|Person \d/)
  expect(page.text).not.toContain('name="group"')
  expect(page.text).toContain('<b>Approve or reject</b>: only an approver can do this')
  expect(refused.status).toBe(403)
})

test.each(['light', 'dark'])('at 360 pixels, %s, the bar stays in view and covers nothing', async (value) => {
  await using window = await newWindow(chromium, held.console)
  const { page, go } = window
  await page.setViewport({ width: 360, height: 700 })
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }])
  await go(held.path)

  const atTop = await page.evaluate(barPosition)
  await page.evaluate('scrollTo(0, document.body.scrollHeight / 2)')
  const inTheMiddle = await page.evaluate(barPosition)
  const hidden = await page.evaluate(hiddenBehindBar)
  await page.evaluate('scrollTo(0, document.body.scrollHeight)')
  const covered = await page.evaluate(coveredAtTheEnd)

  expect([atTop, inTheMiddle]).toEqual(['in view', 'in view'])
  expect(hidden).toEqual([])
  expect(covered).toEqual([])
  expect(await textOf(page, '.decide')).toBe('130 leavers in 131 changes Approve … Approve a part … Reject …')
  expect(await violationsOn(page)).toEqual([])
  expect(await excessOf(page)).toBe(0)
})

const barPosition = `(() => {
  const { top, bottom, height } = document.querySelector('.decide').getBoundingClientRect()
  if (top < 0 || bottom > innerHeight + 0.5) return 'out of view: ' + top + ' to ' + bottom
  return height < innerHeight / 5 ? 'in view' : height + ' pixels high'
})()`

/** The links and fields that the bar hides when they have the focus. */
const hiddenBehindBar = `[...document.querySelectorAll('main :is(a[href], input, select, button, summary)')]
  .filter((element) => element.checkVisibility() && !element.closest('.decide'))
  .filter((element) => {
    element.focus()
    return element.getBoundingClientRect().bottom > document.querySelector('.decide').getBoundingClientRect().top
  })
  .map((element) => element.outerHTML.slice(0, 80))`

/** What lies behind the bar at the end of the page. */
const coveredAtTheEnd = `(() => {
  const bar = document.querySelector('.decide').getBoundingClientRect()
  return [...document.querySelectorAll('main > :not(#decision-bar), footer')]
    .map((element) => [element.id || element.className, element.getBoundingClientRect()])
    .filter(([, { top, bottom }]) => top < bar.bottom && bottom > bar.top)
    .map(([name]) => name)
})()`
