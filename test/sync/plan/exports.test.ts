import { gzipSync } from 'node:zlib'
import iconv from 'iconv-lite'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { folderConnector } from '../../../src/connectors/folder/open.ts'
import { FolderSource } from '../../../src/connectors/folder/settings.ts'
import { summarizeReading } from '../../../src/sync/plan/summarize-reading.ts'
import { planDryRun, requestRun } from '../../../src/sync/sync.ts'
import { type ExportFolder, exportFolder } from '../../helpers/sources/exports.ts'
import type { FolderSettings } from '../../helpers/sources/folder-source.ts'
import { encrypted, type KeyOwner, keyOwner } from '../../helpers/sources/openpgp.ts'
import { csvOf } from '../../helpers/sources/source-workplace.ts'
import { rowOf, workbookOf } from '../../helpers/sources/workbooks.ts'
import { zipOf } from '../../helpers/sources/zip.ts'
import { type Host, openWorld, peopleOn, staff, startHost } from '../../helpers/world.ts'

const everybody = csvOf(staff(40))

type World = Awaited<ReturnType<typeof openWorld>>

let stack: AsyncDisposableStack
let host: Host
let folder: ExportFolder
let world: World
let owner: KeyOwner
let settings: FolderSettings = {}

beforeAll(async () => {
  await using opening = new AsyncDisposableStack()
  host = opening.use(await startHost())
  folder = opening.use(await exportFolder())
  owner = await keyOwner()
  world = opening.use(await openWorld({ client: (await host.tenant()).client, feed: { connector: { open } } }))
  await folder.write('people.csv', everybody, { modifiedAt: new Date('2026-11-19T01:00:00Z') })
  await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
  expect(await world.drain()).toEqual([])
  stack = opening.move()
})
afterAll(() => stack.disposeAsync())

/** The source of the settings that the test gave last. */
const open: ReturnType<typeof folderConnector>['open'] = (options) => {
  const folders = { baseDir: folder.path, spoolDir: `${folder.path}/spool` }
  const secret = (path: string) => (path === 'decrypt.privateKey' ? { read: async () => owner.privateKey } : null)
  const source = { type: 'csv', path: 'people.csv', mode: 'snapshot', complete: { quietSeconds: 0 }, ...settings }
  return folderConnector(FolderSource.parse(source), { ...folders, secret }).open(options)
}

/** The plan for an export that arrives after the accepted one. */
async function planFor(content: string | Uint8Array, format: FolderSettings = {}) {
  settings = format
  await folder.write('people.csv', content, { modifiedAt: new Date('2026-11-20T01:00:00Z') })
  const plan = await planDryRun(world.sync, 'acme', new AbortController().signal)
  return { ...plan, held: plan.guards.filter(({ ok }) => !ok).map(({ name }) => name) }
}

describe('the size of an export', () => {
  const half = csvOf(staff(20))

  test.for<[string, (text: string) => Promise<string | Uint8Array> | Uint8Array, FolderSettings]>([
    ['a gzip', (text) => gzipSync(text), {}],
    ['a gzip of several members', (text) => Buffer.concat([gzipSync(text.slice(0, 99)), gzipSync(text.slice(99))]), {}],
    ['a zip', (text) => zipOf({ 'people.csv': text }), {}],
    [
      'encrypted',
      (text) => encrypted(text, { to: owner, compressed: true }),
      { decrypt: { privateKey: 'in a secret' } },
    ],
    ['in UTF-16', (text) => iconv.encode(text, 'utf-16le', { addBOM: true }), { encoding: 'utf-16le' }],
  ])('is the same for the same people as %s', async ([, packed, format]) => {
    const same = await planFor(await packed(everybody), format)
    const fewer = await planFor(await packed(half), format)

    expect(same.held).toEqual([])
    expect(same.source?.textBytes).toBe(everybody.length)
    const [allBytes = 0, fewerBytes = 0] = [same.source?.cellBytes, fewer.source?.cellBytes]
    expect(fewer.guards.find(({ name }) => name === 'shrinkBytes')).toMatchObject({
      ok: false,
      actual: allBytes - fewerBytes,
    })
  })

  test('is not stated twice if the file is plain text', async () => {
    expect((await planFor(everybody)).source).not.toHaveProperty('textBytes')
  })
})

