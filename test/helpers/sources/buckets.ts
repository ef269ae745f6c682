import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { ContainerClient, StorageSharedKeyCredential } from '@azure/storage-blob'
import type { ConnectorContext } from '../../../src/connectors/connector.ts'
import { startLimits } from '../../../src/connectors/object-storage/limits.ts'
import { openBucket } from '../../../src/connectors/object-storage/load.ts'
import { ObjectStorageSource } from '../../../src/connectors/object-storage/settings.ts'
import type { ObjectStore } from '../../../src/connectors/object-storage/store.ts'
import { secrets } from './sftp.ts'

const load = createRequire(import.meta.url)

/** What a request of the test meets instead of the server's own answer; undefined: the server answers. */
export type Fault = (request: IncomingMessage) => Outcome | Promise<Outcome>

type Outcome = 'hang up' | 'silence' | Partial | Answer | undefined

/** The body breaks off, falls silent, or ends as if that were all, after this number of bytes. */
type Partial = { readonly cutAfter: number } | { readonly stallAfter: number } | { readonly endAfter: number }

type Answer = { readonly status: number; readonly body?: string; readonly headers?: Readonly<Record<string, string>> }

/** A bucket on a server of this machine, with the settings and secrets of a source that reads it. */
export type TestBucket = AsyncDisposable & {
  readonly settings: Readonly<Record<string, unknown>>
  readonly secret: ConnectorContext['secret']
  /** Which requests fail, and how. */
  fault: Fault
  /** Every request so far, such as "GET /hr/people.csv". */
  readonly requests: string[]
  readonly put: (key: string, content: string | Buffer) => Promise<void>
  /** All keys, sorted. */
  readonly keys: () => Promise<string[]>
  readonly store: (
    settings?: Readonly<Record<string, unknown>>,
    secret?: ConnectorContext['secret'],
  ) => Promise<ObjectStore>
}

/** The servers that the tests of all providers run against. */
export const providers = ['s3', 'gcs with an HMAC key', 'gcs with workload identity', 'azure'] as const
type ProviderCase = (typeof providers)[number]

/** A server with an empty bucket. */
export async function testBucket(provider: ProviderCase): Promise<TestBucket> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-bucket-'))
  const opened = provider === 'azure' ? await azureServer() : await s3Server(folder)
  const tokens = provider === 'gcs with workload identity' ? await tokenServer() : null
  const bucket = { fault: (() => undefined) as Fault, requests: [] as string[] }
  const translate = tokens?.translate ?? (() => true)
  const proxy = await listen(
    createServer((incoming, outgoing) => void forward(incoming, outgoing, opened.port, { bucket, translate })),
  )
  const endpoint = `http://127.0.0.1:${portOf(proxy)}`
  const access = accessOf(provider, tokens?.port ?? 0)
  const settings = {
    type: 'object-storage',
    bucket: 'hr-exports',
    pattern: '*.csv',
    mode: 'snapshot',
    complete: { quietSeconds: 0 },
    ...access.settings,
    endpoint: provider === 'azure' ? `${endpoint}/${azureAccount}` : endpoint,
  }
  const secret = secrets(access.secrets)
  const store: TestBucket['store'] = (own = {}, secretOf = secret) =>
    openStore(ObjectStorageSource.parse({ ...settings, ...access.secrets, ...own }), secretOf)
  return Object.assign(bucket, {
    settings: { ...settings, ...access.secrets },
    secret,
    store,
    put: opened.put,
    keys: opened.keys,
    async [Symbol.asyncDispose]() {
      for (const server of [proxy, tokens?.server]) {
        server?.closeAllConnections()
        server?.close()
      }
      await opened.close()
      await rm(folder, { recursive: true, force: true })
    },
  })
}

