import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TlsOptions } from 'node:tls'
import { promisify } from 'node:util'
import type { z } from 'zod'
import type { OpenOptions, Reading, SourceRow } from '../../../src/connectors/connector.ts'
import type { ResolveHost } from '../../../src/connectors/http/network/addresses.ts'
import { type HttpDependencies, httpConnector } from '../../../src/connectors/http/open.ts'
import { HttpSource } from '../../../src/connectors/http/settings/settings.ts'
import { temporaryFolder } from './folders.ts'
import { testClock } from './test-clock.ts'

export type Answer = (request: IncomingMessage, response: ServerResponse) => void

export type HrServer = AsyncDisposable & {
  readonly url: string
  readonly port: number
  /** Path with query, and headers, of every request so far. */
  readonly requests: readonly { readonly path: string; readonly headers: IncomingMessage['headers'] }[]
}

/** A real server on this machine that answers as it is told; with `tls` over https. */
export async function startHrServer(answer: Answer, tls?: TlsOptions): Promise<HrServer> {
  const requests: { path: string; headers: IncomingMessage['headers'] }[] = []
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    requests.push({ path: request.url ?? '', headers: request.headers })
    response.on('error', () => {})
    answer(request, response)
  }
  const server = tls ? createTlsServer(tls, listener) : createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    port,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** An answer that sends a value as JSON. */
export function json(value: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers })
    response.end(typeof value === 'string' ? value : JSON.stringify(value))
  }
}

/** An answer that sends text as CSV. */
export function csv(text: string | Buffer, headers: Readonly<Record<string, string>> = {}): Answer {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/csv', 'content-length': Buffer.byteLength(text), ...headers })
    response.end(text)
  }
}

/** Pages of people below /people, in which each names the next one by its address, and holds what is `stated`. */
export function pagesOfPeople(
  count: number,
  changed: Readonly<Record<number, Answer>> = {},
  stated: { readonly total?: number } = {},
): Answer {
  return (request, response) => {
    const number = Number(new URL(request.url ?? '', 'http://hr').searchParams.get('page') ?? '1')
    const page = { ...stated, people: [{ id: `p${number}` }], next: number < count ? `?page=${number + 1}` : null }
    const answer = changed[number] ?? json(page)
    answer(request, response)
  }
}

export type HttpSettings = Partial<z.input<typeof HttpSource>>

export type OpenedHttp = {
  readonly folder: string
  readonly secrets?: Readonly<Record<string, string>>
  readonly options?: Partial<OpenOptions>
  readonly resolve?: ResolveHost
  /** By default waits take no time. */
  readonly clock?: HttpDependencies['clock']
}

/** A source on this machine: JSON, everybody, private addresses allowed. */
export function httpSource(settings: HttpSettings): HttpSource {
  return HttpSource.parse({ type: 'http', format: 'json', mode: 'snapshot', allowPrivate: true, ...settings })
}

/** Opens a source as a run would. What it fetches lies in the folder `spool`. */
export function openHttp(
  settings: HttpSettings,
  { folder, secrets = {}, options = {}, resolve, clock = testClock() }: OpenedHttp,
): Promise<Reading> {
  const secret = (path: string) => {
    const text = secrets[path]
    return text === undefined ? null : { read: async () => text }
  }
  const context = { baseDir: folder, spoolDir: join(folder, 'spool'), tokensDir: join(folder, 'tokens'), secret }
  return httpConnector(httpSource(settings), context, { clock, ...(resolve && { resolve }) }).open({
    now: () => new Date('2026-11-20T12:00:00Z'),
    signal: new AbortController().signal,
    findDecided: async () => new Set(),
    ...options,
  })
}

/** Every row of a reading. */
export async function rowsOf({ rows, close }: Reading): Promise<readonly SourceRow[]> {
  try {
    return (await Array.fromAsync(rows)).flat()
  } finally {
    await close?.()
  }
}

/** Every row of a reading as an object of the cells that it has. */
export async function recordsOf(reading: Reading): Promise<readonly Record<string, string>[]> {
  const rows = await rowsOf(reading)
  return rows.map(({ values }) =>
    Object.fromEntries(
      values.flatMap((value, index): [string, string][] =>
        value === undefined ? [] : [[reading.headers[index] ?? '', value]],
      ),
    ),
  )
}

/** Opens what a server answers below /people and a query, and gives how that failed and what is left on the disk. */
export async function failureOf(answer: Answer, settings: HttpSettings = {}, query = '') {
  await using server = await startHrServer(answer)
  await using folder = await temporaryFolder()
  const failure = await openHttp({ url: `${server.url}/people${query}`, ...settings }, { folder: folder.path }).then(
    () => Promise.reject(new Error('it was opened')),
    (error: unknown) => error,
  )
  const remaining = await readdir(join(folder.path, 'spool')).catch(() => [])
  return { failure, remaining, requests: server.requests.length }
}

export type Certificates = {
  /** The file of the authority, for `ca`. */
  readonly authorityFile: string
  readonly clientFile: string
  /** Encrypted with the passphrase `open sesame`. */
  readonly clientKey: string
  /** What a server needs to be trusted by whoever trusts the authority, and to ask for certificates of the same authority. */
  readonly server: TlsOptions
  /** The same with a certificate that has expired. */
  readonly expired: TlsOptions
}

const run = promisify(execFile)

/** An authority, and certificates of it for a server on this machine and for a client; made by openssl in `folder`. */
export async function makeCertificates(folder: string): Promise<Certificates> {
  const file = (name: string) => join(folder, name)
  const openssl = (...words: string[]) => run('openssl', words, { cwd: folder })
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-days', '2']
  await openssl(
    'req',
    '-x509',
    ...curve,
    '-nodes',
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
    '-subj',
    '/CN=Test authority',
  )
  const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key']
  await writeFile(file('server.cnf'), 'subjectAltName=IP:127.0.0.1,DNS:hr.example\n')
  await openssl('req', ...curve, '-nodes', '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=hr.example')
  const ofServer = ['x509', '-req', '-in', 'server.csr', ...signed, '-extfile', 'server.cnf']
  await openssl(...ofServer, '-days', '2', '-out', 'server.pem')
  await openssl(...ofServer, '-days', '-1', '-out', 'expired.pem')
  const passphrase = ['-passout', 'pass:open sesame']
  await openssl('req', ...curve, ...passphrase, '-keyout', 'client.key', '-out', 'client.csr', '-subj', '/CN=rollcall')
  await openssl('x509', '-req', '-in', 'client.csr', ...signed, '-days', '2', '-out', 'client.pem')
  const [ca, cert, key, clientKey, expired] = await Promise.all(
    ['ca.pem', 'server.pem', 'server.key', 'client.key', 'expired.pem'].map((name) => readFile(file(name), 'utf8')),
  )
  return {
    authorityFile: file('ca.pem'),
    clientFile: file('client.pem'),
    clientKey: clientKey ?? '',
    server: { ca: ca ?? '', cert: cert ?? '', key: key ?? '' },
    expired: { cert: expired ?? '', key: key ?? '' },
  }
}
