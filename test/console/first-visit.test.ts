import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadConfig } from '../../src/daemon/config/load-config.ts'
import { excessOf, screens, violationsOn } from '../helpers/axe.ts'
import { call } from '../helpers/called.ts'
import { type EmptyDaemon, exportHeader, exportOf, noticeIn, openEmptyDaemon, tokenIn } from '../helpers/first-visit.ts'
import { startChromium } from '../helpers/servers/chromium.ts'
import { gzipOfZeros } from '../helpers/sources/hostile-files.ts'
import { rowOf, workbookOf } from '../helpers/sources/workbooks.ts'
import { zipOf } from '../helpers/sources/zip.ts'
import { type Host, startHost } from '../helpers/world.ts'

const samples = fileURLToPath(new URL('../../config/samples/', import.meta.url))
const mebibyte = 1024 * 1024

let host: Host
let tenant: Awaited<ReturnType<Host['tenant']>>
let empty: EmptyDaemon

beforeAll(async () => {
  host = await startHost()
  tenant = await host.tenant()
  empty = await openEmptyDaemon({ baseUrl: host.platform.baseUrl })
})
afterAll(async () => {
  await empty[Symbol.asyncDispose]()
  await host[Symbol.asyncDispose]()
})

/** A window in which an admin is signed in. */
async function newWindow({ url, adminToken }: EmptyDaemon, { scripts }: { scripts: boolean }) {
  await using opening = new AsyncDisposableStack()
  const chromium = opening.use(await startChromium())
  const page = await (await chromium.browser.createBrowserContext()).newPage()
  await page.setJavaScriptEnabled(scripts)
  const press = async (name: string) => {
    const button = await page.$(`::-p-aria(${name})`)
    await Promise.all([page.waitForNavigation(), button?.click()])
  }
  await page.goto(url)
  await page.type('#access', adminToken)
  await press('Sign in')
  const choose = async (file: string) => {
    const input = await page.$('input[type=file]')
    await (input as Awaited<ReturnType<typeof page.$<'input'>>>)?.uploadFile(file)
  }
  const opened = opening.move()
  return { page, press, choose, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

test('every step can be read on each screen, in light and dark, with a reader of screens', async () => {
  await using own = await openEmptyDaemon()
  await using window = await newWindow(own, { scripts: true })
  const { page, press, choose } = window
  const violations: string[] = []
  const look = async () => {
    for (const [theme, width] of screens) {
      await page.setViewport({ width, height: 900 })
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }])
      const faults = [...(await violationsOn(page)), ...((await excessOf(page)) > 0 ? ['wider than the screen'] : [])]
      violations.push(...faults.map((fault) => `${new URL(page.url()).pathname} ${width} ${theme}: ${fault}`))
    }
  }

  await look()
  await choose(join(samples, 'personio.csv'))
  await press('Upload it and check it')
  await look()
  await press('Show what a first run would do')
  await look()
  await press('Connect …')
  await look()

  expect(violations).toEqual([])
})

