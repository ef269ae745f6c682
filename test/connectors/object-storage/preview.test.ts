import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { previewObject } from '../../../src/connectors/object-storage/preview.ts'
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
afterEach(() => opened[Symbol.asyncDispose]())

const options = () => ({ workingDirectory: folder, configFolder: folder, signal: new AbortController().signal })

test.each([
  ['s3://hr-exports/night/', 'night/', '*.csv'],
  ['s3://hr-exports/night', 'night/', '*.csv'],
  ['s3://hr-exports/night/people-*.csv', 'night/', 'people-*.csv'],
  ['s3://hr-exports/night/people-1.csv', 'night/', 'people-1.csv'],
  ['s3://hr-exports', undefined, '*.csv'],
])('%s is found, as a folder or a name', async (location, prefix, pattern) => {
  await using bucket = await testBucket('s3')
  await bucket.put('night/people-1.csv', people)
  await bucket.put('people-2.csv', people)
  await writeFile(join(folder, 'key'), 'S3RVER\n')
  const settings = new Map([
    ['endpoint', String(bucket.settings.endpoint)],
    ['accessKeyId', 'S3RVER'],
  ])

  const { source, ...start } = await previewObject({ location, secretFile: 'key', settings }, options())

  expect('head' in start && start.head.bytes.toString()).toBe(people)
  expect(source).toMatchObject({ bucket: 'hr-exports', pattern, secretAccessKey: expect.stringContaining('${file:') })
  expect(source.prefix).toBe(prefix)
})

test('a folder of JSON files is found, and what is said of their list is kept', async () => {
  await using bucket = await testBucket('s3')
  await bucket.put('api/people.json', '{"data":[{"id":1}],"groups":{"total":9}}')
  await writeFile(join(folder, 'key'), 'S3RVER\n')
  const settings = new Map([
    ['endpoint', String(bucket.settings.endpoint)],
    ['accessKeyId', 'S3RVER'],
    ['ignoredStatements', '/groups/total'],
  ])

  for (const location of ['s3://hr-exports/api', 's3://hr-exports/api/'])
    expect(await previewObject({ location, secretFile: 'key', settings }, options())).toMatchObject({
      source: {
        ...{ prefix: 'api/', pattern: '*.json' },
        ...{ format: 'json', records: '/data', ignoredStatements: ['/groups/total'] },
      },
    })
})

test.each([
  ['accountKey', (bucket: { settings: Readonly<Record<string, unknown>> }) => String(bucket.settings.accountKey)],
  ['sasToken', () => 'sv=2024-11-04&ss=b&srt=sco&sp=rl&se=2020-01-01T00:00:00Z&sig=c2VjcmV0'],
])('the secret of a container is known as %s by its form', async (setting, secretOf) => {
  await using bucket = await testBucket('azure')
  await bucket.put('night/people-1.csv', people)
  await writeFile(join(folder, 'key'), secretOf(bucket))
  const settings = new Map([['endpoint', String(bucket.settings.endpoint)]])
  const location = 'az://devstoreaccount1/hr-exports/night/'

  const outcome = await previewObject({ location, secretFile: 'key', settings }, options()).catch(String)

  if (setting === 'accountKey') expect(outcome).toMatchObject({ source: { accountKey: expect.any(String) } })
  else {
    expect(outcome).toMatch(/whether a signature has expired/)
    expect(bucket.requests.join()).toContain('sig=c2VjcmV0')
  }
})

test.each([
  ['s3://', {}, undefined, /name the bucket, as in s3:\/\/BUCKET\/FOLDER\//],
  ['az://acmehr', {}, undefined, /name the bucket, as in .*az:\/\/ACCOUNT\/CONTAINER\/FOLDER\//],
  ['s3://hr', {}, 'key', /give its ID with --set accessKeyId=ID/],
  ['gs://hr', { accessKeyId: 'id' }, undefined, /an accessKeyId needs --secret-file/],
  ['s3://hr', { patern: 'x' }, undefined, /--set patern: an address of object storage takes endpoint/],
])('%s with %j is refused with what helps', async (location, given, secretFile, expected) => {
  await writeFile(join(folder, 'key'), 'secret-of-the-test')
  const settings = new Map(Object.entries(given as Record<string, string>))

  const failure = await failureOf(
    previewObject({ location, settings, ...(secretFile !== undefined && { secretFile }) }, options()),
  )

  expect(failure).toMatchObject({ code: 'usage' })
  expect(failure.message).toMatch(expected)
  expect(failure.message).not.toContain('secret-of-the-test')
})
