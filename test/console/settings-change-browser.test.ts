import { chmod, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { excessOf, violationsOn } from '../helpers/axe.ts'
import { configuredConnection, openConfiguredDaemon } from '../helpers/configured.ts'
import { startChromium } from '../helpers/servers/chromium.ts'
import { isFull } from '../helpers/tier.ts'
import { newWindow, textOf } from './windows.ts'

const settings = '/connections/hr/settings'
const atThree = "# Every night.\nschedule: { cron: '0 3 * * *' }"

/** An export with words that hold a mark of direction, a soft hyphen and a control character of one byte. */
const oddWords = ['Gone\u200e', 'Ru\u00adhend', 'Left\u009b']
const oddExport = [
  'Employee ID,Email,Start Date,Status',
  ...oddWords.map((word, at) => `E${at},e${at}@acme.example,2024-01-15,${word}`),
  '',
].join('\n')

let daemon: Awaited<ReturnType<typeof openConfiguredDaemon>>
let chromium: Awaited<ReturnType<typeof startChromium>>
beforeAll(async () => {
  daemon = await openConfiguredDaemon({ files: { 'odd.csv': oddExport } })
  chromium = await startChromium()
})
beforeEach(async () => await writeFile(daemon.file, daemon.text))
afterAll(async () => {
  await chromium[Symbol.asyncDispose]()
  await daemon[Symbol.asyncDispose]()
})

type Daemon = Awaited<ReturnType<typeof openConfiguredDaemon>>
type WindowOptions = {
  readonly scripts?: boolean
  readonly width?: number
  readonly token?: string
  readonly dark?: boolean
}

/** A window at the settings of the connection, in which an admin is signed in. */
async function openSettings(
  of: Daemon,
  { scripts = true, width = 1280, token = of.adminToken, dark = false }: WindowOptions = {},
) {
  const window = await newWindow(chromium, of, { scripts })
  const { page, go, press } = window
  await page.setViewport({ width, height: 900 })
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }])
  await window.leave()
  await go('/')
  await page.type('::-p-aria(Token)', token)
  await press('Sign in')
  await go(settings)
  const flaws: string[] = []
  return {
    ...window,
    flaws,
    /** Writes a text into a part of the form. */
    async fill(part: string, text: string) {
      const field = `textarea[name="part-${part}"]`
      await page.$eval(field, (area, typed) => Object.assign(area, { value: typed }), text)
    },
    textIn: (part: string) => page.$eval(`textarea[name="part-${part}"]`, ({ value }) => value),
    /** Notes what axe finds, and a page that is wider than its screen. */
    async look(name: string) {
      if (scripts) flaws.push(...(await violationsOn(page)).map((text) => `${name}: ${text}`))
      if ((await excessOf(page)) !== 0) flaws.push(`${name} is wider`)
    },
  }
}

test.each([
  ['with scripts on a wide screen', { width: 1440 }],
  ...(isFull ? [['with scripts on a tablet in the dark', { width: 768, dark: true }] as const] : []),
  ['without scripts on a phone', { scripts: false, width: 360 }],
  ['with scripts on a phone', { width: 390, dark: true }],
] as const)(
  'in Chromium %s, an admin changes a schedule, sees what it does, saves and undoes it',
  async (_how, how) => {
    await using window = await openSettings(daemon, how)
    const { page, press, fill, look } = window
    await look('form')
    await fill('schedule', atThree)
    await fill('leaving', 'status: { column: Status, leftWhen: [Active], employedWhen: [Terminated] }')
    await press('See what changes')
    const difference = await textOf(page, 'main')
    await look('preview')
    await press('Save and reload')
    const done = await textOf(page, '.notice')
    const saved = await daemon.config()
    await look('saved')
    await press('Undo the last change')
    await look('undo')
    await press('Undo it and reload')

    expect(difference).toContain("- schedule: { cron: '0 2 * * *' }")
    expect(difference).toContain("+ schedule: { cron: '0 3 * * *' }")
    expect(difference).toMatch(/Joiners ?40 ?/)
    expect(done).toContain('The change was saved to')
    expect(saved).toContain("    # Every night.\n    schedule: { cron: '0 3 * * *' }\n")
    expect(saved).toContain('path: people.csv # from payroll')
    expect(await daemon.config()).toBe(daemon.text)
    expect([window.flaws, window.complaints]).toEqual([[], []])
  },
)