test('an admin sets up a connection without scripts, and it equals the one that init writes', async () => {
  await using own = await openEmptyDaemon({ baseUrl: host.platform.baseUrl })
  await using window = await newWindow(own, { scripts: false })
  const { page, press, choose } = window

  await choose(join(samples, 'personio.csv'))
  await press('Upload it and check it')
  await page.$eval('#timeZone', (input) => input.setAttribute('value', 'Europe/Berlin'))
  await press('Show what a first run would do')
  const numbers = await page.$eval('.figures', (list) => list.textContent.replaceAll(/\s+/g, ' ').trim())
  await press('Connect …')
  const before = [await own.config(), await own.uploads()]
  await page.type('#apiKey', tenant.key)
  await press('Write it and connect')
  const notice = await page.$eval('.notice', (element) => element.textContent)

  const out = join(own.folder, 'by-init.yaml')
  await writeFile(join(own.folder, 'personio.csv'), await readFile(join(samples, 'personio.csv')))
  const keyFile = join(own.folder, 'platform.key')
  const options = ['--platform-url', host.platform.baseUrl, '--key-file', keyFile, '--time-zone', 'Europe/Berlin']
  await call(['init', '--yes', '--source', join(own.folder, 'personio.csv'), ...options, '--out', out])
  const text = await own.config()
  const [made, byInit] = [text, await readFile(out, 'utf8')].map((one) => one.slice(one.indexOf('connections:')))
  const connected = await loadConfig(own.file, {})

  expect(numbers).toMatch(/Rows ?300 People ?300 Have left already ?12 Would be sent ?300 Unreadable rows and cells ?0/)
  expect(before).toEqual([own.text, [expect.any(String)]])
  expect(notice).toContain(`The connection hr was written to ${own.file}.`)
  expect(text.startsWith(own.text)).toBe(true)
  expect(made?.replace('exports/*.csv', 'personio{,[0-9]*,[-_. ][0-9]*}.csv')).toBe(byInit)
  expect(parse(byInit ?? '')).toMatchObject({ connections: { hr: { target: { name: 'HR' } } } })
  expect((await stat(keyFile)).mode & 0o777).toBe(0o600)
  expect((await stat(join(own.folder, 'exports'))).isDirectory()).toBe(true)
  expect([await own.uploads(), own.reloadRequests]).toEqual([[], ['reload']])
  expect(await connected.platform.apiKey.read()).toBe(tenant.key)
})

test('a workbook with several sheets is read from the one that is named, up to its connection', async () => {
  await using own = await openEmptyDaemon({ baseUrl: host.platform.baseUrl })
  await using window = await newWindow(own, { scripts: false })
  const { page, press, choose } = window
  const rows = exportOf(12)
    .trim()
    .split('\n')
    .map((line, index) => rowOf(index + 3, ...line.split(',')))
  const book = join(own.folder, 'people.xlsx')
  await writeFile(
    book,
    await workbookOf({ sheets: { Notes: rowOf(1, 'read me'), People: rowOf(1, 'Headcount') + rows.join('') } }),
  )

  await choose(book)
  await press('Upload it and check it')
  const refused = await page.$eval('.notice', (element) => element.textContent)
  await page.type('#sheet', 'People')
  await choose(book)
  await press('Upload it and check it')
  const file = await page.$eval('main', (card) => card.textContent.replaceAll(/\s+/g, ' '))
  await press('Show what a first run would do')
  const numbers = await page.$eval('.figures', (list) => list.textContent.replaceAll(/\s+/g, ' ').trim())
  await press('Connect …')
  await page.type('#apiKey', tenant.key)
  await press('Write it and connect')
  const { connections } = parse(await own.config())

  expect(refused).toContain('people.xlsx has 2 sheets (Notes, People): name the one that lists the people')
  expect(file).toContain('columns in the sheet People. The header is in row 3. 12 rows were checked.')
  expect(numbers).toMatch(/Rows ?12 People ?12 Have left already ?0 Would be sent ?12 Unreadable rows and cells ?0/)
  expect(connections.hr.source).toMatchObject({
    type: 'folder',
    path: 'exports/*.xlsx',
    format: 'xlsx',
    sheet: 'People',
    headerLine: 3,
  })
})

