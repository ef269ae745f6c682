import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startChromium } from '../helpers/servers/chromium.ts'
import { type Host, startHost } from '../helpers/world.ts'
import { openCompany } from './company.ts'
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

const inUtc = /^\d+ \w+ \d{4}, \d\d:\d\d UTC$/
const inIndia = /^\d+ \w+ \d{4}, \d\d:\d\d GMT\+5:30$/

test('times are in the zone of the reader, also in parts that are replaced, with UTC on hover', async () => {
  await using company = await openCompany(host, { people: 40 })
  await using window = await newWindow(chromium, company.console)
  await using plain = await newWindow(chromium, company.console, { scripts: false })
  await window.page.emulateTimezone('Asia/Kolkata')
  const read = async ({ page }: typeof window) =>
    await page.$$eval('#runs time[data-instant]', (times) =>
      times.map((time) => ({
        text: time.textContent,
        title: time.getAttribute('title') ?? '',
        at: time.getAttribute('datetime'),
      })),
    )
  await window.go('/runs')
  await plain.go('/runs')

  const [local] = await read(window)
  const relative = await window.page.$eval('#runs time[data-relative]', (time) => time.getAttribute('title') ?? '')
  const [withoutScripts] = await read(plain)
  await window.page.evaluate(
    "document.querySelector('#runs time[data-instant] span').textContent = 'a part of the server'",
  )

  await vi.waitFor(async () => expect((await read(window))[0]).toEqual(local), 10_000)
  expect(local?.text).toMatch(inIndia)
  expect(local?.title).toMatch(inUtc)
  const [inZone = '', universal = ''] = relative.split(' · ')
  expect(inZone).toMatch(inIndia)
  expect(universal).toMatch(inUtc)
  expect(withoutScripts).toEqual({ text: local?.title, title: '', at: local?.at })
  expect(window.complaints).toEqual([])
})

test('the days of the audit page are those of the reader', async () => {
  await using company = await openCompany(host, { people: 41 })
  await using window = await newWindow(chromium, company.console)
  await window.page.emulateTimezone('Asia/Tokyo')
  await window.go('/audit')
  const zone = async () =>
    await window.page.$eval('.filter', (form) => [
      form.querySelector('[name="zone"]')?.getAttribute('value'),
      form.textContent?.includes('Days begin at midnight in Asia/Tokyo.'),
    ])

  expect(await zone()).toEqual(['Asia/Tokyo', true])
  await window.go('/audit?from=2026-11-01&zone=Europe/Berlin')
  expect(await zone()).toEqual(['Europe/Berlin', false])
  expect(window.complaints).toEqual([])
})
