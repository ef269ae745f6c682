import { Readable } from 'node:stream'
import type { TrailEntry, UnsignedEntries } from '../../contract/control/trail.ts'
import { escapeJson } from '../../text/escape.ts'
import { csvLine } from '../../web/csv.ts'
import type { Control } from '../site/control.ts'
import type { Site } from '../site/site.ts'
import { type AuditFilter, auditFilter, auditQuery } from './audit-filter.ts'

/** Maximum number of entries in a file; it says so when more match. */
export const maxFileEntries = 100_000
const perRead = 1000

type Part = {
  readonly entries: readonly TrailEntry[]
  readonly isCut: boolean
  readonly unsigned: UnsignedEntries | null
}
type AuditPage = {
  readonly data: TrailEntry[]
  readonly next: string | null
  readonly unsigned: UnsignedEntries | null
}

/** The forms of a file with audit entries, by the end of its name. */
const formats = {
  csv: { type: 'text/csv; charset=utf-8', write: writeCsv },
  json: { type: 'application/json; charset=utf-8', write: writeJson },
} as const

/** Adds the files with the filtered entries, which are written while the trail is read. */
export function auditFiles(site: Site, maxEntries = maxFileEntries): void {
  for (const [format, { type, write }] of Object.entries(formats)) {
    site.file(`/audit/entries.${format}`, async ({ control, now }, fields) => {
      const parts = entriesIn(control, auditFilter(fields), maxEntries)
      // What is wrong with the filter is answered before the file begins.
      const first = await parts.next()
      const content = Readable.from(write(withFirst(first, parts)))
      return { name: `audit-${now.toISOString().slice(0, 'yyyy-mm-dd'.length)}.${format}`, type, content }
    })
  }
}

async function* entriesIn(control: Control, filter: AuditFilter, maxEntries: number): AsyncGenerator<Part> {
  const query = auditQuery(filter)
  let remaining = maxEntries
  for (let after: string | null = ''; after !== null; ) {
    // One more than the file takes shows whether it is cut.
    const limit = Math.min(perRead, remaining + 1)
    const page: AuditPage = await control.readAudit({
      query: { ...query, ...(after && { after }), limit },
    })
    const isCut = page.data.length > remaining
    yield { entries: page.data.slice(0, remaining), isCut, unsigned: after === '' ? page.unsigned : null }
    remaining -= page.data.length
    after = isCut ? null : page.next
  }
}

async function* withFirst<T>(first: IteratorResult<T, unknown>, others: AsyncGenerator<T>): AsyncGenerator<T> {
  if (!first.done) yield first.value
  yield* others
}

const columns = ['entry', 'at', 'act', 'by', 'connection', 'run', 'person', 'details']

async function* writeCsv(parts: AsyncIterable<Part>): AsyncGenerator<string> {
  // Without a byte order mark, Excel takes UTF-8 for another encoding.
  yield `\ufeff${csvLine(columns)}`
  for await (const { entries, isCut, unsigned } of parts) {
    if (unsigned !== null)
      yield csvLine([null, null, `${unsigned.entries} newer entries are not signed and not in this file`])
    yield entries.map(csvOf).join('')
    if (isCut) yield csvLine([null, null, 'older entries match too and are not in this file'])
  }
}

function csvOf({ ordinal, at, act, by, connection, runId, identityId, details }: TrailEntry): string {
  return csvLine([ordinal, at, act, by, connection, runId, identityId, JSON.stringify(details)])
}

async function* writeJson(parts: AsyncIterable<Part>): AsyncGenerator<string> {
  let isComplete = true
  let missing: UnsignedEntries | null = null
  let separator = '{"entries":[\n'
  for await (const { entries, isCut, unsigned } of parts) {
    isComplete &&= !isCut && unsigned === null
    missing ??= unsigned
    for (const entry of entries) {
      yield `${separator}${escapeJson(JSON.stringify(entry))}`
      separator = ',\n'
    }
  }
  yield `${separator.startsWith('{') ? separator : '\n'}],"isComplete":${isComplete}${missing === null ? '' : `,"unsigned":${JSON.stringify(missing)}`}}\n`
}
