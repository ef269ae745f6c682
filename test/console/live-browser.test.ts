import type { Page } from 'puppeteer-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startChromium } from '../helpers/servers/chromium.ts'
import { type Host, startHost } from '../helpers/world.ts'
import { type Company, openCompany } from './company.ts'
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

describe.each([
  ['by the stream of events', true],
  ['without a stream, as behind a proxy that ends it', false],
])('%s', (_how, isStreaming) => {
  test('a delivering run updates its progress, keeps the focus, and shows its result at the end', async () => {
    await using own = await openCompany(host, { people: isStreaming ? 38 : 39 })
    await using window = await newWindow(chromium, own.console)
    const { page, go, press } = window
    if (!isStreaming) await withoutStreams(page)
    await go(`/runs/${own.held.id}/approval?digest=${own.held.digest}`)
    await press('Approve and deliver 13 changes')
    await page.focus('::-p-aria(Cancel)')
    const begun = await textOf(page, 'h2#progress')
    if (isStreaming) await listening(own, 1)
    const response = page.waitForResponse((one) => one.url().endsWith('/progress'))
    // As the stream says it of a run that moves on.
    if (isStreaming) await page.evaluate("document.body.dispatchEvent(new Event('run', { bubbles: true }))")

    await response
    const focused = await page.evaluate('document.activeElement.textContent')
    await own.world.drain()

    expect([begun, focused]).toEqual(['Delivering', 'Cancel'])
    await vi.waitFor(async () => {
      expect(await textOf(page, 'h2#progress')).toBe('Finished with problems')
    }, 30_000)
    if (isStreaming) expect(window.complaints).toEqual([])
  })
})

/** Waits until this many windows listen. */
async function listening({ console }: Company, count: number): Promise<void> {
  await vi.waitUntil(() => console.listeners() === count, { timeout: 30_000 })
}

function isStream(response: { url(): string }): boolean {
  return new URL(response.url()).pathname === '/api/v1/events/live'
}

async function withoutStreams(page: Page): Promise<void> {
  await page.setRequestInterception(true)
  page.on('request', (request) => void (isStream(request) ? request.respond({ status: 502 }) : request.continue()))
}

test('a held plan that another person decides closes the question, and the lists of runs and problems stay live', async () => {
  await using own = await openCompany(host, { people: 31 })
  await using deciding = await newWindow(chromium, own.console)
  await using listing = await newWindow(chromium, own.console)
  await using troubled = await newWindow(chromium, own.console)
  const windows = [deciding, listing, troubled]
  await Promise.all([
    deciding.go(`/runs/${own.held.id}/decision`),
    listing.go('/runs?connection=acme'),
    troubled.go('/problems'),
  ])
  await listening(own, 3)
  const before = await textOf(listing.page, '#runs tbody tr')

  const nextResponse = troubled.page.waitForResponse((response) => response.url().endsWith('/problems/current'))
  await own.console.control.rejectRun({ params: { runId: own.held.id }, body: {} })
  await Promise.all([
    deciding.page.waitForFunction(`location.pathname === '/runs/${own.held.id}'`),
    listing.page.waitForFunction('document.querySelector("#runs tbody tr").textContent.includes("Rejected")'),
    nextResponse,
  ])

  expect(before).toContain('Held')
  expect(windows.map(({ complaints }) => complaints)).toEqual([[], [], []])
})

test('a window has one stream, which ends while no one looks at the window', async () => {
  await using own = await openCompany(host, { people: 30 })
  await using window = await newWindow(chromium, own.console)
  const { page, go } = window
  const streams: string[] = []
  page.on('request', (request) => void (isStream(request) && streams.push(request.url())))
  await page.evaluateOnNewDocument("document.addEventListener('snapshot', () => { window.hasHeard = true })")
  await go('/')
  await page.waitForFunction('window.hasHeard')
  const look = (isHidden: boolean) =>
    page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${isHidden} })
      document.dispatchEvent(new Event('visibilitychange'))`)

  await look(true)
  await listening(own, 0)
  const hidden = [...streams]
  await look(false)
  await listening(own, 1)

  expect(hidden).toHaveLength(1)
  expect(window.complaints).toEqual([])
})