test('a JSON file with several lists is read from the one that is named, up to its connection', async () => {
  await using own = await openEmptyDaemon({ baseUrl: host.platform.baseUrl })
  await using window = await newWindow(own, { scripts: false })
  const { page, press, choose } = window
  const [header = '', ...lines] = exportOf(12).trim().split('\n')
  const names = header.split(',')
  const people = lines.map((line) => Object.fromEntries(line.split(',').map((cell, at) => [names[at] ?? '', cell])))
  const file = join(own.folder, 'people')
  await writeFile(file, JSON.stringify({ people, candidates: people.slice(1), offices: { total: 60 } }))

  await choose(file)
  await press('Upload it and check it')
  const refused = await page.$eval('.notice', (element) => element.textContent)
  await page.type('#records', '/people')
  await choose(file)
  await press('Upload it and check it')
  const read = await page.$eval('main', (card) => card.textContent.replaceAll(/\s+/g, ' '))
  await page.$eval('#ignoredStatements', (input) => input.closest('details')?.setAttribute('open', ''))
  await page.type('#ignoredStatements', '/offices/total')
  await press('Show what a first run would do')
  const numbers = await page.$eval('.figures', (list) => list.textContent.replaceAll(/\s+/g, ' ').trim())
  await press('Connect …')
  await page.type('#apiKey', tenant.key)
  await press('Write it and connect')
  const { connections } = parse(await own.config())

  expect(refused).toContain('say which one holds the people with the path of the list, such as /people')
  expect(read).toContain('columns, by their paths in a record. 12 records were checked.')
  expect(read).toContain('write ignoredStatements: ["/offices/total"]')
  expect(numbers).toMatch(/Rows ?12 People ?12 Have left already ?0 Would be sent ?12 Unreadable rows and cells ?0/)
  expect(connections.hr.source).toMatchObject({
    type: 'folder',
    path: 'exports/*.json',
    format: 'json',
    records: '/people',
    ignoredStatements: ['/offices/total'],
  })
})

describe('an upload that is no export is refused with a sentence and not stored', () => {
  test.each([
    ['no file', '', '', 400, 'Choose the file of an export.'],
    ['an empty file', 'people.csv', '', 422, /^people\.csv is empty \(0 bytes\)/],
    ['a PDF', 'people.pdf', '%PDF-1.7\n1 0 obj\n', 422, 'people.pdf is a PDF: have it exported as CSV.'],
    [
      'an image',
      'people.png',
      Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1'),
      422,
      /^people\.png holds NUL bytes/,
    ],
    [
      'a NUL',
      'people.csv',
      `${exportHeader}\nE1,a@example.com,A\0na,Berg,2024-01-15,Active\n`,
      422,
      /holds NUL bytes, so it is not a text file/,
    ],
    ['a web page', 'people.csv', '<html><body>Sign in</body></html>', 422, /^people\.csv is a web page \(HTML\)/],
    ['one column', 'people.csv', 'name\nAna\nBo\n', 422, /has one column only.*choose the delimiter by hand/],
    ['no header', 'people.csv', 'E1,a@example.com,7\nE2,b@example.com,8\n', 422, /names the columns/],
    [
      'a gzip that unpacks to a thousand times its size',
      'people.csv.gz',
      gzipOfZeros(64 * mebibyte),
      422,
      /unpacks to more than/,
    ],
    [
      'a cut gzip',
      'people.csv.gz',
      gzipSync(exportOf(500)).subarray(0, 900),
      422,
      /ends in the middle of its gzip data/,
    ],
    ['more than the limit', 'people.csv', exportOf(40_000), 413, /^The export is larger than 1 MiB/],
  ])('%s', async (_what, name, content, status, sentence) => {
    const visitor = await empty.visitor()

    const refused = await visitor.give(name, content as string)

    expect(refused.notice).toEqual(typeof sentence === 'string' ? sentence : expect.stringMatching(sentence))
    expect([refused.status, await empty.uploads()]).toEqual([status, []])
    expect(refused.page).toContain('Upload it and check it')
  })

  test('a zip and an Excel workbook that unpack to too much', async () => {
    const visitor = await empty.visitor()
    const zeros = Buffer.alloc(24 * mebibyte)

    const zip = await visitor.give('people.zip', new Uint8Array(await zipOf({ 'people.csv': zeros })))
    const workbook = await visitor.give(
      'people.xlsx',
      new Uint8Array(await workbookOf({ sheet: '<row></row>'.repeat(1_000_000) })),
    )

    expect(zip).toMatchObject({
      status: 422,
      notice: expect.stringMatching(/^people\.zip unpacks to more than 200 times its size/),
    })
    expect(workbook).toMatchObject({
      status: 422,
      notice: expect.stringMatching(/^people\.xlsx unpacks to more than 200 times its size/),
    })
    expect(await empty.uploads()).toEqual([])
  })

  test('another content type, and a form without its token', async () => {
    const visitor = await empty.visitor()
    const asFields = await visitor.post('/connect/export', { token: tokenIn((await visitor.get('/connect')).text) })
    const forged = await visitor.give('people.csv', exportOf(2), { token: 'forged' })

    expect([asFields.status, forged.status]).toEqual([415, 403])
    expect(await empty.uploads()).toEqual([])
  })
})

