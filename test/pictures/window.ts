import type { Browser, Page } from 'puppeteer-core'
import type { Stage } from './stage.ts'
import type { Theme } from './terminal.ts'

/** A machine that does other things as well answers late. */
const patienceMs = 300_000

export type Look = {
  readonly theme: Theme
  readonly width: number
  readonly height?: number
  readonly sharpness?: number
}

/** A window of its own; `show` gives it a size and a theme. */
export async function openWindow(browser: Browser) {
  const context = await browser.createBrowserContext()
  const page = await context.newPage()
  page.setDefaultTimeout(patienceMs)
  return {
    page,
    async show({ theme, width, height = 900, sharpness = 1 }: Look): Promise<void> {
      await page.setViewport({ width, height, deviceScaleFactor: sharpness })
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }])
    },
    [Symbol.asyncDispose]: () => context.close(),
  }
}

/** Signs in at the console, as a person does. */
export async function signInAtConsole(page: Page, { console }: Pick<Stage, 'console'>): Promise<void> {
  await page.goto(`${console.url}/sign-in`)
  await page.type('::-p-aria(Token)', console.token)
  await submit(page)
}

export async function signInAtPlatform(page: Page, { platform }: Pick<Stage, 'platform'>): Promise<void> {
  await page.goto(`${platform.url}/personnel/sign-in`)
  await page.type('::-p-aria(Name)', platform.name)
  await page.type('::-p-aria(Password)', platform.password)
  await submit(page)
}

async function submit(page: Page): Promise<void> {
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
}
