import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'puppeteer-core'
import type { Stage } from './stage.ts'
import { themes } from './terminal.ts'
import { type Look, openWindow, signInAtConsole, signInAtPlatform } from './window.ts'

const looks: readonly Look[] = ([360, 768, 1440] as const).flatMap((width) => themes.map((theme) => ({ theme, width })))

/** Every page of the console, by the name of its picture. */
function consolePages({ delivered, held, leaver }: Stage): Readonly<Record<string, string>> {
  const person = `connection=hr&key=${leaver}`
  return {
    overview: '/',
    runs: '/runs',
    'run-delivered': `/runs/${delivered}`,
    'run-held': `/runs/${held.id}`,
    'held-plan': `/runs/${held.id}/decision`,
    approval: `/runs/${held.id}/approval?digest=${held.digest}`,
    rejection: `/runs/${held.id}/rejection`,
    people: '/people',
    'people-found': '/people?q=son',
    person: `/person?${person}`,
    'hold-back': `/person/hold-back?${person}`,
    problems: '/problems',
    sources: '/sources',
    source: `/sources/${delivered}`,
    events: '/events',
    schedules: '/schedules',
    pause: '/schedules/hr/pause',
    reports: '/reports?values=1',
    audit: '/audit',
    settings: '/settings',
    sync: '/connections/hr/sync',
    missing: '/nothing',
  }
}

/** Pictures of all pages of both sites in every size and theme, for people who look for what is wrong with them. */
export async function takeAll(browser: Browser, stage: Stage, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  await using console = await openWindow(browser)
  await console.page.goto(`${stage.console.url}/sign-in`)
  await takeInAllLooks(console, join(folder, 'sign-in'))
  await signInAtConsole(console.page, stage)
  for (const [name, path] of Object.entries(consolePages(stage))) {
    await console.page.goto(stage.console.url + path)
    await takeInAllLooks(console, join(folder, name))
  }
  await using platform = await openWindow(browser)
  await signInAtPlatform(platform.page, stage)
  await platform.page.goto(`${stage.platform.url}/personnel?account=${stage.platform.account}`)
  await takeInAllLooks(platform, join(folder, 'personnel'))
}

async function takeInAllLooks(
  { page, show }: { page: Page; show: (look: Look) => Promise<void> },
  file: string,
): Promise<void> {
  for (const look of looks) {
    await show(look)
    await page.screenshot({ path: `${file}-${look.width}-${look.theme}.png` as const, fullPage: true })
  }
}