async function openStore(source: ObjectStorageSource, secret: ConnectorContext['secret']): Promise<ObjectStore> {
  const limits = startLimits(source, new AbortController().signal)
  const store = await openBucket(source, { secret, limits })
  const close = () => {
    store.close()
    limits[Symbol.dispose]()
  }
  return { ...store, close }
}

const keyId = 'S3RVER'
const azureAccount = 'devstoreaccount1'
// The key that every emulator of Azure Storage has.
const azureKey = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='

type Access = {
  readonly settings: Readonly<Record<string, unknown>>
  readonly secrets: Readonly<Record<string, string>>
}

function accessOf(provider: ProviderCase, tokenPort: number): Access {
  if (provider === 'azure')
    return { settings: { provider: 'azure', account: azureAccount }, secrets: { accountKey: azureKey } }
  if (provider === 'gcs with workload identity')
    return { settings: { provider: 'gcs' }, secrets: { googleCredentials: workloadIdentity(tokenPort) } }
  const name = provider === 's3' ? 's3' : 'gcs'
  return { settings: { provider: name, accessKeyId: keyId }, secrets: { secretAccessKey: keyId } }
}

type Opened = {
  readonly port: number
  readonly put: TestBucket['put']
  readonly keys: TestBucket['keys']
  readonly close: () => Promise<void>
}

/**
 * Lets the server make its tokens for further pages of a list: it encrypts them with DES, which OpenSSL no longer has by itself. Three
 * times the same key makes triple DES the same cipher.
 */
function provideDes(): void {
  const crypto = load('node:crypto')
  for (const name of ['createCipheriv', 'createDecipheriv']) {
    const create = crypto[name]
    // No arrow function, because other packages in this process call it with `new`.
    function createWithDes(algorithm: string, key: Buffer, ...others: unknown[]) {
      return algorithm === 'des'
        ? create('des-ede3-cbc', Buffer.concat([key, key, key]), ...others)
        : create(algorithm, key, ...others)
    }
    crypto[name] = createWithDes
  }
}
provideDes()

async function s3Server(directory: string): Promise<Opened> {
  const S3rver = load('s3rver')
  const server = new S3rver({ port: 0, address: '127.0.0.1', silent: true, directory })
  const { port }: AddressInfo = await server.run()
  const client = new S3Client({
    endpoint: `http://127.0.0.1:${port}`,
    region: 'us-east-1',
    forcePathStyle: true,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    credentials: { accessKeyId: keyId, secretAccessKey: keyId },
  })
  await client.send(new CreateBucketCommand({ Bucket: 'hr-exports' }))
  return {
    port,
    put: async (key, content) => {
      await client.send(new PutObjectCommand({ Bucket: 'hr-exports', Key: key, Body: Buffer.from(content) }))
    },
    keys: async () => {
      const { objects } = await server.store.listObjects('hr-exports', { maxKeys: 10_000 })
      return objects.map(({ key }: { key: string }) => key).toSorted()
    },
    close: async () => {
      client.destroy()
      await server.close()
    },
  }
}

async function azureServer(): Promise<Opened> {
  const { default: BlobServer } = load('azurite/dist/src/blob/BlobServer.js')
  const { default: BlobConfiguration } = load('azurite/dist/src/blob/BlobConfiguration.js')
  const unset = undefined
  const inMemory = [false, unset, false, unset, false, true, '', '', '', unset, true, true]
  const server = new BlobServer(new BlobConfiguration('127.0.0.1', 0, 5, unset, unset, unset, ...inMemory))
  await server.start()
  const port = Number(new URL(server.getHttpServerAddress()).port)
  const credential = new StorageSharedKeyCredential(azureAccount, azureKey)
  const container = new ContainerClient(`http://127.0.0.1:${port}/${azureAccount}/hr-exports`, credential)
  await container.create()
  return {
    port,
    put: async (key, content) => {
      await container.getBlockBlobClient(key).upload(content, Buffer.byteLength(content))
    },
    keys: async () => (await Array.fromAsync(container.listBlobsFlat(), ({ name }) => name)).toSorted(),
    close: async () => await server.close(),
  }
}

