import { readdir } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { OpenOptions, Reading } from '../../../src/connectors/connector.ts'
import { objectStorageConnector } from '../../../src/connectors/object-storage/open.ts'
import { ObjectStorageSource } from '../../../src/connectors/object-storage/settings.ts'
import { providers, type TestBucket, testBucket } from '../../helpers/sources/buckets.ts'
import { allRows } from '../../helpers/sources/csv.ts'
import { type ExportFolder, exportFolder } from '../../helpers/sources/exports.ts'
import { failureOf } from '../../helpers/sources/sftp.ts'

const people = 'id,email\n1,ana@example.com\n2,ben@example.com\n'
const large = `id,email\n${Array.from({ length: 40_000 }, (_, number) => `${number},p${number}@example.com\n`).join('')}`

type Settings = Readonly<Record<string, unknown>>

describe.each(providers)('an export in a bucket of %s', (provider) => {
  let bucket: TestBucket
  let spool: ExportFolder
  let folder = 0
  let prefix = ''

  beforeAll(async () => {
    bucket = await testBucket(provider)
    spool = await exportFolder()
  })
  afterAll(async () => {
    await bucket[Symbol.asyncDispose]()
    await spool[Symbol.asyncDispose]()
  })
  beforeEach(() => {
    folder += 1
    prefix = `night ${folder}/`
    bucket.fault = () => undefined
    bucket.requests.length = 0
  })

  const connect = (settings: Settings = {}) =>
    objectStorageConnector(ObjectStorageSource.parse({ ...bucket.settings, prefix, ...settings }), {
      baseDir: '/',
      spoolDir: spool.path,
      secret: bucket.secret,
    })
  const open = (settings: Settings = {}) => connect(settings).open(options())
  const put = (name: string, content: string | Buffer = people) => bucket.put(prefix + name, content)
  const keysHere = async () =>
    (await bucket.keys()).flatMap((key) => (key.startsWith(prefix) ? [key.slice(prefix.length)] : []))
  const reads = () => bucket.requests.filter((request) => request.startsWith('GET') && request.includes('.csv'))

  test('is read to its end, and its copy is removed', async () => {
    await put('people.csv')

    const reading = await open()
    const rows = await allRows(reading)
    await reading.close?.()

    expect(reading).toMatchObject({ mode: 'snapshot', source: { name: 'people.csv', bytes: people.length } })
    expect(rows.map(({ values }) => values[1])).toEqual(['ana@example.com', 'ben@example.com'])
    expect(rows[0]?.origin).toEqual({ file: 'people.csv', line: 2 })
    expect(Math.abs(Date.now() - Date.parse(reading.asOf))).toBeLessThan(60_000)
    expect(await readdir(spool.path)).toEqual([])
  })

  test('is found among others in its folder, by its name or by a pattern, and never below it', async () => {
    for (const name of ['people-1.csv', 'people-2.csv', 'cards.csv', 'archive/people-3.csv', 'people-4.csv.tmp'])
      await put(name)

    const byPattern = await open({ pattern: 'people-*.csv', take: 'each' })
    const byName = await open({ pattern: 'cards.csv' })

    expect(byPattern.source).toMatchObject({ name: 'people-1.csv', more: true })
    expect(byName.source).toMatchObject({ name: 'cards.csv' })
    await byPattern.close?.()
    await byName.close?.()
  })

  test('is another one after every upload, and the same one without', async () => {
    await put('people.csv')
    const first = await versionOf(open())
    const again = await versionOf(open())
    await put('people.csv', `${people}3,cid@example.com\n`)

    expect(again).toBe(first)
    expect(await versionOf(open())).not.toBe(first)
  })

  test('is each of several, oldest first, until all are decided', async () => {
    for (const name of ['a.csv', 'b.csv']) await put(name)
    const decided = new Set<string>()
    const names: (string | undefined)[] = []

    const each = connect({ take: 'each', asOf: byName, pattern: '?.csv' })
    const preview = await closed(each.open({ ...options(), isNewest: true }))
    for (let night = 0; night < 3; night += 1) {
      const reading = await each.open({
        ...options(),
        findDecided: async (versions) => new Set(versions.filter((version) => decided.has(version))),
      })
      await reading.close?.()
      names.push(reading.source?.name)
      if (reading.source) decided.add(reading.source.version)
    }

    expect(preview.source?.name).toBe('b.csv')
    expect(names).toEqual(['a.csv', 'b.csv', undefined])
  })

  test('needs its marker and its side file, where they are configured', async () => {
    const complete = { quietSeconds: 0, marker: '.done', sideFile: { suffix: '.count', holds: 'rows' } }
    await put('people.csv')

    const unmarked = await failureOf(open({ complete }))
    await put('people.done', 'done')
    const unstated = await failureOf(open({ complete }))
    await put('people.csv.count', '3')
    const wrong = await open({ complete })
    const counted = await failureOf(allRows(wrong))
    await wrong.close?.()
    await put('people.csv.count', '2')
    const right = await open({ complete })

    expect(unmarked.message).toContain('has its marker (.done)')
    expect(unstated.message).toContain('has no side file people.csv.count or people.count')
    expect(counted.message).toContain('its side file states 3')
    expect(await allRows(right)).toHaveLength(2)
    await right.close?.()
  })

  test.each([
    ['archive', ['archive/TIME-people.csv', 'archive/TIME-people.done']],
    ['delete', []],
  ])('can be followed by %s', async (accepted, left) => {
    const settings = { complete: { quietSeconds: 0, marker: '.done' }, afterwards: { accepted } }
    await put('people.csv')
    await put('people.done', 'done')
    const { source } = await closed(open(settings))

    const { archive } = connect(settings)
    await archive?.(source, 'accepted')
    await archive?.(source, 'accepted')

    const keys = await keysHere()
    expect(keys.map((key) => key.replace(/\d{4}-\d{2}-\d{2}T\d{6}Z/, 'TIME'))).toEqual(left)
  })

  test('is not archived if another one has replaced it', async () => {
    await put('people.csv')
    const { source } = await closed(open())
    await put('people.csv', large)

    await connect({ afterwards: { accepted: 'delete' } }).archive?.(source, 'accepted')

    expect(await keysHere()).toEqual(['people.csv'])
  })

  test('and its marker stay if a newer pair arrives while the older one is archived', async () => {
    const settings = { complete: { quietSeconds: 0, marker: '.done' }, afterwards: { accepted: 'archive' } }
    await put('people.csv')
    await put('people.done', 'done')
    const { source } = await closed(open(settings))
    let isReplaced = false
    bucket.fault = async ({ url, method }) => {
      if (method !== 'HEAD' || !String(url).includes('people.csv.done') || isReplaced) return undefined
      isReplaced = true
      await put('people.csv', large)
      await put('people.done', 'done again')
      return undefined
    }

    await connect(settings).archive?.(source, 'accepted')

    expect(isReplaced).toBe(true)
    expect(await keysHere()).toEqual(['people.csv', 'people.done'])
  })

  test('is read beside the empty object that stands for its folder', async () => {
    await put('', '')
    await put('people')

    const reading = await closed(open({ pattern: '*', take: 'each' }))

    expect(reading.source).toMatchObject({ name: 'people' })
  })

  test('has its marker also where a pattern ends within the ending', async () => {
    await put('people-1.csv')
    await put('people-1.done', 'done')

    const reading = await closed(open({ pattern: 'people-1.c?v', complete: { quietSeconds: 0, marker: '.done' } }))

    expect(reading.source).toMatchObject({ name: 'people-1.csv' })
  })

  test.each<[string, (url: string) => boolean]>([
    ['a listing', () => true],
    ['a side file', (url) => url.includes('.count')],
  ])('is given up after idleTimeoutMs where the server says nothing about %s', async (_case, isMeant) => {
    const complete = { quietSeconds: 0, sideFile: { suffix: '.count', holds: 'rows' } }
    await put('people.csv')
    await put('people.csv.count', '2')
    bucket.fault = ({ url, method }) => (method === 'GET' && isMeant(String(url)) ? 'silence' : undefined)

    const failure = await failureOf(open({ complete, idleTimeoutMs: 300 }))

    expect(failure).toMatchObject({ code: 'source_unreachable' })
    expect(failure.message).toContain('hr-exports sent nothing for 300 ms')
  })

  test('whose rest a server does not send is fetched again from its beginning', async () => {
    await put('people.csv', large)
    const store = await bucket.store()
    const etag = (await store.find(`${prefix}people.csv`))?.etag ?? ''
    const outcomes = [
      { cutAfter: 300_000 },
      { status: 200, body: large, headers: { etag, 'content-length': String(large.length) } },
    ]
    bucket.fault = ({ url, method }) =>
      method === 'GET' && String(url).includes('.csv') ? outcomes.shift() : undefined

    await failureOf(open())
    const second = await failureOf(open())
    const third = await open()

    expect(second.message).toMatch(/does not continue the download of people\.csv that broke off/)
    expect(await allRows(third)).toHaveLength(40_000)
    await third.close?.()
  })

  test('that is replaced between listing and reading is refused', async () => {
    const complete = { quietSeconds: 0, sideFile: { suffix: '.count', holds: 'rows' } }
    await put('people.csv')
    await put('people.csv.count', '2')
    bucket.fault = async ({ url, method }) => {
      if (method === 'GET' && String(url).includes('.csv.count')) await put('people.csv', people.replace('ana', 'eva'))
      return undefined
    }

    const failure = await failureOf(open({ complete }))

    expect(failure).toMatchObject({ code: 'source_unreachable' })
    expect(failure.message).toMatch(/people\.csv in the .* was replaced or deleted while it was read/)
  })

  test('whose download breaks off is continued where it broke, and is never read in part', async () => {
    await put('people.csv', large)
    bucket.fault = ({ url, method, headers }) =>
      method === 'GET' &&
      String(url).includes('.csv') &&
      headers.range === undefined &&
      headers['x-ms-range'] === undefined
        ? { cutAfter: 300_000 }
        : undefined

    const readings = await attempts(open, 5)

    expect(await allRows(readings.reading)).toHaveLength(40_000)
    expect(reads().length).toBeGreaterThan(1)
    await readings.reading.close?.()
  })

  test('that ends too soon, as if that were all, is refused', async () => {
    await put('people.csv', large)
    bucket.fault = ({ url, method }) =>
      method === 'GET' && String(url).includes('.csv') ? { endAfter: 100_000 } : undefined

    const failure = await failureOf(open())

    expect(failure.message).toMatch(
      /people\.csv in the (?:bucket|container) hr-exports(?: ended after 100000 bytes|: )/,
    )
  })

  test('whose server falls silent is given up after idleTimeoutMs', async () => {
    await put('people.csv', large)
    bucket.fault = ({ url, method }) =>
      method === 'GET' && String(url).includes('.csv') ? { stallAfter: 100_000 } : undefined

    const failure = await failureOf(open({ idleTimeoutMs: 150 }))

    expect(failure).toMatchObject({ code: 'source_unreachable' })
    expect(failure.message).toContain('raise idleTimeoutMs')
  })

  test.each<[string, Record<string, string>, Settings, RegExp]>([
    [
      'nothing matches',
      { 'a.txt': 'x' },
      {},
      /^no file matches night \d+\/\*\.csv on the (?:bucket|container) hr-exports/,
    ],
    ['it is empty', { 'a.csv': '' }, {}, /a\.csv in the .* is empty/],
    ['it is longer than allowed', { 'a.csv': people }, { maxBytes: 5 }, /bytes long, and maxBytes allows 5/],
    ['the bucket does not exist', {}, { bucket: 'another' }, /there is no such bucket/],
  ])('is refused where %s', async (_case, files, settings, expected) => {
    for (const [name, content] of Object.entries(files)) await put(name, content)

    const failure = await failureOf(open(settings))

    expect(failure).toMatchObject({ code: 'source_unreadable' })
    expect(failure.message).toMatch(expected)
  })

  test('is found among thousands of keys', { tags: ['full'] }, async () => {
    for (let number = 0; number < 2500; number += 1) await put(`people-${String(number).padStart(4, '0')}.csv`)

    const newest = await closed(open({ pattern: 'people-*.csv' }))
    const oldest = await closed(open({ pattern: 'people-*.csv', take: 'each' }))
    const one = await closed(open({ pattern: 'people-1250.csv' }))

    expect(newest.source).toMatchObject({ name: 'people-2499.csv' })
    expect(oldest.source).toMatchObject({ name: 'people-0000.csv', more: true })
    expect(one.source).toMatchObject({ name: 'people-1250.csv' })
  })
})

const byName = { from: 'modificationTime' }

function options(): OpenOptions {
  return { now: () => new Date(), signal: new AbortController().signal, findDecided: async () => new Set() }
}

async function versionOf(opening: Promise<Reading>): Promise<string> {
  return (await closed(opening)).source.version
}

async function closed(opening: Promise<Reading>) {
  const reading = await opening
  await reading.close?.()
  if (reading.source === null) throw new Error('expected an export')
  return { ...reading, source: reading.source }
}

/** Opens until it succeeds, as runs that are repeated do. */
async function attempts(open: () => Promise<Reading>, most: number) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return { reading: await open(), attempt }
    } catch (error) {
      if (attempt === most) throw error
    }
  }
}
