import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { keepSecret, worldMapping } from '../helpers/connected.ts'
import { serve } from '../helpers/served.ts'
import { type TestBucket, testBucket } from '../helpers/sources/buckets.ts'
import { csvOf, openSourceWorkplace } from '../helpers/sources/source-workplace.ts'
import { isFull } from '../helpers/tier.ts'
import type { Workplace } from '../helpers/workplace.ts'
import { type Host, staff, startHost } from '../helpers/world.ts'

/** So much that half of the export is more than a download repeats of what it continues. */
const headcount = 700
const people = staff(headcount).map((person) => ({ ...person, title: 'Engineer of engines '.repeat(9).trim() }))
const bytes = Buffer.byteLength(csvOf(people))
const half = Math.floor(bytes / 2)
/** A download repeats the last bytes of what it continues, to see that the object still has them. */
const repeatedBytes = 64 * 1024

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

/** Whether a request is for the export, and none for a list. */
const isExport = (url = '') => url.split('?')[0]?.endsWith('/people.csv') === true

const providers = ['s3', 'azure'] as const

describe.each(isFull ? providers : providers.slice(0, 1))('an export in a bucket of %s', (provider) => {
  test('whose download a kill of the daemon breaks is fetched to its end after the restart, and read once', async () => {
    await using bucket = await testBucket(provider)
    await using workplace = await connectTo(bucket)
    const { work, incoming } = workplace
    await bucket.put('people.csv', csvOf(people))
    const ranges = rangesOf(bucket, [{ stallAfter: half }])

    await using first = await serve(work)
    const sync = work.start('sync')
    await expect.poll(() => sizesIn(incoming), { timeout: 60_000 }).toContain(half)
    first.child.kill('SIGKILL')
    sync.child.kill('SIGKILL')
    await Promise.all([first.ended, sync.ended])
    const atKill = await workplace.people()
    await using _second = await serve(work)
    const next = await work.json<{ problems: number }>('sync')
    const again = await work.json<{ state: string }>('sync')

    expect(atKill.size).toBe(0)
    expect(next).toMatchObject({ exit: 0, document: { problems: 0 } })
    expect(again.exit).toBe(0)
    expect((await workplace.people()).size).toBe(headcount)
    // Of what arrived before the kill, only the end is fetched again, and an export that was read is not fetched at all.
    expect(ranges[0]).toBeNull()
    expect(ranges[1]).toBe(`bytes=${half - repeatedBytes}-`)
    expect(await readdir(incoming)).toEqual([])
    const { document } = await work.json<{ runs: { state: string }[] }>('runs')
    expect(document.runs.filter(({ state }) => state === 'finished')).toHaveLength(1)
  })
})

/** A workplace that reads the bucket. `incoming`: where its downloads are. */
async function connectTo(bucket: TestBucket) {
  const workplace = await openSourceWorkplace(host)
  const { work } = workplace
  await workplace.connect({ ...(await settingsOf(bucket, work)), pattern: 'people.csv', ...worldMapping })
  return Object.assign(workplace, { incoming: join(work.folder, 'data', 'incoming', 'acme') })
}

/** The settings of the bucket, with its secrets in files. */
async function settingsOf({ settings }: TestBucket, work: Workplace): Promise<Record<string, unknown>> {
  const kept = { ...settings }
  for (const name of ['secretAccessKey', 'accountKey'])
    if (typeof kept[name] === 'string') kept[name] = await keepSecret(work, name, kept[name])
  return kept
}

/** Lets the downloads of the export fail in turn; those after them succeed. Returns the ranges that they asked for. */
function rangesOf(bucket: TestBucket, faults: readonly { stallAfter: number }[]) {
  const ranges: (string | null)[] = []
  bucket.fault = ({ method, url, headers }) => {
    if (method !== 'GET' || !isExport(url)) return undefined
    ranges.push(String(headers.range ?? headers['x-ms-range'] ?? '') || null)
    return faults[ranges.length - 1]
  }
  return ranges
}

async function sizesIn(folder: string): Promise<number[]> {
  const names = await readdir(folder).catch(() => [])
  return await Promise.all(names.map(async (name) => (await stat(join(folder, name)).catch(() => null))?.size ?? -1))
}