test.each([
  ['on a wide screen', { width: 1440 }],
  ['without scripts on a phone in the dark', { scripts: false, width: 360, dark: true }],
] as const)('in Chromium %s, an admin chooses a column and a status word in a form', async (_how, how) => {
  await using window = await openSettings(daemon, how)
  const { page, press, look } = window
  await press('Choose columns and status words')
  await look('columns')
  await page.select('select[aria-label="Column of Job title"]', '=Last Name')
  await page.select('select[aria-label="What Active means"]', 'left')
  await press('See what changes')
  const difference = await textOf(page, 'main')
  await look('columns-preview')
  await press('Continue editing')
  const typed = await window.textIn('mapping')
  await press('See what changes')
  await press('Save and reload')

  expect(difference).toContain('+ jobTitle: Last Name')
  expect(difference).toContain('leftWhen: [ Terminated, Active ]')
  expect(typed).toContain('jobTitle: Last Name')
  expect(await daemon.config()).toContain('        jobTitle: Last Name\n')
  expect([window.flaws, window.complaints]).toEqual([[], []])
})

test('a tab and hidden characters in the file stay whatever part is changed, and are shown beside their part', async () => {
  const odd = daemon.text
    .replace('{ column: Employee ID }', '{ column: Employee ID }\t# the\u200b key')
    .replace('[Terminated]', '[Terminated, Gone\u200e]')
  await writeFile(daemon.file, odd)
  await using window = await openSettings(daemon)
  const hints = await Promise.all(['mapping', 'leaving'].map((part) => textOf(window.page, `#part-${part}-hint`)))
  await window.look('odd')
  await window.fill('schedule', atThree)
  await window.press('See what changes')
  const difference = await textOf(window.page, 'main')
  await window.press('Continue editing')
  await window.press('See what changes')
  await window.press('Save and reload')

  expect(hints[0]).toContain('Hidden characters stand in identityId: { column: Employee ID } # the\\u200b key.')
  expect(hints[1]).toContain('Hidden characters stand in status: { column: Status, leftWhen: [Terminated, Gone\\u200e]')
  expect(difference).not.toContain('Employee ID')
  expect(await daemon.config()).toBe(odd.replace('0 2', '0 3'))
  expect([window.flaws, window.complaints]).toEqual([[], []])
})

test('a status word with hidden characters is saved as the export has it', async () => {
  await writeFile(daemon.file, daemon.text.replace('path: people.csv', 'path: odd.csv'))
  await using window = await openSettings(daemon)
  await window.press('Choose columns and status words')
  for (const list of await window.page.$$('select[aria-label^="What "]')) await list.select('left')
  await window.press('See what changes')
  const difference = await textOf(window.page, 'main')
  await window.press('Save and reload')
  const saved = await daemon.config()
  await window.go(`${settings}/columns`)

  expect(difference).toContain('leftWhen: [ Terminated, Gone\\u200e, "Left\\u009b", Ru\\u00adhend ]')
  expect(saved).toContain(`leftWhen: [ Terminated, Gone\u200e, "Left\u009b", Ru\u00adhend ]`)
  expect(await textOf(window.page, 'main')).toContain('All have a meaning.')
})

test('the preview says why a run would be held, and of what the changed settings newly warn', async () => {
  await using window = await openSettings(daemon)
  await window.fill('mapping', 'fields: { identityId: Employee ID, email: Mail, startedAt: Start Date }')
  await window.press('See what changes')
  const missing = await textOf(window.page, 'main')
  await window.press('Continue editing')
  const dates = '{ column: Start Date, format: dd.MM.yyyy }'
  await window.fill('mapping', `fields: { identityId: Employee ID, email: Email, startedAt: ${dates} }`)
  await window.press('See what changes')
  const unreadable = await textOf(window.page, 'main')

  expect(missing).toMatch(/Missing column: .*Mail/)
  expect(unreadable).toMatch(/New warning: .*Start Date.*write format: yyyy-MM-dd/)
})

test('the preview has room for many guards, now and changed', async () => {
  await writeFile(daemon.file, daemon.text.replace('[Active]', '[Present]'))
  await using window = await openSettings(daemon, { width: 1024 })
  await window.fill('guards', 'pinned: [E1]')
  await window.press('See what changes')
  await window.look('guards')

  expect(await textOf(window.page, 'main')).toMatch(/Values without a meaning.*Values without a meaning/)
  expect(window.flaws).toEqual([])
})

test('a mistake stands beside its part, and what was typed stays', async () => {
  await using window = await openSettings(daemon)
  await window.fill('mapping', 'fields: { email: { colum: Mail } }')
  await window.press('See what changes')
  await window.look('mistake')

  expect(await textOf(window.page, '#part-mapping-error')).toContain(
    'Unrecognized key: "colum" (did you mean "column"?)',
  )
  expect(await window.textIn('mapping')).toBe('fields: { email: { colum: Mail } }')
  expect(await daemon.config()).toBe(daemon.text)
  expect([window.flaws, window.complaints]).toEqual([[], []])
})

