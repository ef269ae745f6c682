import { createHash } from 'node:crypto'
import type { SourceRow } from '../../connector.ts'
import type { ExportFile } from '../../file/export-file.ts'
import { unreadable } from '../../file/failures.ts'
import { collectHeaders, flattenRecord, rowReader } from '../../json/cells.ts'
import { maxCells } from '../../json/slices.ts'
import { maxConnections } from '../client/client.ts'
import type { FetchedList } from '../lists/fetch-list.ts'
import { type SpooledRecord, slicesOfRows, spooledRecords } from '../lists/list-rows.ts'
import { openSpool, type Spool } from '../lists/spool.ts'
import type { HttpSource } from '../settings/settings.ts'
import { type CompleteRecord, completeRecords } from './complete-record.ts'
import type { DetailSource, DetailSummary, DetailTools } from './detail-source.ts'
import { openEach } from './each.ts'
import { inOrder } from './in-order.ts'
import { openJoin } from './join.ts'
import { DetailTally } from './tally.ts'

/** A list that was fetched to its end and holds at least one record. */
type SpooledList = { readonly list: FetchedList; readonly file: ExportFile }

/** A list whose records have their details. Disposing removes its copy. */
type DetailedList = AsyncDisposable &
  Pick<FetchedList, 'headers' | 'bytes' | 'digest' | 'end'> & {
    readonly rows: (signal: AbortSignal) => AsyncIterable<readonly SourceRow[]>
    /** The names of details that some rows lack. */
    readonly partialDetails: readonly string[]
    /** Warnings for an operator, without personal data. */
    readonly warnings: readonly string[]
  }

/** Whether the records of a source have details that its list does not hold. */
export function hasDetails({ join, each }: HttpSource): boolean {
  return join.length > 0 || each.length > 0
}

/**
 * Adds the details of `join` and `each` to the records of a list. Further lists are fetched to their ends first; the records then stream
 * from one copy to another. Refuses a record without its detail, unless `missingDetails` says otherwise.
 */
export async function addDetails(source: HttpSource, spooled: SpooledList, tools: DetailTools): Promise<DetailedList> {
  await using fetched = new AsyncDisposableStack()
  const sources: DetailSource[] = []
  for (const [index, join] of source.join.entries())
    sources.push(fetched.use(await openJoin(source, { join, index }, tools)))
  for (const [index, each] of source.each.entries())
    sources.push(fetched.use(await openEach(source, { each, index }, tools)))
  await using opening = new AsyncDisposableStack()
  const spool = opening.use(await openSpool(tools.context.spoolDir))
  const complete = await writeComplete(source, { spooled, sources, spool, tools })
  const { list } = spooled
  const file = await spool.finish(spooled.file.name)
  const opened = opening.move()
  return {
    ...combineLists(list, complete),
    rows: (signal) =>
      slicesOfRows(file, { ...complete, counts: list.counts, toRow: detailedRowReader(complete.headers) }, signal),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

type CompleteList = Pick<DetailedList, 'headers' | 'digest' | 'partialDetails' | 'warnings'> & {
  readonly summaries: readonly DetailSummary[]
}

type WriteOptions = {
  readonly spooled: SpooledList
  readonly sources: readonly DetailSource[]
  readonly spool: Spool
  readonly tools: DetailTools
}

/** Writes each record with its details to the spool, in the order of the list. */
async function writeComplete(
  { missingDetails, timeZone }: HttpSource,
  { spooled: { list, file }, sources, spool, tools: { client, startedAt, signal } }: WriteOptions,
): Promise<CompleteList> {
  const headers = new Set<string>()
  const digest = createHash('sha256').update(list.digest)
  const tally = new DetailTally(sources.map(({ as }) => as))
  const today = startedAt.toTemporalInstant().toZonedDateTimeISO(timeZone).toPlainDate().toString()
  const isOver = () => signal.aborted || client.isExhausted()
  const policy = { missingDetails, isOver, day: { today, timeZone } }
  const batchSize = Math.max(1, ...sources.map((source) => source.batchSize))
  const batches = batchesOf(spooledRecords(file, list.counts, signal), batchSize)
  let count = 0
  for await (const records of inOrder(batches, maxConnections, (one) => completeRecords(one, sources, policy))) {
    for (const record of records) {
      tally.add(record)
      collectHeaders(headers, record.flat, file.name)
      const line = toLine(record)
      digest.update(line)
      await spool.append(line)
    }
    count += records.length
    if (count * headers.size > maxCells)
      throw unreadable(`${file.name}: the records have more than ${maxCells} cells with their details`, 'check records')
  }
  const { partialDetails, warnings } = tally.finish(missingDetails)
  const summaries = sources.map(({ summarize }) => summarize())
  for (const summary of summaries) digest.update(summary.digest)
  return { headers: [...headers], digest: digest.digest('hex'), partialDetails, warnings, summaries }
}

async function* batchesOf<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<readonly T[]> {
  let batch: T[] = []
  for await (const item of items) {
    batch.push(item)
    if (batch.length < size) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

function combineLists(list: FetchedList, { headers, digest, summaries, ...complete }: CompleteList) {
  return {
    headers,
    digest,
    bytes: summaries.reduce((sum, { bytes }) => sum + bytes, list.bytes),
    end: [list.end, ...summaries.map(({ end }) => end)].join('; '),
    partialDetails: complete.partialDetails,
    warnings: [...complete.warnings, ...summaries.flatMap(({ warnings }) => warnings)],
  }
}

/** The line of the spool that holds a record and the details that it lacks. */
function toLine({ value, missing }: CompleteRecord): string {
  return `${JSON.stringify([value, missing])}\n`
}

function detailedRowReader(headers: readonly string[]): (record: SpooledRecord) => SourceRow {
  const toCells = rowReader(headers)
  return ({ text, origin }) => {
    const [value, missing]: [CompleteRecord['value'], CompleteRecord['missing']] = JSON.parse(text)
    const row = toCells(flattenRecord(value), origin)
    return missing.length === 0 ? row : { ...row, missingDetails: missing }
  }
}
