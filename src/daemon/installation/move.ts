import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { type Database, openDatabase } from '../../database/database.ts'
import { Failure } from '../../errors.ts'
import { Signing } from '../../store/audit/key.ts'
import { lastCheckpoint } from '../../store/audit/sign.ts'
import { recordAuditEntry } from '../../store/audit/trail.ts'
import { dumpStore } from '../../store/backup/dump.ts'
import type { BackupLine } from '../../store/backup/format.ts'
import { loadStore } from '../../store/backup/load.ts'
import { countKnownPeople, installationOf, recordMoveTarget } from '../../store/connections/installation.ts'
import { migrations } from '../../store/migrations/index.ts'
import type { Db, StoreSchema } from '../../store/schema.ts'
import { version } from '../../version.ts'
import { auditKeyFor } from '../audit/service.ts'
import type { Config } from '../config/config.ts'
import { openStore } from './open-store.ts'

type MoveResult = { readonly from: string; readonly to: string; readonly people: number }

const maxBufferedLines = 4

type MoveOptions = { readonly to: string; readonly by: string; readonly now: () => Date }

/**
 * Moves the embedded store to an empty PostgreSQL, with its history and all that the platform has acknowledged. The embedded one is marked
 * as moved and then refuses to be opened. The mark is set before the other store is committed: a move that was interrupted in between is
 * simply repeated.
 */
export async function moveStore(config: Config, { to, by, now }: MoveOptions): Promise<MoveResult> {
  if (config.database)
    throw new Failure('usage', 'the configuration names a database already: only an embedded store can be moved')
  if (!/^postgres(ql)?:/.test(to)) throw new Failure('usage', '--to has to be an address that begins with postgres://')
  await using opening = new AsyncDisposableStack()
  const source = opening.use(await openStore(config, { now, mayBeMoved: true }))
  const target = opening.use(await openDatabase<StoreSchema>({ at: to, schemas: ['rollcall', 'bullmq'], migrations }))
  if ((await installationOf(target.db)) || (await countKnownPeople(target.db)) > 0)
    throw new Failure('conflict', `${target.location} holds a store already; name an empty database`)
  const people = await countKnownPeople(source.db)
  await target.db.transaction().execute(async (tx) => {
    await copyStore(source, tx, now())
    await recordMoveTarget(tx, null)
    const key = await auditKeyFor(config, await lastCheckpoint(tx))
    const details = { from: source.location, to: target.location, people }
    const signed = tx.withPlugin(new Signing(key))
    await recordAuditEntry(signed, { act: 'store.moved', connection: null, by, details, now: now() })
    await recordMoveTarget(source.db, { to: target.location, at: now() })
  })
  return { from: source.location, to: target.location, people }
}

/** Streams all rows of one store to the other. */
async function copyStore(source: Database<StoreSchema>, tx: Db, now: Date): Promise<void> {
  const lines = new PassThrough({ objectMode: true, highWaterMark: maxBufferedLines })
  const writeLine = async (line: BackupLine): Promise<void> => {
    if (!lines.write(line)) await once(lines, 'drain', { signal: ending.signal })
  }
  const ending = new AbortController()
  const dumped = dumpStore(source.db, { version, now }, writeLine).then(
    () => {
      lines.end()
    },
    (error: unknown) => {
      lines.destroy(error instanceof Error ? error : new Error(String(error)))
    },
  )
  try {
    await loadStore(tx, lines)
  } finally {
    ending.abort()
    await dumped
  }
}