test('of two admins who edit at once, the second keeps what was typed, and overwrites nothing of the first', async () => {
  await using first = await openSettings(daemon)
  await using second = await openSettings(daemon)
  for (const [window, part, text] of [
    [first, 'schedule', atThree],
    [second, 'guards', 'pinned: [E1]'],
  ] as const) {
    await window.fill(part, text)
    await window.press('See what changes')
  }
  await first.press('Save and reload')
  await second.press('Save and reload')
  const refused = await textOf(second.page, '.notice')
  const kept = await second.textIn('guards')
  await second.look('moved')
  await second.press('See what changes')
  await second.press('Save and reload')

  expect(refused).toContain('has changed since you opened this page')
  expect(kept).toBe('pinned: [E1]')
  expect(await daemon.config()).toMatch(/0 3 \* \* \*' }\n {4}pinned: \[E1\]\n/)
  expect(second.flaws).toEqual([])
})

test('a part that was changed by hand meanwhile is shown beside what was typed', async () => {
  await using window = await openSettings(daemon)
  await window.fill('schedule', atThree)
  await writeFile(daemon.file, daemon.text.replace('0 2 * * *', '0 5 * * *'))
  await window.press('See what changes')
  await window.look('by-hand')

  expect(await textOf(window.page, '.notice')).toContain('has changed since')
  expect(await window.textIn('schedule')).toBe(atThree)
  expect(await textOf(window.page, '.listing')).toContain('0 5 * * *')
  expect(await daemon.config()).toContain('0 5 * * *')
  expect([window.flaws, window.complaints]).toEqual([[], []])
})

test('a read-only file says so before anybody types, and its text can be copied', async () => {
  await writeFile(daemon.file, daemon.text.replace("'0 2 * * *' }", "'0 2 * * *' }\t# at\u200e two"))
  await chmod(daemon.file, 0o444)
  await using window = await openSettings(daemon)
  const before = await textOf(window.page, '.notice')
  await window.look('read-only')
  await window.fill('schedule', `${atThree}\t# at\u200e three`)
  await window.press('See what changes')
  const copy = await window.page.$eval('textarea[readonly]', ({ value }) => value)
  const buttons = await window.page.$$eval('main button', (all) => all.map(({ textContent }) => textContent))
  await window.look('copy')
  await chmod(daemon.file, 0o600)

  expect(before).toMatch(/^Nothing can be saved: .* is read-only/)
  expect(copy).toBe(`${atThree}\t# at\u200e three`)
  expect(buttons).not.toContain('Save and reload')
  expect([window.flaws, window.complaints]).toEqual([[], []])
})

test('under the rule of two people, a second admin approves the change', async () => {
  const more = `approvals: { twoPeople: true }\n${configuredConnection}`
  await using two = await openConfiguredDaemon({ more })
  await using ana = await openSettings(two, { token: await two.newToken('ana', 'admin') })
  await ana.fill('schedule', atThree)
  await ana.fill('leaving', 'status: { column: Status, leftWhen: [Active], employedWhen: [Terminated] }')
  await ana.press('See what changes')
  await ana.press('Propose it to a second admin')
  const own = await textOf(ana.page, '.card.wait')
  await ana.look('proposed')
  await using ben = await openSettings(two, { token: await two.newToken('ben', 'admin') })
  const unsaved = await two.config()
  await ben.look('waiting')
  await ben.press('See what it does')
  const effect = await textOf(ben.page, 'main')
  await ben.look('effect')
  await ben.press('Approve it')
  await ben.look('approve')
  await ben.press('Approve it, save and reload')

  expect(own).toContain('You proposed it, so another admin has to approve it')
  expect(unsaved).toBe(two.text)
  expect(effect).toMatch(/For whom that differs.*The first 40|For whom that differs.*E1/)
  expect(await two.config()).toContain('0 3 * * *')
  await ben.press('Undo the last change')
  await ben.press('See what it does')
  expect(await textOf(ben.page, 'main')).toContain('For whom that differs')
  await ben.look('undo-effect')
  expect([ana.flaws, ben.flaws, ana.complaints, ben.complaints]).toEqual([[], [], [], []])
})

test('the pages of the connection and of the settings lead to it, and who may not change them reads why', async () => {
  await using window = await openSettings(daemon)
  await window.go('/settings')
  await window.press('Change settings: hr')
  const fromSettings = window.page.url()
  await window.go('/connections/hr')
  await window.press('Change settings: hr')
  const fromConnection = window.page.url()
  await using viewer = await openSettings(daemon, { token: await daemon.newToken('vera', 'viewer') })

  expect([fromSettings, fromConnection]).toEqual([daemon.url + settings, daemon.url + settings])
  expect(await textOf(viewer.page, '.empty')).toContain('You cannot change the settings')
})