describe('an untidy export is shown as it is', () => {
  test.each([
    [
      'a header without rows',
      `${exportHeader}\n`,
      [],
      ['The export has no rows below its header', '0 rows were checked'],
    ],
    [
      'two columns of one name',
      `${exportHeader},Email\n${exportOf(2)
        .split('\n')
        .slice(1, 3)
        .map((row) => `${row},x@example.com`)
        .join('\n')}\n`,
      [],
      ['are both called &quot;Email&quot;'],
    ],
    [
      'a header that no preset knows',
      'Nr;Wer\n7;Ana\n8;Bo\n',
      [],
      ['No column holds e-mail addresses', '<p class="address">Wer</p>'],
    ],
    ['UTF-16', Buffer.from(`\ufeff${exportOf(3)}`, 'utf16le'), [], ['encoded as utf-16le', 'p0@example.com']],
    [
      'Latin-1',
      Buffer.from(`${exportHeader}\nE1,a@example.com,Jörg,Groß,2024-01-15,Active\n`, 'latin1'),
      [],
      ['encoded as windows-1252', 'Jörg', 'choose another encoding'],
    ],
    [
      'markup and signs of direction',
      `${exportHeader},<script>alert(1)</script>\nE1,a@example.com,<b>Ana</b>,\u202eBerg,2024-01-15,Active,"<img src=x>"\n`,
      ['<script>alert', '<b>Ana', '\u202e'],
      ['&lt;script&gt;alert(1)&lt;/script&gt;', '&lt;b&gt;Ana&lt;/b&gt;', '\\u202eBerg'],
    ],
  ])('%s', async (_what, content, hidden, shown) => {
    const visitor = await empty.visitor()

    const { location } = await visitor.give('people.csv', content as string)
    const { status, text } = await visitor.get(location ?? '')

    expect(status).toBe(200)
    for (const part of shown) expect(text).toContain(part)
    for (const part of hidden) expect(text).not.toContain(part)
  })

  test('the page shows the first of many unreadable rows and says that there are more', async () => {
    const visitor = await empty.visitor()
    const rows = Array.from({ length: 120 }, (_, i) => `E${i},a${i}@example.com,Ana,Berg,31.02.2024,Active\n`)
    const { location } = await visitor.give('people.csv', `${exportHeader}\n${rows.join('')}`)

    const { text } = await visitor.get(`${location}/plan?name=People&folder=drop&timeZone=UTC&dateFormat=dd.MM.yyyy`)

    expect(text).toMatch(/Rows and cells that cannot be read <span class="faint">120</)
    expect(text).toContain('The first 100 are shown.')
  })

  test('the last step says whether the first run would be held', async () => {
    const visitor = await empty.visitor()
    const rows = (status: string) =>
      Array.from({ length: 120 }, (_, i) => `E${i},a${i}@example.com,Ana,Berg,2024-01-15,${status}\n`).join('')
    const answers = 'name=People&folder=drop&timeZone=UTC'
    const lastStepOf = async (content: string) => {
      const { location } = await visitor.give('people.csv', content)
      return (await visitor.get(`${location}/connection?${answers}`)).text
    }

    const [good, held] = [await lastStepOf(exportOf(3)), await lastStepOf(`${exportHeader}\n${rows('Terminated')}`)]

    expect(good).toContain('A first run over this export would send 3 people.')
    expect(held).toContain(
      'A first run over this export would be held until somebody approves it. It would then send 120',
    )
  })

  test('unreadable rows are listed by line and column, and the answers carry over to the next step', async () => {
    const visitor = await empty.visitor()
    const rows =
      'E1,a@example.com,Ana,Berg,2024-01-15,Gone\nE2,b@example.com,Bo,Li,31.02.2024,Active\nE3,nowhere,Cy,Wu,2024-01-15,Active\n'
    const { location } = await visitor.give('people.csv', `${exportHeader}\n${rows}`)
    const reading = await visitor.get(location ?? '')
    const [, gone = ''] = /<select name="(status-\w+)" aria-label="What Gone means"/.exec(reading.text) ?? []
    const answers = `${gone}=left&field-lastName=none&name=People&folder=drop&timeZone=Europe%2FBerlin`

    const plan = await visitor.get(`${location}/plan?${answers}`)
    const wrong = await visitor.get(`${location}/plan?${answers.replace('Europe%2FBerlin', 'Mars')}`)

    expect(plan.text).toMatch(/rowheader" scope="row" class="row-name">line 4</)
    expect(plan.text).toContain('path: drop/*.csv')
    expect(plan.text).toContain('lastName: null')
    expect(plan.text).toMatch(/leftWhen: \[\s*Gone/)
    expect(noticeIn(wrong.text)).toBe('Unknown time zone "Mars": write an IANA name such as Europe/Berlin.')
  })
})

test('the answer about the date format is kept after its question disappears', async () => {
  const visitor = await empty.visitor()
  const rows = 'E1,a@example.com,Ana,Berg,02/03/2024,Active\nE2,b@example.com,Bo,Li,04/05/2024,Active\n'
  const { location } = await visitor.give('people.csv', `${exportHeader}\n${rows}`)
  const fieldsIn = ({ text }: { text: string }) => text.match(/<(?:select|input)[^>]* name="dateFormat"[^>]*>/g)

  const open = await visitor.get(location ?? '')
  const answered = await visitor.get(`${location}?dateFormat=dd%2FMM%2Fyyyy`)

  expect(fieldsIn(open)).toEqual([expect.stringContaining('<select')])
  expect(fieldsIn(answered)).toEqual([expect.stringContaining('value="dd/MM/yyyy"')])
})

describe('a visit', () => {
  test('is for admins alone', async () => {
    const operator = await empty.newToken('olga', 'operator')
    const visitor = await empty.visitor(operator)

    const page = await visitor.get('/connect')
    const overview = await visitor.get('/')
    const before = await empty.uploads()
    const upload = await visitor.give('people.csv', exportOf(2))

    expect([overview.location, page.status]).toEqual(['/connect', 200])
    expect(page.text).toContain('only an admin can do this, and you are signed in as an operator')
    expect(page.text).not.toContain('type="file"')
    expect([upload.status, await empty.uploads()]).toEqual([403, before])
  })

  test('starts again if its export has expired', async () => {
    const visitor = await empty.visitor()
    const at = '/connect/0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f'

    const steps = [await visitor.get(at), await visitor.get(`${at}/plan`), await visitor.get(`${at}/connection`)]
    const start = await visitor.get(steps[0]?.location ?? '')

    expect(steps.map(({ status }) => status)).toEqual([303, 303, 404])
    expect(steps[2]?.text).toContain(
      'The export or address is no longer stored here: go to the overview and give it again',
    )
    expect(noticeIn(start.text)).toMatch(/^The export or address is no longer stored here/)
  })
})