/** The credentials of a machine that exchanges a token of its own for one of Google. */
function workloadIdentity(port: number): string {
  return JSON.stringify({
    type: 'external_account',
    audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/hr/providers/hr',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: `http://127.0.0.1:${port}/token`,
    credential_source: { url: `http://127.0.0.1:${port}/subject` },
  })
}

const googleToken = 'ya29.of-the-test'

/** A server that exchanges tokens, and a bucket's translation of Google's headers into those of S3. */
async function tokenServer() {
  const server = await listen(
    createServer((incoming, outgoing) => {
      if (incoming.url === '/subject') return void outgoing.end('subject-token')
      outgoing.setHeader('content-type', 'application/json')
      const token = { access_token: googleToken, token_type: 'Bearer', expires_in: 3600 }
      outgoing.end(JSON.stringify({ ...token, issued_token_type: 'urn:ietf:params:oauth:token-type:access_token' }))
    }),
  )
  const translate = ({ headers }: IncomingMessage): boolean => {
    const isForeign = Object.keys(headers).some((name) => name.startsWith('x-amz-'))
    if (headers.authorization !== `Bearer ${googleToken}` || isForeign) return false
    delete headers.authorization
    for (const name of Object.keys(headers).filter((each) => each.startsWith('x-goog-copy')))
      headers[name.replace('x-goog-', 'x-amz-')] = headers[name]
    return true
  }
  return { server, port: portOf(server), translate }
}

type Forwarding = {
  readonly bucket: Pick<TestBucket, 'fault' | 'requests'>
  /** Changes the headers of a request. False: the server refuses it. */
  readonly translate: (incoming: IncomingMessage) => boolean
}

async function forward(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  port: number,
  { bucket, translate }: Forwarding,
): Promise<void> {
  bucket.requests.push(`${incoming.method} ${decodeURIComponent(String(incoming.url))}`)
  const fault = await bucket.fault(incoming)
  if (fault === 'silence') return
  if (fault === 'hang up') return void incoming.socket.destroy()
  if (fault && 'status' in fault) return void outgoing.writeHead(fault.status, fault.headers).end(fault.body)
  if (!translate(incoming)) return void outgoing.writeHead(403).end()
  const { method, url, headers } = incoming
  const upstream = request({ port, host: '127.0.0.1', method, path: url, headers }, (response) => {
    const { 'content-length': length, ...others } = response.headers
    if (fault === undefined && method === 'GET' && String(others['content-type']).includes('xml'))
      return void sendListing(response, outgoing)
    outgoing.writeHead(
      response.statusCode ?? 500,
      fault && 'endAfter' in fault ? others : { ...others, ...(length && { 'content-length': length }) },
    )
    const limit = fault === undefined ? Number.POSITIVE_INFINITY : Number(Object.values(fault)[0])
    let sent = 0
    response.on('data', (chunk: Buffer) => {
      outgoing.write(chunk.subarray(0, Math.max(0, limit - sent)))
      sent += chunk.length
      if (fault && 'cutAfter' in fault && sent >= limit) outgoing.destroy()
    })
    response.on('end', () => {
      if (!fault || 'endAfter' in fault) outgoing.end()
    })
  })
  upstream.on('error', () => outgoing.destroy())
  incoming.pipe(upstream)
}

/** A listing with the milliseconds that most servers state there, and only there. */
async function sendListing(response: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const body = Buffer.concat(await Array.fromAsync(response)).toString()
  outgoing.writeHead(response.statusCode ?? 500, response.headers)
  outgoing.end(body.replaceAll('.000Z</LastModified>', '.123Z</LastModified>'))
}

async function listen(server: Server): Promise<Server> {
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  return server
}

function portOf(server: Server): number {
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('the server does not listen')
  return address.port
}
