import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { excessOf, violationsOn } from '../helpers/axe.ts'
import { openEmptyDaemon } from '../helpers/first-visit.ts'
import { credentials } from '../helpers/hr-systems/credentials.ts'
import { startChromium } from '../helpers/servers/chromium.ts'
import { type Host, startHost } from '../helpers/world.ts'
import { type OpenedSystem, openSystem } from '../recipes/opened-system.ts'
import { newWindow, textOf } from './windows.ts'

const people = 45

let host: Host
let system: OpenedSystem
let chromium: Awaited<ReturnType<typeof startChromium>>

beforeAll(async () => {
  host = await startHost()
  system = await openSystem('personio-v2-api', { people, now: Date.now })
  chromium = await startChromium()
})
afterAll(async () => {
  await chromium[Symbol.asyncDispose]()
  await system[Symbol.asyncDispose]()
  await host[Symbol.asyncDispose]()
})

/** The settings that lead a recipe to the system of this test, as a person types them. */
function localSettings({ origin }: OpenedSystem['server']): string {
  const addresses = {
    url: '/v2/persons?limit=20',
    'oauth2.tokenUrl': '/v2/auth/token',
    'each.0.url': '/v2/persons/{id}/employments',
  }
  const lines = Object.entries(addresses).map(([name, path]) => `${name}=${origin}${path}`)
  return ['allowPrivate=true', ...lines].join('\n')
}

test.each([
  ['with scripts on a wide screen', true, 1280],
  ['without scripts on a phone', false, 360],
])(
  'in Chromium %s, an admin connects an HR system from its credentials to the first plan',
  async (_how, scripts, width) => {
    const { key } = await host.tenant()
    await using empty = await openEmptyDaemon({ baseUrl: host.platform.baseUrl })
    await using window = await newWindow(chromium, empty, { scripts })
    const { page, go, press } = window
    await page.setViewport({ width, height: 900 })
    const problems: string[] = []
    const look = async () => {
      if (scripts) problems.push(...(await violationsOn(page)))
      problems.push(...((await excessOf(page)) === 0 ? [] : [`${page.url()} is wider`]))
    }
    await window.leave()
    await go('/')
    await page.type('::-p-aria(Token)', empty.adminToken)
    await press('Sign in')
    await page.select('select[name=recipe]', 'personio-v2-api')
    await press('Show what it needs')
    await look()

    await page.type('::-p-aria(Client ID)', credentials.clientId)
    await page.type('::-p-aria(Client secret)', 'a wrong one')
    await page.click('summary')
    await page.type('::-p-aria(Settings, one on each line)', localSettings(system.server))
    await press('Read the list and show it')
    const refused = await textOf(page, '.notice')
    const areSettingsShown = await page.$eval('details', ({ open }) => open)
    await look()
    await page.type('::-p-aria(Client secret)', credentials.clientSecret)
    await press('Read the list and show it')
    const figures = await textOf(page, '.figures')
    await look()
    await press('Connect …')
    await look()
    await page.type('::-p-aria(The API key of the platform)', key)
    await press('Write it and connect')
    const done = await textOf(page, '.notice')

    expect(refused).toMatch(/\/v2\/auth\/token does not accept the client .*: check clientId and clientSecret/)
    expect(areSettingsShown).toBe(true)
    expect(figures).toMatch(/^Rows ?45 People ?45 Have left already ?[1-9]\d* Would be sent ?45 /)
    expect(done).toContain('The connection hr was written to')
    const { source } = parse(await empty.config()).connections.hr
    expect(source).toMatchObject({ preset: 'personio-v2-api', oauth2: { clientId: credentials.clientId } })
    expect(await empty.config()).not.toContain(credentials.clientSecret)
    // Chromium complains about the status of the refused attempt.
    expect([problems, window.complaints.filter((text) => !text.includes('status of 422'))]).toEqual([[], []])
  },
)
