import { createHash } from 'node:crypto'
import { cellBytes } from '../cell-size.ts'
import type { Connector, ConnectorContext, OpenOptions, Reading, SourceIdentity, SourceRow } from '../connector.ts'
import { openExport } from '../csv/open-export.ts'
import { unreadable } from '../file/failures.ts'
import { type ResolveHost, resolveHost } from './addresses.ts'
import { asOfAnswer } from './as-of.ts'
import { checkContentType } from './body.ts'
import { type HttpAnswer, type HttpClient, openHttpClient } from './fetch.ts'
import { checkNoNextPage } from './list-end.ts'
import { fetchPages, readRecords } from './pages.ts'
import type { HttpSource } from './settings.ts'
import { openSpool } from './spool.ts'

const nameLimit = 100
const addressLimit = 200

/**
 * Reads a list of people over HTTP. Opening the source fetches one CSV export, or every page of a JSON list, and the rows are streamed
 * from the disk afterwards. If one page fails, the whole list is refused. The list is always fetched whole, without If-None-Match: an
 * unchanged list still states who is absent, and its plan also rests on settings and answers that the server does not know.
 */
export function httpConnector(
  source: HttpSource,
  place: ConnectorContext,
  { resolve = resolveHost }: { readonly resolve?: ResolveHost } = {},
): Connector {
  return {
    open: async (options) => {
      const startedAt = options.now()
      await using client = await openHttpClient(source, { place, resolve, signal: options.signal })
      const url = new URL(source.url)
      const where = `${url.origin}${url.pathname}`.slice(0, addressLimit)
      const first = await client.get(url, { where })
      const fetched: Fetched = { place, client, first, startedAt, where, name: nameOf(url), signal: options.signal }
      return source.format === 'csv' ? await readExport(source, fetched) : await readPages(source, fetched)
    },
  }
}

type Fetched = {
  readonly place: ConnectorContext
  readonly client: HttpClient
  readonly first: HttpAnswer
  readonly startedAt: Date
  readonly where: string
  readonly name: string
  readonly signal: OpenOptions['signal']
}

async function readExport(source: HttpSource, fetched: Fetched): Promise<Reading> {
  const { place, first, where, name, signal } = fetched
  checkContentType(first, { where, format: 'csv' })
  checkEnds(first, where)
  checkNoNextPage(source, first.headers, where)
  const asOf = asOfAnswer(source, { ...fetched, headers: first.headers })
  await using opening = new AsyncDisposableStack()
  const spool = opening.use(await openSpool(place.spoolDir))
  const digest = createHash('sha256')
  for await (const chunk of first.body) {
    digest.update(chunk)
    await spool.append(chunk)
  }
  const file = await spool.finish(name)
  const identity = identityOf(source, { name, bytes: file.bytes, digest: digest.digest('hex') })
  const read = async (): Promise<Reading> => {
    const { filterable: _, ...opened } = await openExport(file, source, { signal, secret: place.secret })
    return { mode: source.mode, asOf, source: identity, ...opened }
  }
  return withCopy(await read(), { reopen: read, copy: opening.move() })
}

async function readPages(source: HttpSource, fetched: Fetched): Promise<Reading> {
  const { place, first, name, signal } = fetched
  await using opening = new AsyncDisposableStack()
  const spool = opening.use(await openSpool(place.spoolDir))
  const pages = await fetchPages(source, { ...fetched, spool })
  const { headers, counts, bytes, digest, stated, end } = pages
  const identity = { ...identityOf(source, { name, bytes, digest }), end }
  const asOf = asOfAnswer(source, { ...fetched, headers: first.headers, stated })
  // An empty list leaves an empty file, which readers of exports refuse. It lacks no member.
  const isEmpty = counts.every((count) => count === 0)
  const missingIsBlank = source.mode === 'snapshot' && source.missing !== 'keep' && !isEmpty
  const file = isEmpty ? null : await spool.finish(name)
  const read = async (): Promise<Reading> => {
    let size = 0
    const rows = withEach(file ? readRecords(file, pages, signal) : noRows(), (slice) => {
      size += cellBytes(slice)
    })
    const reading = { mode: source.mode, asOf, source: identity, headers, sparse: true, missingIsBlank }
    return { ...reading, rows, cellBytes: () => size }
  }
  return withCopy(await read(), { reopen: read, copy: opening.move() })
}

/** A reading of a fetched copy. Closing it removes the copy. */
function withCopy(
  reading: Reading,
  { reopen, copy }: { readonly reopen: () => Promise<Reading>; readonly copy: AsyncDisposableStack },
): Reading {
  return { ...reading, reopen, close: () => copy.disposeAsync() }
}

async function* withEach<T>(slices: AsyncIterable<T>, see: (slice: T) => void): AsyncGenerator<T> {
  for await (const slice of slices) {
    see(slice)
    yield slice
  }
}

async function* noRows(): AsyncGenerator<readonly SourceRow[]> {}

function checkEnds({ headers }: HttpAnswer, where: string): void {
  if (headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined) return
  throw unreadable(
    `${where} says neither how long its answer is nor where it ends, so a part of it could pass for all of it`,
    'let the server send Content-Length, or chunks',
  )
}

type Content = { readonly name: string; readonly bytes: number; readonly digest: string }

function identityOf({ url }: HttpSource, { name, bytes, digest }: Content): SourceIdentity {
  const version = createHash('sha256').update(`${url}\n${digest}`).digest('hex')
  return { name, bytes, version: `sha256:${version}` }
}

/** A name for the list: the last part of its address, or the host. */
function nameOf(url: URL): string {
  const last = url.pathname.split('/').findLast((part) => part !== '') ?? url.hostname
  return last.slice(0, nameLimit)
}
