import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { excessOf, violationsOn } from '../helpers/axe.ts'
import { openConsole, visitorCookie } from '../helpers/console.ts'
import { startChromium } from '../helpers/servers/chromium.ts'
import { change, type Host, openWorld, staff, startHost } from '../helpers/world.ts'
import { newWindow, textOf } from './windows.ts'

let host: Host
let chromium: Awaited<ReturnType<typeof startChromium>>
beforeAll(async () => {
  host = await startHost()
  chromium = await startChromium()
})
afterAll(async () => {
  await chromium[Symbol.asyncDispose]()
  await host[Symbol.asyncDispose]()
})

const page = '/connections/acme/statement'
const people = staff(64)

/** A console after two nights: 60 people are employed, two have left, and the store has lost two. */
async function openTwoNights() {
  const { client } = await host.tenant()
  const world = await openWorld({ client })
  const { db } = world.sync.store
  await world.night(people.slice(0, 62), { asOf: '2026-11-19T01:00:00.000Z' })
  await sql`create function keep_out() returns trigger language plpgsql as $$ begin return null; end $$`.execute(db)
  await sql`create trigger keep_out before insert on roster for each row when (new.identity_id in ('E0063', 'E0064')) execute function keep_out()`.execute(
    db,
  )
  world.clock.now = new Date('2026-11-21T03:00:00.000Z')
  const left = { leavingDate: '2026-11-19', status: 'Inactive' }
  await world.night(change(people, { id: 'E0003', ...left }, { id: 'E0004', ...left }), {
    asOf: '2026-11-21T01:00:00.000Z',
  })
  const console = await openConsole(world)
  return {
    console,
    async [Symbol.asyncDispose]() {
      await console[Symbol.asyncDispose]()
      await world[Symbol.asyncDispose]()
    },
  }
}

test('the page of a statement shows each part with the people behind it, page by page, and what does not add up', async () => {
  await using opened = await openTwoNights()
  await using window = await newWindow(chromium, opened.console)
  const { page: shown } = window
  const cardOf = (id: string) => textOf(shown, `section:has(#${id})`)
  const rowsOf = async () => (await shown.$$('section:has(#people) tbody tr')).length

  await window.go(page)
  expect(await cardOf('result')).toContain('The statement does not add up')
  expect(await cardOf('result')).toContain('E0063, E0064')
  const stated = await cardOf('people-stated-by-hr')
  expect(stated).toContain('Employed, also on the platform60')
  expect(stated).toContain('Left, also on the platform2')

  await shown.locator('a[aria-label="60: employed, also on the platform"]').click()
  expect(await cardOf('people')).toContain('Person 1')
  expect(await rowsOf()).toBe(50)
  await shown.locator('::-p-aria(Next page)').click()
  await expect.poll(rowsOf).toBe(10)
  await window.go(`${page}?at=2026-11-20`)
  expect(await cardOf('result')).toContain('Everybody is accounted for')
  expect(await textOf(shown, '.lead')).toContain('the last statement on or before 2026-11-20')
  await window.go(`${page}?at=2026-01-01`)
  expect(await cardOf('result')).toMatch(/^There is no statement on or before 2026-01-01.*View the newest statement/s)

  await shown.browserContext().setCookie({ name: visitorCookie, value: 'vic.viewer', domain: '127.0.0.1' })
  await window.go(`${page}?side=stated&part=left`)
  expect(await rowsOf()).toBe(2)
  expect(await cardOf('people')).not.toContain('Person 3')
  expect(window.complaints).toEqual([])
})

test.each([1280, 390])('the page of a statement fits a window of %i pixels, in light and dark', async (width) => {
  await using opened = await openTwoNights()
  await using window = await newWindow(chromium, opened.console)
  const { page: shown } = window
  await shown.setViewport({ width, height: 900 })

  for (const value of ['light', 'dark']) {
    await shown.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }])
    await window.go(`${page}?side=stated&part=employed`)
    expect([value, await excessOf(shown), await violationsOn(shown)]).toEqual([value, 0, []])
  }
})

test('the page says which later run has no statement, and when everybody was accounted for', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const { db } = world.sync.store
  await world.night(people.slice(0, 12), { asOf: '2026-11-19T01:00:00.000Z' })
  await sql`alter table accounted_people rename to accounted_people_away`.execute(db)
  const { id } = await world.night(people.slice(0, 13), { asOf: '2026-11-20T01:00:00.000Z' })
  await sql`alter table accounted_people_away rename to accounted_people`.execute(db)
  await using console = await openConsole(world)
  await using window = await newWindow(chromium, console)

  await window.go(page)

  const result = await textOf(window.page, 'section:has(#result)')
  expect(await textOf(window.page, '.lead')).toContain('A later run has no statement.')
  expect(result).toContain('Everybody was accounted for at 20 Nov 2026, 03:01 UTC')
  expect(result).toContain(`No statement could be made after the later run ${id}`)
})
