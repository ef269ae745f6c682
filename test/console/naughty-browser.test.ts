import naughtyStrings from 'big-list-of-naughty-strings/blns.json' with { type: 'json' }
import type { Page } from 'puppeteer-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { escapeText } from '../../src/text/escape.ts'
import { nasty } from '../helpers/nasty.ts'
import { startChromium } from '../helpers/servers/chromium.ts'
import { change, type Host, type HrPerson, staff, startHost } from '../helpers/world.ts'
import { openCompany } from './company.ts'
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

test('every value of HR is shown as text on every page, and none runs or breaks a page', async () => {
  await using own = await openCompany(host, { people: 30 })
  const { world } = own
  const strings = [...naughtyStrings, ...Object.values(nasty)]
    .map((value) => value.trim())
    .filter((value) => value !== '')
  const people = strings.map((value, at) => ({
    ...staff(1)[0],
    id: `N${String(at).padStart(4, '0')}`,
    email: `n${at}@acme.example`,
    first: value,
    title: value,
    leavingDate: '2026-11-21',
    status: 'Active',
  }))
  await world.night([...staff(30), ...people], { asOf: '2026-11-21T04:00:00.000Z' })
  const [newest] = (await own.console.control.listRuns({ query: { limit: 1 } })).data
  await using window = await newWindow(chromium, own.console)
  const { page, go } = window
  const dialogs: string[] = []
  page.on('dialog', (dialog) => {
    dialogs.push(dialog.message())
    void dialog.dismiss()
  })
  const visited: string[] = []

  for (let path: string | null = `/runs/${newest?.id}`; path !== null; ) {
    await go(path)
    visited.push(await textOf(page, 'body'))
    path = await page.$eval('#plan a[rel=next]', (link) => link.getAttribute('href')).catch(() => null)
  }
  await go(`/people?q=N00`)
  visited.push(await textOf(page, 'body'))

  const text = visited.join('\n').replaceAll(/\s+/g, ' ')
  const taken = strings.filter((one) => !/\p{Cc}/u.test(one) && [...one].length <= 191)
  const missing = taken.filter((one) => !text.includes(escapeText(one.normalize('NFC')).replaceAll(/\s+/g, ' ')))
  expect(taken.length).toBeGreaterThan(400)
  expect(missing).toEqual([])
  expect([dialogs, window.complaints]).toEqual([[], []])
})

const fields = [
  'id',
  'email',
  'first',
  'title',
  'start',
  'leavingDate',
  'status',
] as const satisfies readonly (keyof HrPerson)[]
const nastiest = [
  '<script>window.ran = 1</script>',
  '"><img src=x onerror="window.ran = 1">',
  "'-alert(1)-'</title></textarea><svg onload=alert(1)>",
  '\u202egnp.exe\u2066',
  'a\u0007\u001b[31mb\u200b',
  'javascript:alert(1)',
]

/** What a page has that no text may bring about. */
async function broughtAbout(page: Page): Promise<string[]> {
  return (await page.evaluate(`(() => {
    const found = []
    if (window.ran) found.push('a script ran')
    for (const one of document.querySelectorAll('script:not([src]), style, iframe, img:not([src^="/assets/"]), svg:not([role]):not([aria-hidden])')) found.push(one.outerHTML)
    for (const one of document.querySelectorAll('*')) {
      for (const { name, value } of one.attributes) if (/^on|^style$/.test(name) || /^javascript:/i.test(value) && name === 'href') found.push(name + '=' + value)
    }
    const odd = document.documentElement.textContent.match(/[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u200b\\u202a-\\u202e\\u2066-\\u2069]/)
    if (odd) found.push('the character ' + odd[0].codePointAt(0).toString(16))
    return found
  })()`)) as string[]
}

test('hostile text in a field of HR or in a reason is shown as text on every page', async () => {
  await using own = await openCompany(host, { people: 31 })
  const { world, console } = own
  await console.control.rejectRun({ params: { runId: own.held.id }, body: { reason: nastiest.join(' ') } })
  const people = fields.flatMap((field, at) =>
    nastiest.map((value, which) => ({
      ...staff(1)[0],
      id: `X${at}${which}`,
      [field]: field === 'id' ? `${value}${which}` : value,
    })),
  )
  const leaving = staff(31).map((person, at) => (at < 12 ? { ...person, leavingDate: '2026-11-20' } : person))
  const held = await world.night([...change(staff(31), ...leaving), ...(people as HrPerson[])], {
    asOf: '2026-11-21T04:00:00.000Z',
  })
  const query = encodeURIComponent(nastiest[1] ?? '')
  const pages = [
    ...['/', '/runs', `/runs/${own.held.id}`, `/runs/${held.id}`, `/runs/${held.id}/decision`, `/runs/${held.id}/keys`],
    ...[
      `/runs/${held.id}/values?value=${query}&field=status`,
      `/runs/${held.id}/keys/answer?former=${query}&key=${query}`,
    ],
    ...[
      `/runs/${held.id}/approval?digest=${query}`,
      `/runs/${held.id}/rejection`,
      `/runs?connection=${query}&state=${query}`,
    ],
    ...[
      '/people',
      `/people?q=${query}`,
      ...nastiest.map((value, at) => `/person?connection=acme&key=${encodeURIComponent(value + at)}`),
    ],
    ...[
      '/person?connection=acme&key=X20',
      `/person/retract?connection=acme&key=${query}`,
      '/problems',
      `/problems?connection=${query}`,
    ],
    ...[
      '/sources',
      `/sources/${held.id}`,
      '/events',
      '/schedules',
      `/schedules/${query}/pause`,
      '/audit',
      `/audit?by=${query}`,
    ],
    ...['/reports?values=1&from=2026-11-01&to=2026-11-30', '/settings', `/sign-in?to=${query}`, `/${query}`],
  ]
  await using window = await newWindow(chromium, console)
  const { page, go } = window
  const dialogs: string[] = []
  page.on('dialog', (dialog) => {
    dialogs.push(dialog.message())
    void dialog.dismiss()
  })
  const violations: (readonly [string, string[]])[] = []
  const visited: string[] = []

  for (const path of pages) {
    await go(path)
    violations.push([path, await broughtAbout(page)])
    visited.push(await textOf(page, 'body'))
  }

  const text = visited.join(' ')
  expect(held.state).toBe('held')
  expect(violations.filter(([, things]) => things.length > 0)).toEqual([])
  expect(dialogs).toEqual([])
  expect(nastiest.filter((one) => !text.includes(escapeText(one)))).toEqual([])
  // What is not there, or is no question for now, is said as the status of the answer too.
  expect(window.complaints.filter((one) => !/status of 4\d\d/.test(one))).toEqual([])
})
