import { createPrivateKey } from 'node:crypto'
import { sql } from 'kysely'
import type { Connector } from '../../src/connectors/connector.ts'
import { readFilteredRows, readRows } from '../../src/connectors/csv/rows.ts'
import { ExportFormat } from '../../src/connectors/file/format.ts'
import { auditKey, Signing } from '../../src/store/audit/key.ts'
import type { Run } from '../../src/store/runs/runs.ts'
import { webhookFeed } from './events.ts'
import { type Host, headers, openWorld, type World } from './world.ts'

/** An export as HR puts it where the source looks. */
export type Shown = { text: string; asOf: string; delimiter: string; chunkBytes: number }

/** How many records stand in one stretch depends on the key, and with it what a story of a seed comes to. */
const sameKey = auditKey(
  createPrivateKey({
    key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, 7)]),
    format: 'der',
    type: 'pkcs8',
  })
    .export({ type: 'pkcs8', format: 'pem' })
    .toString(),
  'a test',
)

/**
 * A world whose exports are files. `isSparing`: the change filter skips unchanged rows. `sampleSize`: how many
 * people checks look at, so that small exports behave like large ones.
 */
export async function openFileWorld(
  host: Host,
  { isSparing, at, sampleSize = 3 }: { isSparing: boolean; at?: string; sampleSize?: number },
) {
  const { client } = await host.tenant()
  const shown: Shown = { text: '', asOf: '', delimiter: ',', chunkBytes: 200 }
  const skipped = { total: 0, inRanges: 0 }
  const world = await openWorld({
    client,
    ...(at !== undefined && { at }),
    feed: { connector: connectorOf(shown, { isSparing, skipped }) },
    webhook: webhookFeed(),
    signing: new Signing(sameKey),
  })
  Object.assign(world.sync, { indexing: { version: '1', sampleSize } })
  return { world, client, shown, skipped, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

export type FileWorld = Awaited<ReturnType<typeof openFileWorld>>

function connectorOf(
  shown: Shown,
  { isSparing, skipped }: { isSparing: boolean; skipped: { total: number; inRanges: number } },
): Connector {
  return {
    open: async () => {
      const { text, asOf, delimiter, chunkBytes } = shown
      const bytes = Buffer.from(text)
      const format = ExportFormat.parse({ delimiter })
      const options = { name: 'people.csv', format, width: headers.length, warn: () => undefined, rowsPerSlice: 1 }
      async function* chunks() {
        for (let start = 0; start < bytes.length; start += chunkBytes) yield bytes.subarray(start, start + chunkBytes)
      }
      return {
        mode: 'snapshot',
        asOf,
        source: { name: 'people.csv', bytes: bytes.length, version: asOf },
        headers,
        rows: { [Symbol.asyncIterator]: () => readRows(chunks(), options) },
        ...(isSparing && {
          filterable: {
            dialect: delimiter,
            rows: (filter) =>
              readFilteredRows(chunks(), options, {
                ...filter,
                skipRange(...range) {
                  const stretch = filter.skipRange(...range)
                  skipped.total += stretch?.records ?? 0
                  skipped.inRanges += stretch?.records ?? 0
                  return stretch
                },
                shouldSkip(record) {
                  const isSkipped = filter.shouldSkip(record)
                  if (isSkipped) skipped.total += 1
                  return isSkipped
                },
              }),
          },
        }),
      }
    },
  }
}

/** The result of a run and of the store: everything that must not depend on the change filter. */
export async function outcomeOf({ sync }: World, run: Run) {
  const { db } = sync.store
  const rows = async (text: string, run_id = run.id) => {
    const { rows: result } = await sql<object>`${sql.raw(text.replaceAll(':run', `'${run_id}'`))}`.execute(db)
    return result
  }
  const anonymous = (text: string | null) => text?.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'RUN') ?? null
  return {
    state: run.state,
    reason: anonymous(run.reason),
    counts: run.counts,
    guards: run.guards,
    warnings: run.warnings,
    plan: await rows(
      'select mode, as_of, rows, records, fields, end_keys, people_counts, known_people, digest, blocked_people from runs where id = :run',
    ),
    changes: await rows(`
      select identity_id, kind, record, fields, inferred, carried, origin, state, batch from changes where run_id = :run order by 1`),
    entries: await rows(`
      select identity_id, desired, inferred, deferred_to, absences, as_of from plan_entries where run_id = :run order by 1`),
    rejects: await rows(`
      select line, column_name, reason, identity_id, cell_only, may_leave, fingerprint, unlisted from rejects
      where run_id = :run order by seq`),
    knownFaults: await rows(`
      select fingerprint, identity_id, line, reason, times, accepted_times, is_blocking from known_faults order by 1`),
    roster: await rows('select * from roster order by identity_id'),
    outOfSync: await rows('select identity_id, confirmed from out_of_sync order by 1'),
    leavers: await rows(`
      select identity_id, effective_on, inferred, stated_at, first_seen_at, accepted_at, ended_as from leavers order by 1, 2, 4`),
    connection: await rows(
      'select accepted_as_of, accepted_fields, accepted_rows, accepted_end, exports_accepted from connections',
    ),
  }
}