describe('the compared size is that of the text of the cells', () => {
  const rows = everybody.trimEnd().split('\r\n')
  const cells = rows.map((row) => row.split(','))
  const widest = Math.max(...cells.flat().map((cell) => cell.length))

  test.for<[string, string, FolderSettings]>([
    ['quotes', cells.map((row) => row.map((cell) => `"${cell}"`).join(',')).join('\r\n'), {}],
    ['padding', cells.map((row) => row.map((cell) => cell.padEnd(widest)).join(',')).join('\r\n'), {}],
    ['line ends', rows.join('\n'), {}],
    ['blank lines', rows.join('\n\n\n'), {}],
    ['another delimiter', everybody.replaceAll(',', ';').trimEnd(), { delimiter: ';' }],
    ['a title above the header', `People of Acme\n${rows.join('\n')}`, { headerLine: 2 }],
    ['longer names of columns', everybody.replace('Worker ID', 'The number of the worker').trimEnd(), {}],
  ])('and %s do not change it', async ([, text, format]) => {
    const plain = await planFor(everybody)
    const other = await planFor(`${text}\n`, format)

    expect(plain.source?.cellBytes).toBeGreaterThan(1000)
    expect(other.source?.cellBytes).toBe(plain.source?.cellBytes)
  })

  test('and the first export after an upgrade, which counted the whole text, is compared only by its rows', async () => {
    await using opened = await openWorld({
      client: (await host.tenant()).client,
      feed: { connector: { open } },
    })
    const night = async (text: string, day: number) => {
      settings = {}
      const taken = new Date(`2026-11-${day}T01:00:00Z`)
      await folder.write('people.csv', text, { modifiedAt: taken })
      opened.clock.now = new Date(taken.getTime() + 60 * 60_000)
      const { id } = await requestRun(opened.sync, { connection: 'acme', trigger: 'operator' })
      await opened.drain()
      return await opened.runOf(id)
    }
    const padded = cells.map((row) => row.map((cell) => `"${cell.padEnd(widest)}"`).join(',')).join('\n')
    await night(`${padded}\n`, 19)
    await sql`update connections set accepted_source = (accepted_source::jsonb - 'cellBytes')::json`.execute(
      opened.sync.store.db,
    )
    const upgraded = await night(everybody, 20)
    const later = await night(everybody.replaceAll('Engineer', 'E'), 21)

    expect(upgraded.state).toBe('unchanged')
    expect(later.guards?.find(({ name }) => name === 'shrinkBytes')).toMatchObject({ actual: 40 * 7 })
  })
})

describe('one cause has one verdict', () => {
  test.for([
    ['is missing', 'Remarks'],
    ['is there twice', 'worker_id'],
  ])('a mapped column that %s causes no verdict about the end of the export', async ([, other = '']) => {
    const twice = other === 'worker_id'

    const plan = await planFor(everybody.replace(twice ? 'First Name' : 'Worker ID', other))

    expect(plan.held).toEqual(['missingColumn'])
    expect(plan.changes).toEqual([])
  })
})

