import { open, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { toObjectFile } from '../../../src/connectors/object-storage/choice.ts'
import { download } from '../../../src/connectors/object-storage/fetch.ts'
import type { ObjectStore } from '../../../src/connectors/object-storage/store.ts'
import { testBucket } from '../../helpers/sources/buckets.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'
import { failureOf } from '../../helpers/sources/sftp.ts'

const people = 'id,email\n1,ana@example.com\n'

let opened: Awaited<ReturnType<typeof temporaryFolder>>
let folder = ''
beforeEach(async () => {
  opened = await temporaryFolder()
  folder = opened.path
})
afterEach(async () => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
  await opened[Symbol.asyncDispose]()
})

const fetched = async (store: ObjectStore, key: string) => {
  const object = await store.find(key)
  if (object === undefined) throw new Error('expected an object')
  return await download(store, toObjectFile(object), { spoolDir: folder })
}

test('a download is complete also where the system writes less than it is given', async () => {
  await using bucket = await testBucket('s3')
  await bucket.put('people.csv', people)
  await using file = await open(join(folder, 'any'), 'w')
  const prototype = Object.getPrototypeOf(file)
  const write = prototype.write
  vi.spyOn(prototype, 'write').mockImplementation(function (this: unknown, ...given: unknown[]) {
    const [block, offset, length, position] = given as [Buffer, number, number, number]
    return write.call(this, block, offset, Math.ceil(length / 2), position)
  })

  const { path } = await fetched(await bucket.store(), 'people.csv')

  expect(await readFile(path, 'utf8')).toBe(people)
})

test.each([
  [undefined, undefined, 'us-east-1'],
  ['eu-central-1', undefined, 'eu-central-1'],
  ['eu-central-1', 'garage', 'garage'],
])(
  'with AWS_REGION=%s and region %s, a request to an endpoint is signed for %s',
  async (variable, region, expected) => {
    await using bucket = await testBucket('s3')
    await bucket.put('people.csv', people)
    vi.stubEnv('AWS_REGION', variable)
    vi.stubEnv('AWS_CONFIG_FILE', join(folder, 'none'))
    const scopes = new Set<string>()
    bucket.fault = ({ headers }) => {
      scopes.add(/Credential=[^/]+\/\d+\/([^/]+)\//.exec(String(headers.authorization))?.[1] ?? '')
      return undefined
    }

    await fetched(await bucket.store({ region }), 'people.csv')
    vi.unstubAllEnvs()

    expect([...scopes]).toEqual([expected])
  },
)

describe.each(['s3', 'azure'] as const)('a broken download from a bucket of %s', (provider) => {
  const large = people.repeat(20_000)

  test.each([
    ['its end as the object has it', (part: Buffer) => part, 1],
    ['another end', (part: Buffer) => part.fill('x', part.length - 10), 2],
    ['more bytes than the object', () => Buffer.from(`${large}x`), 1],
  ])('is continued, or fetched anew: with %s', async (_, change, requests) => {
    await using bucket = await testBucket(provider)
    await bucket.put('people.csv', large)
    const outcomes = [{ cutAfter: 300_000 }]
    bucket.fault = ({ method, url }) =>
      method === 'GET' && String(url).includes('people.csv') ? outcomes.shift() : undefined
    await failureOf(fetched(await bucket.store(), 'people.csv'))
    const [name = ''] = (await readdir(folder)).filter((one) => one.endsWith('.part'))
    const { size } = await stat(join(folder, name))
    await writeFile(join(folder, name), change(await readFile(join(folder, name))))
    const before = bucket.requests.length

    const { path } = await fetched(await bucket.store(), 'people.csv')

    expect(size).toBeGreaterThan(100_000)
    expect(await readFile(path, 'utf8')).toBe(large)
    expect(bucket.requests.slice(before).filter((one) => one.startsWith('GET'))).toHaveLength(requests)
  })
})

describe.each(['gcs with an HMAC key', 'gcs with workload identity'] as const)('a bucket of %s', (provider) => {
  test('gives an object that was stored compressed as it is stored', async () => {
    await using bucket = await testBucket(provider)
    await bucket.put('people.csv', gzipSync(people))
    bucket.fault = ({ method, headers }) =>
      method === 'GET' && !String(headers['accept-encoding']).includes('gzip')
        ? { status: 200, body: people, headers: { etag: '"other"' } }
        : undefined

    const { path } = await fetched(await bucket.store(), 'people.csv')

    expect(gunzipSync(await readFile(path)).toString()).toBe(people)
  })
})

test.each(['s3', 'gcs with workload identity'] as const)(
  'a bucket of %s deletes an object where it knows no conditions, and keeps one of the same bytes that is newer',
  async (provider) => {
    await using bucket = await testBucket(provider)
    await bucket.put('people.csv', people)
    const store = await bucket.store()
    const object = await store.find('people.csv')
    if (object === undefined) throw new Error('expected an object')
    bucket.fault = ({ method, headers }) =>
      method === 'DELETE' && headers['if-match'] !== undefined ? { status: 501 } : undefined

    await store.remove({ ...object, modifiedAtMs: object.modifiedAtMs - 1000 })
    const kept = await bucket.keys()
    await store.remove(object)

    expect(kept).toEqual(['people.csv'])
    expect(await bucket.keys()).toEqual([])
  },
)

test.each(['s3', 'azure'] as const)(
  'a bucket of %s that lets nobody write says what afterwards needs',
  async (provider) => {
    await using bucket = await testBucket(provider)
    await bucket.put('people.csv', people)
    const store = await bucket.store()
    const object = await store.find('people.csv')
    if (object === undefined) throw new Error('expected an object')
    const code = provider === 's3' ? 'AccessDenied' : 'AuthorizationPermissionMismatch'
    bucket.fault = ({ method }) =>
      method === 'PUT' || method === 'DELETE'
        ? { status: 403, body: `<Error><Code>${code}</Code></Error>`, headers: { 'x-ms-error-code': code } }
        : undefined

    const copying = await failureOf(store.copy(object, 'done/people.csv'))
    const removing = await failureOf(store.remove(object))

    expect(copying.message).toContain('an account that may also write and delete objects')
    expect(removing.message).toContain('an account that may also write and delete objects')
  },
)
