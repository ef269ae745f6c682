import { afterAll, beforeAll, expect, test } from 'vitest'
import { Mapping } from '../../src/identity/mapping/mapping.ts'
import { excessOf, violationsOn } from '../helpers/axe.ts'
import { createVisitor, openConsole } from '../helpers/console.ts'
import { startChromium } from '../helpers/servers/chromium.ts'
import { type Host, openWorld, peopleOn, staff, startHost } from '../helpers/world.ts'
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

const mapping = Mapping.parse({
  fields: { identityId: 'Worker ID', email: 'Email', firstName: 'First Name', separatedAt: { column: 'Leaving Date' } },
  status: { column: 'Status', leftWhen: ['Inactive'], employedWhen: ['Active'] },
  group: 'Job Title',
})

/** A company whose second export lacks twenty of forty people, of more groups than the page lists. */
async function openHeld(groups: readonly string[], requireReason = false) {
  await using opening = new AsyncDisposableStack()
  const { client } = await host.tenant()
  const approvals = { expireHours: 72, twoPeople: false, requireReason }
  const world = opening.use(await openWorld({ client, feed: { mapping }, connection: { approvals } }))
  const people = staff(60).map((person, at) => ({ ...person, title: groups[at % groups.length] ?? '' }))
  await world.night(people, { asOf: '2026-11-19T01:00:00.000Z' })
  const held = await world.night(people.slice(0, 20), { asOf: '2026-11-20T01:00:00.000Z' })
  const console = opening.use(await openConsole(world))
  const opened = opening.move()
  const separated = async () => [...(await peopleOn(client)).values()].filter((person) => person.separatedAt).length
  return { world, held, console, separated, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

test('a group of a held plan is chosen, looked at and approved without scripts, on any screen', async () => {
  await using opened = await openHeld(['<b>Sales</b>', 'Legal', ''], true)
  const { world, held, console, separated } = opened
  await using window = await newWindow(chromium, console, { scripts: false })
  const { page, go, press } = window

  await go(`/runs/${held.id}/decision`)
  await press('Approve a part …')
  await page.click('input[value="<b>Sales</b>"]')
  await press('Preview this part')
  const part = await textOf(page, 'main')
  await press('Approve this part …')
  await page.type('textarea', 'the office in Ulm closed')
  await press('Approve and deliver 13 changes')
  await world.drain()

  expect(part).toContain('It separates 13 leavers. What stays held: 27 leavers.')
  expect(await separated()).toBe(13)
  expect(await world.runOf(held.id)).toMatchObject({ state: 'held', counts: { leave: 27 } })
})

test('groups stay ticked when others are searched, however many they are', async () => {
  await using opened = await openHeld(Array.from({ length: 60 }, (_, at) => `Department ${at + 1}`))
  const { held, console } = opened
  const ana = createVisitor(console.url, 'ana.approver')
  const groups = Array.from({ length: 30 }, (_, at) => `Department ${at + 31}`)
  const chosen = new URLSearchParams(groups.map((group, at) => [`group-${at}`, group]))
  chosen.set('search', 'Department 2')

  const { text } = await ana.get(`/runs/${held.id}/part?${chosen}`)
  const shown = text.slice(text.indexOf('id="part"'), text.indexOf('id="choice"'))
  const ticked = [...text.matchAll(/name="(group-\d+)" type="checkbox" value="([^"]+)" checked/g)]
  const tooMany = await ana.get(
    `/runs/${held.id}/part?${new URLSearchParams(Array.from({ length: 101 }, (_, at) => [`group-${at}`, `G${at}`]))}`,
  )

  expect(shown.split('<details>').map((part) => part.split('/person?').length - 1)).toEqual([25, 5])
  expect(shown).toContain('<summary>5 more changes</summary>')
  expect(new Set(ticked.map(([, , group]) => group))).toEqual(new Set(groups))
  expect(new Set(ticked.map(([, name]) => name)).size).toBe(groups.length)
  expect(tooMany.text).toContain('This part cannot be approved: at most 100 groups can be ticked')
  expect(tooMany.text.match(/type="checkbox" value="G\d+" checked/g)).toHaveLength(101)
  expect(tooMany.text).not.toContain('Approve this part')
})

test('axe finds nothing on the page, and it is no wider', async () => {
  await using opened = await openHeld(Array.from({ length: 30 }, (_, at) => `Department ${at + 1} of a long name`))
  const { held, console } = opened
  await using window = await newWindow(chromium, console)
  const { page, go } = window
  await go(
    `/runs/${held.id}/part?kind-leave=1&group-0=${encodeURIComponent('Department 21 of a long name')}&search=Department+2`,
  )

  for (const width of [1440, 768, 360]) {
    await page.setViewport({ width, height: 900 })
    expect([width, await violationsOn(page), await excessOf(page)]).toEqual([width, [], 0])
  }
})

test('what cannot be a part is said on the page, and nothing is sent', async () => {
  await using opened = await openHeld(['Sales', 'Legal'])
  const { held, console, separated } = opened
  const ana = createVisitor(console.url, 'ana.approver')

  const whole = await ana.get(`/runs/${held.id}/part?kind-leave=1`)
  const unknown = await ana.get(`/runs/${held.id}/part?keys=E0021%0D%0AX%3C1%3E`)
  const stale = await ana.post(`/runs/${held.id}/part/approval`, {
    ...{ token: 'token of ana', 'group-0': 'Sales' },
    digest: 'sha256:other',
  })

  expect(whole.text).toContain('This part cannot be approved: this part is the whole plan')
  expect(unknown.text).toContain('has no change for X&lt;1&gt;')
  expect(stale.text).toContain('look at the part again')
  expect(await separated()).toBe(0)
})
