import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Fault, type TestBucket, testBucket } from '../../helpers/sources/buckets.ts'
import { failureOf } from '../../helpers/sources/sftp.ts'

const xml = (code: string, status: number): Fault => {
  const body = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>secret-detail</Message></Error>`
  return () => ({ status, body, headers: { 'content-type': 'application/xml', 'x-ms-error-code': code } })
}

const table: readonly [string, Fault, string, RegExp][] = [
  ['a key that has expired', xml('ExpiredToken', 400), 'source_unreadable', /the credentials have expired: renew them/],
  ['a key that is unknown', xml('InvalidAccessKeyId', 403), 'source_unreadable', /the credentials are not accepted/],
  ['a wrong secret', xml('SignatureDoesNotMatch', 403), 'source_unreadable', /the credentials are not accepted/],
  ['no permission to list', xml('AccessDenied', 403), 'source_unreadable', /let the account list the bucket/],
  ['another region', xml('PermanentRedirect', 301), 'source_unreadable', /check region and endpoint/],
  ['an unknown refusal', xml('Teapot', 418), 'source_unreadable', /the server answered 418 Teapot/],
  ['too many requests', xml('SlowDown', 503), 'source_unreachable', /status 503/],
  ['a server in trouble', xml('InternalError', 500), 'source_unreachable', /status 500/],
  ['a page of HTML', () => ({ status: 403, body: '<html>no</html>' }), 'source_unreadable', /permission denied/],
  ['a connection that breaks', () => 'hang up', 'source_unreachable', /the next attempt may succeed/],
]

const azureTable: readonly [string, Fault, string, RegExp][] = [
  ['a wrong key', xml('AuthenticationFailed', 403), 'source_unreadable', /the credentials are not accepted/],
  ['no permission to list', xml('AuthorizationPermissionMismatch', 403), 'source_unreadable', /let the account list/],
  ['a blob in the archive', xml('BlobArchived', 409), 'source_unreadable', /have it restored/],
  ['a connection that breaks', () => 'hang up', 'source_unreachable', /the next attempt may succeed/],
]

describe.each([
  ['s3', table],
  ['azure', azureTable],
] as const)('a bucket of %s', (provider, cases) => {
  let bucket: TestBucket
  beforeAll(async () => {
    bucket = await testBucket(provider)
  })
  afterAll(() => bucket[Symbol.asyncDispose]())

  test.each(cases)('answers with %s', async (_case, fault, code, expected) => {
    bucket.fault = fault
    const store = await bucket.store({ idleTimeoutMs: 2000 })

    const failure = await failureOf(Array.fromAsync(store.list('night/')))
    store.close()

    expect(failure).toMatchObject({ code })
    expect(failure.message).toMatch(/^cannot list night\/\* in the (?:bucket|container) hr-exports: /)
    expect(failure.message).toMatch(expected)
    expect(failure.message).not.toContain('secret-detail')
  })
})

test('a server that is not there is named by what to check', async () => {
  await using bucket = await testBucket('s3')
  const store = await bucket.store({ endpoint: 'http://127.0.0.1:9' })

  const failure = await failureOf(Array.fromAsync(store.list('')))

  expect(failure).toMatchObject({ code: 'source_unreachable' })
  expect(failure.message).toContain('check endpoint, and whether the server is running')
})

test.each(['{', '{}', '{"type":"authorized_user"}', '"service_account"'])(
  'credentials of Google that read %s are refused without being quoted',
  async (text) => {
    await using bucket = await testBucket('gcs with workload identity')
    const secret = (path: string) => (path === 'googleCredentials' ? { read: async () => text } : null)

    const failure = await failureOf(bucket.store({}, secret))

    expect(failure.message).toBe(
      'googleCredentials is no JSON of a service account or of workload identity: give the file that Google Cloud made for it',
    )
  },
)