describe('a header that names no columns', () => {
  const reasonOf = ({ guards }: Awaited<ReturnType<typeof planFor>>) =>
    guards.find(({ name }) => name === 'missingColumn')?.reason

  test.for<[string, string, string]>([
    ['People of Acme,,,,,,\r\n', ': it reads "People of Acme"', '2'],
    ['People of Acme,,,,20.11.2026,,\r\n,,,,,,\r\nby HR,,,,,,\r\n', ': it reads "People of Acme 20.11.2026"', '4'],
    ['E0001,a@example.com,Ana,,,,\r\n', '', '2'],
  ])('is a title if a line below names them: %j', async ([title, reads, line]) => {
    const plan = await planFor(`${title}${everybody}`)

    expect(plan.held).toEqual(['missingColumn'])
    expect(reasonOf(plan)).toBe(
      `the header is a title and names no columns${reads}; line ${line} names them: write headerLine: ${line}`,
    )
  })

  test('is shown if no delimiter splits it', async () => {
    const plan = await planFor('Your session has ended.\r\nPlease sign in.\r\n')

    expect(reasonOf(plan)).toContain(
      'the header is one cell that no delimiter splits: it reads "Your session has ended."; check delimiter, and whether this is the export; column "Worker ID" (identityId) is not in the header',
    )
  })

  test('is not a title if no line names them', async () => {
    const plan = await planFor(everybody.replace('Worker ID', 'Number'))

    expect(reasonOf(plan)).toBe('column "Worker ID" (identityId) is not in the header')
  })
})

describe('a workbook', () => {
  const [header = '', ...lines] = everybody.trim().split('\r\n')
  const rows = [header, ...lines].map((line, index) => rowOf(index + 1, ...line.split(',')))
  const workbook: FolderSettings = { type: 'folder', format: 'xlsx' }

  test('says what the CSV of the same rows said', async () => {
    const plan = await planFor(await workbookOf({ sheet: rows.join('') }), workbook)

    expect(plan).toMatchObject({ held: [], changes: [], rejects: [], rows: 40, records: 40, counts: { unchanged: 40 } })
  })

  test('with broken cells names them as Excel does, and costs their fields alone', async () => {
    const broken = '<c r="F5" t="e"><v>#N/A</v></c>'
    const sheet = rows
      .join('')
      .replace(/<c r="F5".*?<\/c>/, '')
      .replace(/(<row r="5">.*?)(?=<c r="G5"|<\/row>)/, `$1${broken}`)
    const plan = await planFor(await workbookOf({ sheet }), workbook)

    expect(plan.rejects).toMatchObject([
      { line: 5, column: 'F / Leaving Date', reason: 'the cell holds the error #N/A', cellOnly: true, mayLeave: true },
    ])
    expect(plan).toMatchObject({ changes: [], records: 40 })
  })

  test('of which half arrived plans nothing', async () => {
    const bytes = await workbookOf({ sheet: rows.join('') })

    await expect(planFor(bytes.subarray(0, bytes.length / 2), workbook)).rejects.toMatchObject({
      code: 'source_unreadable',
    })
  })
})

describe('a JSON file', () => {
  const [header = '', ...lines] = everybody.trim().split('\r\n')
  const names = header.split(',')
  const records = lines.map((line) => Object.fromEntries(line.split(',').map((cell, index) => [names[index], cell])))
  // A mapped member that no record has any more holds the plan, so that one of them has all.
  const filled = records.map((record, index) =>
    index === 0 ? record : Object.fromEntries(Object.entries(record).filter(([, cell]) => cell !== '')),
  )
  const list: FolderSettings = { type: 'folder', format: 'json', records: '/people' }
  const textOf = (people: readonly object[]) => JSON.stringify({ total: people.length, people })

  test.for([
    ['with blank members', records],
    ['without most blank members', filled],
  ] as const)('says what the CSV of the same people said, %s', async ([, people]) => {
    const plan = await planFor(textOf(people), list)

    expect(plan).toMatchObject({ held: [], changes: [], rejects: [], rows: 40, records: 40, counts: { unchanged: 40 } })
    expect(plan.source).toMatchObject({ records: 40, end: expect.stringContaining('/total counts 40 records') })
  })

  test('without its last person is held, as a CSV is, and one that was cut off plans nothing', async () => {
    const plan = await planFor(textOf(filled.slice(0, -1)), list)

    expect(plan.held).toContain('endMissing')
    await expect(planFor(textOf(filled).slice(0, -20), list)).rejects.toMatchObject({ code: 'source_unreadable' })
  })

  test('with a person twice is judged as the CSV with that row twice', async () => {
    const [first = {}] = filled
    const other = { ...first, [names[3] ?? '']: 'Another Title' }
    const csvLine = names.map((name) => other[name] ?? '').join(',')

    const fromJson = await planFor(textOf([...filled, other]), list)
    const fromCsv = await planFor(`${everybody}${csvLine}\r\n`)

    const inRows = fromCsv.rejects.map(({ line, reason }) => [
      line - 1,
      reason?.replace(/\d+$/, (at) => `${Number(at) - 1}`),
    ])
    expect(fromJson.rejects.map(({ line, reason }) => [line, reason])).toEqual(inRows)
    expect({ changes: fromJson.changes.length, held: fromJson.held }).toEqual({
      changes: fromCsv.changes.length,
      held: fromCsv.held,
    })
  })
})

