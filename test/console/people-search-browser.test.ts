import { afterAll, beforeAll, expect, test } from 'vitest'
import { readEntry } from '../../src/store/audit/trail.ts'
import { openConsole } from '../helpers/console.ts'
import { startChromium } from '../helpers/servers/chromium.ts'
import { type Host, openWorld, staff, startHost } from '../helpers/world.ts'
import { newWindow } from './windows.ts'

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

test('a search for people that is typed and sent with Enter is in the audit trail once', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  await world.night(staff(5))
  await using console = await openConsole(world)
  await using window = await newWindow(chromium, console, { as: 'ana.operator' })
  const { page, go } = window
  const searches = async () => {
    const acts = await world.sync.store.db.selectFrom('audit_pending').select('entry').orderBy('id').execute()
    return acts
      .map(({ entry }) => readEntry(entry))
      .flatMap((entry) => (entry?.act === 'people.searched' ? [entry.details] : []))
  }

  await go('/people')
  await page.type('input[name=q]', 'e0003')
  await page.keyboard.press('Enter')
  await page.waitForFunction("document.querySelectorAll('#people tbody tr').length === 1")
  await page.waitForNetworkIdle({ idleTime: 400 })

  expect(await searches()).toEqual([{ people: 5 }, { people: 1 }])
})
