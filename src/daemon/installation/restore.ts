import { basename } from 'node:path'
import type { Database } from '../../database/database.ts'
import { Failure } from '../../errors.ts'
import { pluralizePeople } from '../../identity/pluralize.ts'
import { Signing } from '../../store/audit/key.ts'
import { lastCheckpoint } from '../../store/audit/sign.ts'
import { recordAuditEntry } from '../../store/audit/trail.ts'
import { type BackupSize, checkBackup, readBackup } from '../../store/backup/file.ts'
import type { BackupHeader } from '../../store/backup/format.ts'
import { loadStore, refuseOtherVersion } from '../../store/backup/load.ts'
import { prepareRestored } from '../../store/backup/restored.ts'
import { countKnownPeople, recordMoveTarget } from '../../store/connections/installation.ts'
import type { StoreSchema } from '../../store/schema.ts'
import type { Events } from '../../telemetry/events.ts'
import { moveHeadAside, readHead } from '../audit/key-file.ts'
import { auditKeyFor, openAudit } from '../audit/service.ts'
import type { Config } from '../config/config.ts'
import { readMarker, writeMarker } from './marker.ts'
import { ensureDataDir, openAnyStore } from './open-store.ts'

/** A request to restore a backup. */
export type RestoreRequest = {
  readonly file: string
  /** Whether a store that knows people may be replaced, and one that cannot be opened be moved aside. */
  readonly replace: boolean
  readonly by: string
  readonly reason: string
}

/** The result of a restoration. */
type RestoreResult = {
  readonly file: string
  readonly madeAt: string
  readonly rows: number
  readonly people: number
  /** Runs that were unfinished at the time of the backup, and were ended. */
  readonly runsEnded: number
  /** Entries of the audit trail that were signed here after the backup; null: unknown here. */
  readonly entriesLost: number | null
}

/** Checks whether a backup can be restored here, without changing anything. */
export async function checkRestore(
  config: Config,
  { file }: Pick<RestoreRequest, 'file'>,
): Promise<{ readonly header: BackupHeader; readonly size: BackupSize }> {
  const checked = await checkBackup(file)
  refuseOtherVersion(checked.header, file)
  const { dataDir } = config
  const marker = await readMarker(dataDir)
  if (marker !== null && marker.installation !== checked.header.installation)
    throw new Failure(
      'conflict',
      `${file} is a backup of another installation than ${dataDir} belongs to; if it is meant, remove ${dataDir}/store.json first`,
    )
  return checked
}

/** Refuses to replace a store that knows people, unless requested. */
export function refuseReplacing(people: number, { replace }: Pick<RestoreRequest, 'replace'>): void {
  if (people > 0 && !replace)
    throw new Failure(
      'conflict',
      `the store knows ${pluralizePeople(people)}, whom the backup would replace; repeat with --replace`,
    )
}

/**
 * Restores the store from a backup, in one transaction. No process works on the store meanwhile. The next start learns from the platform
 * what happened after the backup, before it plans anything.
 */
export async function restoreStore(
  config: Config,
  request: RestoreRequest,
  { events, now }: { events: Events; now: () => Date },
): Promise<RestoreResult> {
  const { dataDir } = config
  await ensureDataDir(dataDir)
  const { header, size } = await checkRestore(config, request)
  await using opening = new AsyncDisposableStack()
  const opened = opening.use(await openReplaceable(config, request))
  refuseReplacing(await countKnownPeople(opened.db), request)
  const kept = await readHead(dataDir).catch(() => null)
  const restored = await opened.db.transaction().execute(async (tx): Promise<RestoreResult> => {
    await loadStore(tx, readBackup(request.file))
    await recordMoveTarget(tx, null)
    const runsEnded = await prepareRestored(tx, { until: new Date(header.madeAt), now: now() })
    const head = await lastCheckpoint(tx)
    const entries = head?.ordinal ?? 0
    const entriesLost = kept && Math.max(0, kept.ordinal - entries)
    const { file, by, reason } = request
    const { rows, people, sha256 } = size
    const backup = { file: basename(file), madeAt: header.madeAt, sha256, rows, people, runsEnded }
    const details = {
      reason,
      ...backup,
      entries,
      lost: entriesLost,
      ...(kept && { until: kept.ordinal, hash: kept.hash }),
    }
    const signing = new Signing(await auditKeyFor(config, head))
    await recordAuditEntry(tx.withPlugin(signing), { act: 'store.restored', connection: null, by, details, now: now() })
    return { file, madeAt: header.madeAt, rows, people, runsEnded, entriesLost }
  })
  // Only now: if the store could not be restored, the head of its trail must not be lost.
  await moveHeadAside(dataDir)
  await writeMarker(dataDir, { installation: header.installation })
  // Signs the entries recorded above.
  const { audit } = await openAudit(opened, { config, events, now })
  await audit[Symbol.asyncDispose]()
  return restored
}

/** Opens the store that is to be replaced; one that cannot be opened is moved aside if requested. */
async function openReplaceable(config: Config, { replace }: RestoreRequest): Promise<Database<StoreSchema>> {
  try {
    return await openAnyStore(config, 'any')
  } catch (error) {
    const isBroken =
      error instanceof Failure && (error.code === 'store_damaged' || error.code === 'database_unreachable')
    if (!isBroken || !replace || config.database) throw error
    return await openAnyStore(config, 'aside')
  }
}
