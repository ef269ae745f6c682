import { Failure } from '../../errors.ts'
import { Signing } from '../../store/audit/key.ts'
import { lastCheckpoint } from '../../store/audit/sign.ts'
import { recordAuditEntry } from '../../store/audit/trail.ts'
import { knownUntil, prepareRestored } from '../../store/backup/restored.ts'
import {
  beginInstallation,
  countKnownPeople,
  installationOf,
  recordMoveTarget,
} from '../../store/connections/installation.ts'
import { refuseOthersAtWork } from '../../store/workers/leases.ts'
import type { Events } from '../../telemetry/events.ts'
import { moveHeadAside, readHead } from '../audit/key-file.ts'
import { auditKeyFor, openAudit } from '../audit/service.ts'
import type { Config } from '../config/config.ts'
import { readMarker, writeMarker } from './marker.ts'
import { openAnyStore, openStore } from './open-store.ts'

type StoreAcceptance = {
  readonly installation: string
  /** The store that the data folder belonged to before. */
  readonly former: string | null
  /** How many people the store knows. With none, everybody in the next export is a joiner. */
  readonly people: number
}

type Options = { readonly by: string; readonly reason: string; readonly events: Events; readonly now: () => Date }

/** Accepts the current store as the one of the data folder. Throws `conflict` if it is already. */
export async function acceptStore(config: Config, { by, reason, events, now }: Options): Promise<StoreAcceptance> {
  const { dataDir } = config
  await refuseKnown(config)
  const former = (await readMarker(dataDir).catch(() => null))?.installation ?? null
  await using opening = new AsyncDisposableStack()
  const opened = opening.use(await openAnyStore(config, 'any'))
  await refuseOthersAtWork(opened.db)
  const kept = await readHead(dataDir).catch(() => null)
  const people = await countKnownPeople(opened.db)
  const head = await lastCheckpoint(opened.db)
  const { id } = (await installationOf(opened.db)) ?? (await beginInstallation(opened.db, now()))
  const signing = new Signing(await auditKeyFor(config, head))
  await opened.db.transaction().execute(async (tx) => {
    await recordMoveTarget(tx, null)
    if (people > 0) await prepareRestored(tx, { until: await knownUntil(tx), now: now() })
    const details = {
      reason,
      installation: id,
      former,
      people,
      entries: head?.ordinal ?? 0,
      ...(kept && { until: kept.ordinal, hash: kept.hash }),
    }
    await recordAuditEntry(tx.withPlugin(signing), { act: 'store.accepted', connection: null, by, details, now: now() })
  })
  await moveHeadAside(dataDir)
  await writeMarker(dataDir, { installation: id })
  // Signs the entries recorded above.
  const { audit } = await openAudit(opened, { config, events, now })
  await audit[Symbol.asyncDispose]()
  return { installation: id, former, people }
}

async function refuseKnown(config: Config): Promise<void> {
  try {
    await using _store = await openStore(config)
  } catch (error) {
    if (error instanceof Failure && error.code === 'store_lost') return
    throw error
  }
  throw new Failure('conflict', `the store is the one that belongs to ${config.dataDir}: there is nothing to accept`)
}
