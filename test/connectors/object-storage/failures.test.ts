import { inspect } from 'node:util'
import {
  ContainerSASPermissions,
  generateBlobSASQueryParameters,
  StorageSharedKeyCredential,
} from '@azure/storage-blob'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Fault, type TestBucket, testBucket } from '../../helpers/sources/buckets.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'
import { json, makeCertificates, startHrServer } from '../../helpers/sources/hr-server.ts'
import { failureOf, secrets } from '../../helpers/sources/sftp.ts'

const xml = (code: string, status: number): Fault => {
  const body = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>secret-detail</Message></Error>`
  return () => ({ status, body, headers: { 'content-type': 'application/xml', 'x-ms-error-code': code } })
}

const page = {
  status: 200,
  body: '<!doctype html><html><body>secret-detail</body></html>',
  headers: { 'content-type': 'text/html' },
}
const half = {
  status: 200,
  body: '<?xml version="1.0"?><ListBucketResult><Name>hr-exports</Name><IsTruncated>true</IsTruncated></ListBucketResult>',
  headers: { 'content-type': 'application/xml' },
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
  ['a page of a proxy', () => page, 'source_unreachable', /the answer is none of object storage/],
  ['nothing at all', () => ({ status: 200 }), 'source_unreachable', /the answer is none of object storage/],
  ['the half of a listing', () => half, 'source_unreachable', /the answer is none of object storage/],
]

const azureTable: readonly [string, Fault, string, RegExp][] = [
  ['a wrong key', xml('AuthenticationFailed', 403), 'source_unreadable', /the credentials are not accepted/],
  ['no permission to list', xml('AuthorizationPermissionMismatch', 403), 'source_unreadable', /let the account list/],
  ['a blob in the archive', xml('BlobArchived', 409), 'source_unreadable', /have it restored/],
  ['a connection that breaks', () => 'hang up', 'source_unreachable', /the next attempt may succeed/],
  ['a page of a proxy', () => page, 'source_unreachable', /the answer is none of object storage/],
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
    const store = await bucket.store({ idleTimeoutMs: 20_000 })

    const failure = await failureOf(Array.fromAsync(store.list('night/')))
    store.close()

    expect(failure).toMatchObject({ code })
    expect(failure.message).toMatch(/^cannot list night\/\* in the (?:bucket|container) hr-exports: /)
    expect(failure.message).toMatch(expected)
    expect(inspect(failure)).not.toContain('secret-detail')
  })
})

test('a container whose signature has expired says so', async () => {
  await using bucket = await testBucket('azure')
  const accountKey = String(bucket.settings.accountKey)
  const at = {
    containerName: 'hr-exports',
    expiresOn: new Date('2020-01-01'),
    permissions: ContainerSASPermissions.parse('rl'),
  }
  const sasToken = generateBlobSASQueryParameters(at, new StorageSharedKeyCredential('devstoreaccount1', accountKey))
  const store = await bucket.store({ accountKey: undefined, sasToken: 'sv' }, secrets({ sasToken: `?${sasToken}` }))

  const failure = await failureOf(Array.fromAsync(store.list('')))
  store.close()

  expect(failure).toMatchObject({ code: 'source_unreadable' })
  expect(failure.message).toContain('whether a signature has expired')
  expect(inspect(failure)).not.toContain(encodeURIComponent(sasToken.signature))
})

test('a server with a certificate of an unknown authority is named by what helps', async () => {
  await using folder = await temporaryFolder()
  const { server: tls } = await makeCertificates(folder.path)
  await using server = await startHrServer(json({}), tls)
  await using bucket = await testBucket('s3')
  const store = await bucket.store({ endpoint: server.url })

  const failure = await failureOf(Array.fromAsync(store.list('')))
  store.close()

  expect(failure).toMatchObject({ code: 'source_unreadable' })
  expect(failure.message).toContain('NODE_EXTRA_CA_CERTS')
})

describe('a token of Google', () => {
  const identity = (port: number, source: object = { url: `http://127.0.0.1:${port}/subject` }) => ({
    type: 'external_account',
    audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/hr/providers/hr',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: `http://127.0.0.1:${port}/token`,
    credential_source: source,
  })
  const list = async (credentials: object, settings = {}) => {
    await using bucket = await testBucket('gcs with workload identity')
    const store = await bucket.store(settings, secrets({ googleCredentials: JSON.stringify(credentials) }))
    return await failureOf(Array.fromAsync(store.list(''))).finally(store.close)
  }

  test('that is refused is no reason to try again', async () => {
    await using server = await startHrServer((_request, response) => {
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}')
    })

    const failure = await list(identity(server.port))

    expect(failure).toMatchObject({ code: 'source_unreadable' })
    expect(failure.message).toMatch(
      /^cannot get a token of Google for the bucket hr-exports: .*whether they have expired/,
    )
  })

  test('needs a key that can be read', async () => {
    const failure = await list({ type: 'service_account', client_email: 'hr@example.com', private_key: 'secret-key' })

    expect(failure).toMatchObject({ code: 'source_unreadable' })
    expect(inspect(failure)).not.toContain('secret-key')
  })

  test('that never comes is given up', async () => {
    await using server = await startHrServer(() => {})

    const failure = await list(identity(server.port), { idleTimeoutMs: 300 })

    expect(failure.message).toContain('raise idleTimeoutMs')
  })

  test('is also made for a machine of Amazon', async () => {
    const source = { environment_id: 'aws1', regional_cred_verification_url: 'https://sts.{region}.amazonaws.com' }
    await using bucket = await testBucket('gcs with workload identity')
    const googleCredentials = JSON.stringify(identity(9, source))

    const store = await bucket.store({}, secrets({ googleCredentials }))

    expect(store.server).toBe('the bucket hr-exports')
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
