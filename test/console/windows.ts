import type { Browser, Page } from 'puppeteer-core'
import { visitorCookie } from '../helpers/console.ts'

/** A window of its own in which ana, or `as`, is signed in. What the page complains about fails the test that asks. */
export async function newWindow(
  { browser }: { readonly browser: Browser },
  { url }: { readonly url: string },
  { scripts = true, as = 'ana.approver' }: { readonly scripts?: boolean; readonly as?: string } = {},
) {
  const context = await browser.createBrowserContext()
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(String(error)))
  await context.setCookie({ name: visitorCookie, value: as, domain: '127.0.0.1' })
  await page.setViewport({ width: 1280, height: 900 })
  await page.setJavaScriptEnabled(scripts)
  return {
    page,
    complaints,
    go: (path: string) => page.goto(url + path),
    /** Ana is not signed in any more. */
    leave: () => context.deleteMatchingCookies({ name: visitorCookie }),
    press: (name: string) => leave(page, async () => (await shown(page, `::-p-aria(${name})`)).click()),
    [Symbol.asyncDispose]: () => context.close(),
  }
}

async function shown(page: Page, selector: string) {
  const element = await page.$(selector)
  if (element === null) throw new Error(`there is no ${selector} on ${page.url()}`)
  return element
}

/** Acts, and waits for the page that it leads to. */
export async function leave(page: Page, act: () => Promise<unknown>): Promise<void> {
  await Promise.all([page.waitForNavigation(), act()])
}

/** What a person reads there, once it is there: a page may renew itself in this very moment. */
export function textOf(page: Page, selector: string): Promise<string> {
  const written = page.locator(selector).map((element) => element.textContent.replaceAll(/\s+/g, ' ').trim())
  return written.wait()
}
