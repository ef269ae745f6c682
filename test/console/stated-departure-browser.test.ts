import { afterAll, beforeAll, expect, test } from 'vitest'
import { listStatedDepartures } from '../../src/sync/requests/stated-departures.ts'
import { requestRun } from '../../src/sync/sync.ts'
import { excessOf, violationsOn } from '../helpers/axe.ts'
import { openConsole } from '../helpers/console.ts'
import { startChromium } from '../helpers/servers/chromium.ts'
import { isFull } from '../helpers/tier.ts'
import { type Host, openWorld, peopleOn, staff, startHost } from '../helpers/world.ts'
import { newWindow, textOf } from './windows.ts'

const widths = isFull ? [1440, 768, 360] : [1440, 360]

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

type Options = { readonly twoPeople: boolean; readonly scripts?: boolean }

/** A company on 20 November 2026, and the page of one of its people as ana and ben see it. */
async function openPerson({ twoPeople, scripts = true }: Options) {
  await using opening = new AsyncDisposableStack()
  const { client } = await host.tenant()
  const approvals = { expireHours: 72, twoPeople }
  const world = opening.use(await openWorld({ client, connection: { approvals } }))
  world.setExport(staff(12), '2026-11-19T01:00:00.000Z')
  await requestRun(world.sync, { connection: 'acme', trigger: 'schedule' })
  await world.drain()
  const console = opening.use(await openConsole(world))
  const [ana, ben] = [
    opening.use(await newWindow(chromium, console, { scripts })),
    opening.use(await newWindow(chromium, console, { scripts, as: 'ben.approver' })),
  ]
  const opened = opening.move()
  return {
    world,
    ana,
    ben,
    /** Fills a form in on the page of the person, from the link to it to its button. Returns the page that follows, once all is delivered. */
    async fill({ page, go, press }: typeof ana, { link, on, reason, emergency = false, button }: Form) {
      await go('/person?connection=acme&key=E0003')
      await press(link)
      if (on !== undefined) await page.$eval('#on', (input, day) => Object.assign(input, { value: day }), on)
      if (emergency) await page.click('#emergency')
      await page.type('#reason', reason)
      await press(button)
      await world.drain()
      return await textOf(page, 'body')
    },
    /** The last day that the platform has; null: the person is employed. */
    dayOnPlatform: async () => (await peopleOn(client)).get('E0003')?.separatedAt?.slice(0, 10) ?? null,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

type Form = {
  readonly link: string
  readonly on?: string
  readonly reason: string
  readonly emergency?: boolean
  readonly button: string
}

const [state, stateToo, correct, withdraw, withdrawToo] = [
  { link: 'State departure', button: 'State the departure' },
  { link: 'State it too', button: 'State the departure too' },
  { link: 'Correct the day', button: 'Correct the last day' },
  { link: 'Withdraw departure', button: 'Withdraw the departure' },
  { link: 'Withdraw it too', button: 'Withdraw the departure' },
]

test('one person states a departure, corrects its day and withdraws it, without scripts', async () => {
  await using opened = await openPerson({ twoPeople: false, scripts: false })
  const { ana, fill, dayOnPlatform } = opened

  const stated = await fill(ana, { ...state, on: '2026-11-18', reason: 'dismissed <b>today</b>' })
  const first = await dayOnPlatform()
  await ana.go('/person?connection=acme&key=E0003')
  const notes = await textOf(ana.page, '.notes')
  const corrected = await fill(ana, { ...correct, on: '2026-11-19', reason: 'a slip of the pen' })
  const second = await dayOnPlatform()
  const withdrawn = await fill(ana, { ...withdraw, reason: 'the wrong person' })

  expect([first, second, await dayOnPlatform()]).toEqual(['2026-11-18', '2026-11-19', null])
  expect(stated).toContain('E0003 leaves on 2026-11-18.')
  expect(notes).toContain('Leaves on 2026-11-18, stated by ana, not yet by HR: dismissed <b>today</b>.')
  expect(corrected).toContain('E0003 leaves on 2026-11-19.')
  expect(withdrawn).toContain('HR’s data about E0003 applies again.')
  await ana.go('/person?connection=acme&key=E0003')
  expect(await textOf(ana.page, 'main')).toContain('State departure')
})

test('two people state a departure, correct its day and withdraw it, and one alone changes nothing', async () => {
  await using opened = await openPerson({ twoPeople: true })
  const { ana, ben, fill, dayOnPlatform } = opened
  const days: (string | null)[] = []
  const step = async (...[window, form]: Parameters<typeof fill>) => {
    const text = await fill(window, form)
    days.push(await dayOnPlatform())
    return text
  }

  const first = await step(ana, { ...state, reason: 'dismissed' })
  const again = await step(ana, { ...stateToo, reason: 'I am sure' })
  const typed = await ana.page.$eval('#reason', (input) => input.getAttribute('value'))
  const second = await step(ben, { ...stateToo, reason: 'I know of it' })
  const correction = await step(ana, { ...correct, on: '2026-11-19', reason: 'it was yesterday' })
  await step(ben, { ...stateToo, reason: 'it was yesterday' })
  const withdrawal = await step(ben, { ...withdraw, reason: 'the wrong person' })
  await step(ana, { ...withdrawToo, reason: 'the wrong person' })

  expect(days).toEqual([null, null, '2026-11-20', '2026-11-20', '2026-11-19', '2026-11-19', null])
  expect(first).toContain('E0003 leaves on 2026-11-20 once a second person states it too.')
  expect([again, typed]).toEqual([expect.stringContaining('requires another person to state it too'), 'I am sure'])
  expect(second).toContain('E0003 leaves on 2026-11-20.')
  expect(correction).toContain('E0003 leaves on 2026-11-19 once a second person states it too.')
  expect(withdrawal).toContain('The departure of E0003 applies until a second person withdraws it too.')
})

test('an emergency is sent at once, and asks for the second person afterwards', async () => {
  await using opened = await openPerson({ twoPeople: true })
  const { world, ana, ben, fill, dayOnPlatform } = opened

  const stated = await fill(ana, { ...state, emergency: true, reason: 'dismissed on the spot' })
  const alone = await dayOnPlatform()
  await ben.go('/person?connection=acme&key=E0003')
  const notes = await textOf(ben.page, '.notes')
  await fill(ben, { ...stateToo, reason: 'I know of it' })

  expect([stated, alone]).toEqual([expect.stringContaining('E0003 leaves on 2026-11-20.'), '2026-11-20'])
  expect(notes).toContain('stated by ana alone, as an emergency, not yet by HR: dismissed on the spot')
  expect(await listStatedDepartures(world.sync, 'acme')).toMatchObject([{ isEmergency: true, approvedBy: 'ben' }])
})

test('a form without a reason is not sent', async () => {
  await using opened = await openPerson({ twoPeople: false })
  const { world, ana } = opened

  await ana.go('/person?connection=acme&key=E0003')
  await ana.press('State departure')
  await ana.page.click('.confirm button.main')
  const missing = await ana.page.$eval(':focus', (field) => field.id)

  expect(missing).toBe('reason')
  expect(await listStatedDepartures(world.sync, 'acme')).toEqual([])
})

test('axe finds nothing on forms and person, and none is wider', async () => {
  await using opened = await openPerson({ twoPeople: true })
  const { ana, ben, fill } = opened
  const seen: unknown[] = []
  const look = async ({ page, go }: typeof ana, path: string) => {
    await go(`/person${path}?connection=acme&key=E0003`)
    for (const width of widths) {
      await page.setViewport({ width, height: 900 })
      seen.push([path, width, await violationsOn(page), await excessOf(page)])
    }
  }

  await look(ana, '/state-departure')
  await fill(ana, { ...state, emergency: true, reason: 'x'.repeat(300) })
  await look(ben, '')
  await fill(ben, { ...stateToo, reason: 'I know of it' })
  await fill(ana, { ...correct, on: '2026-11-19', reason: `a long one ${'y'.repeat(300)}` })
  await look(ben, '')
  await look(ben, '/state-departure')
  await look(ben, '/withdraw-departure')

  const paths = ['/state-departure', '', '', '/state-departure', '/withdraw-departure']
  expect(seen).toEqual(paths.flatMap((path) => widths.map((width) => [path, width, [], 0])))
})