describe('a row that is not about a person', () => {
  const header = everybody.slice(0, everybody.indexOf('\r\n'))
  const totals = 'Total,40,40,40,40,,40\r\n'

  test.for<[string, string, RegExp]>([
    ['totals', `${everybody}${totals}`, /^line 42 is a row of totals \("Total"\) and no person/],
    ['a short row of totals', `${everybody}Total,40\r\n`, /^line 42 is a row of totals \("Total"\) and no person/],
    ['a second header', everybody.replace('\r\n', `\r\n${header}\r\n`), /^line 2 is a second header and no person/],
  ])('is neither a person nor a rejected row, and is named: %s', async ([, content, warning]) => {
    const plan = await planFor(content)

    expect(plan).toMatchObject({ held: [], changes: [], rejects: [], rows: 40, records: 40 })
    expect(plan.warnings[0]).toMatch(warning)
  })

  test('is refused if it names the columns in another order, because values would be read from wrong columns', async () => {
    const swapped = header.replace('Start Date,Leaving Date', 'Leaving Date,Start Date')
    const [, ...rows] = csvOf(staff(5)).split('\r\n')

    await expect(planFor(`${everybody}${[swapped, ...rows].join('\r\n')}`)).rejects.toMatchObject({
      code: 'source_unreadable',
      message: expect.stringMatching(/^people\.csv:42: this line names the columns again, in another order/),
    })
  })

  test('does not skip a person whose key is a word for a total', async () => {
    const { client } = await host.tenant()
    await using own = await openWorld({ client })
    await own.night([...staff(5), { id: 'SUM', first: 'Sumati', status: 'Active' }])

    const run = await own.night([...staff(5), { id: 'SUM' }], { asOf: '2026-11-21T01:00:00.000Z' })

    expect(run).toMatchObject({ counts: { leave: 0, rejected: 0 }, rows: 5 })
    expect(run.warnings).toEqual([expect.stringContaining('is a row of totals ("SUM")')])
    expect((await peopleOn(client)).get('SUM')).toMatchObject({ firstName: 'Sumati', separatedAt: null })
  })

  test('does not hide an export without people', async () => {
    const plan = await planFor(`${header}\r\n${totals}`)

    expect(plan.rows).toBe(0)
    expect(plan.held).toContain('zeroRows')
  })

  test('is counted by a check as by a plan', async () => {
    const { rows, records, rejects, warnings } = await planFor(`${everybody}${totals}E0003,,,,,,\r\n`)
    const feed = world.connection.feeds.source
    if (feed === undefined) throw new Error('no source')
    const { guards } = world.connection
    const about = { signal: new AbortController().signal, now: world.sync.now(), guards }
    const opened = await feed.connector.open({
      ...about,
      now: () => about.now,
      findDecided: async () => new Set(),
    })

    const summary = await summarizeReading(opened, feed, about)

    expect(summary).toMatchObject({ rows, records, rejects, rejected: 2, warnings })
    expect(warnings[0]).toMatch(/^line 42 is a row of totals/)
  })
})
