import { createHash } from 'node:crypto'
import { cellBytes } from '../cell-size.ts'
import type { ConnectorContext, OpenOptions, Reading, SourceIdentity, SourceRow } from '../connector.ts'
import { openExport } from '../export/open-export.ts'
import type { ExportFile } from '../file/export-file.ts'
import { unreadable } from '../file/failures.ts'
import { noRows } from '../nothing-new.ts'
import { asOfResponse } from './as-of.ts'
import { checkContentType, type ResponseHeaders } from './client/body.ts'
import type { HttpClient } from './client/client.ts'
import { requestMaker } from './client/source-request.ts'
import { addDetails, hasDetails } from './details/add-details.ts'
import { type FetchedList, fetchList } from './lists/fetch-list.ts'
import { checkNoNextPage } from './lists/list-end.ts'
import { lastModifiedMs } from './lists/list-page.ts'
import { listRows } from './lists/list-rows.ts'
import { openSpool } from './lists/spool.ts'
import type { HttpSource } from './settings/settings.ts'

/** What a reading is made from. */
export type HttpReadingInput = {
  readonly context: ConnectorContext
  readonly client: HttpClient
  /** The time before the first request is sent. */
  readonly startedAt: Date
  /** The address in failures. */
  readonly label: string
  /** The name of the source. */
  readonly name: string
  /** The name of the list in its rows. */
  readonly fileName: string
  readonly signal: AbortSignal
  readonly onWait?: OpenOptions['onWait']
}

/** A source whose answer is an export, not JSON. */
type ExportSource = HttpSource & { readonly format: 'csv' | 'xlsx' }

/** Fetches an export into the spool and opens it there. Closing the reading removes the copy. */
export async function readExport(source: ExportSource, input: HttpReadingInput): Promise<Reading> {
  const { context, client, label, name, fileName, signal } = input
  const makeRequest = await requestMaker({ ...source, at: 'body' }, context)
  const first = await client.fetch(makeRequest({ url: new URL(source.url), label }))
  checkContentType(first.headers, source.format, label)
  requireKnownEnd(first.headers, label)
  checkNoNextPage(source, first.headers, label)
  const asOf = asOfResponse(source, { ...input, lastModifiedMs: lastModifiedMs(first.headers) })
  await using opening = new AsyncDisposableStack()
  const spool = opening.use(await openSpool(context.spoolDir))
  const digest = createHash('sha256')
  for await (const chunk of first.body) {
    digest.update(chunk)
    await spool.append(chunk)
  }
  const file = await spool.finish(fileName)
  const identity = identityOf(source, { name, bytes: file.bytes, digest: digest.digest('hex') })
  const read = async (): Promise<Reading> => {
    const { filterable: _, ...opened } = await openExport(file, source, { signal, secret: context.secret })
    return { mode: source.mode, asOf, source: identity, ...opened }
  }
  return withCopy(await read(), { reopen: read, copy: opening.move() })
}

/** Fetches every page of a JSON list into the spool and opens it there. Closing the reading removes the copy. */
export async function readList(source: HttpSource, input: HttpReadingInput): Promise<Reading> {
  const { context, name, fileName } = input
  await using opening = new AsyncDisposableStack()
  const spool = opening.use(await openSpool(context.spoolDir))
  const timePointer = source.asOf.from === 'pointer' ? source.asOf.pointer : undefined
  const fetched = await fetchList({ ...source, at: 'body', timePointer }, { ...input, name: fileName, spool })
  const asOf = asOfResponse(source, { ...input, ...fetched })
  // An empty list leaves an empty file, which readers of exports refuse.
  const isEmpty = fetched.counts.every((count) => count === 0)
  const file = isEmpty ? null : await spool.finish(fileName)
  const detailed =
    file && hasDetails(source) ? opening.use(await addDetails(source, { list: fetched, file }, input)) : null
  const list = detailed ?? plainList(fetched, file)
  const { headers, bytes, digest, end } = list
  const records = fetched.counts.reduce((sum, count) => sum + count, 0)
  const identity = { ...identityOf(source, { name, bytes, digest }), records, end }
  // In an empty list no record lacks a member, so no column is missing either.
  const missingIsBlank = source.mode === 'snapshot' && source.missing !== 'keep' && !isEmpty
  const read = async (): Promise<Reading> => {
    let size = 0
    const rows = withMeasure(list.rows(input.signal), (slice) => {
      size += cellBytes(slice)
    })
    const reading = { mode: source.mode, asOf, source: identity, headers, sparse: true, missingIsBlank }
    const details = detailed && { partialDetails: detailed.partialDetails, warnings: () => detailed.warnings }
    return { ...reading, ...details, rows, cellBytes: () => size }
  }
  return withCopy(await read(), { reopen: read, copy: opening.move() })
}

function plainList(list: FetchedList, file: ExportFile | null) {
  return { ...list, rows: (signal: AbortSignal) => (file ? listRows(file, list, signal) : noRows()) }
}

type SpooledCopy = { readonly reopen: () => Promise<Reading>; readonly copy: AsyncDisposableStack }

function withCopy(reading: Reading, { reopen, copy }: SpooledCopy): Reading {
  return { ...reading, reopen, close: () => copy.disposeAsync() }
}

async function* withMeasure(
  slices: AsyncIterable<readonly SourceRow[]>,
  measure: (slice: readonly SourceRow[]) => void,
): AsyncGenerator<readonly SourceRow[]> {
  for await (const slice of slices) {
    measure(slice)
    yield slice
  }
}

/** Refuses a response without a length and without chunks: if it is cut off, nothing shows it. */
function requireKnownEnd(headers: ResponseHeaders, label: string): void {
  if (headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined) return
  throw unreadable(
    `${label} says neither how long its answer is nor where it ends, so a part of it could pass for all of it`,
    'let the server send Content-Length, or chunks',
  )
}

type SourceContent = { readonly name: string; readonly bytes: number; readonly digest: string }

function identityOf({ url }: HttpSource, { name, bytes, digest }: SourceContent): SourceIdentity {
  const version = createHash('sha256').update(`${url}\n${digest}`).digest('hex')
  return { name, bytes, version: `sha256:${version}` }
}
