import { Failure } from '../../errors.ts'
import type { SyncConnection, SyncContext } from '../../sync/context/context.ts'
import { type Preview, planReading } from '../../sync/sync.ts'
import type { Config, ConnectionConfig } from '../config/config.ts'
import { Secret } from '../config/secret.ts'

/** What a first run over a list would do, and how the end of the list was recognised; null if the source does not say. */
export type PlannedList = { readonly preview: Preview; readonly end: string | null }

/** `version`: of what was read; null: nothing was. */
type VersionedList = PlannedList & { readonly version: string | null }

/** A connection that is not written to a file yet, with the configuration that will contain it. */
type DraftedConnection = {
  readonly next: Config
  readonly connection: ConnectionConfig
  /** Secrets whose files are not written yet, by their path below the source. */
  readonly secrets: ReadonlyMap<string, string>
}

type PlanOptions = {
  readonly sync: Pick<SyncContext, 'store' | 'now'>
  readonly toSync: (config: Config, connection: ConnectionConfig) => SyncConnection
  readonly signal: AbortSignal
  /** What helps if the reading takes too long. */
  readonly help?: string
  /** How many changes of each kind are kept. Left out: only the first changes are. */
  readonly maxOfKind?: number
}

const maxReadingMs = 5 * 60_000
const withInit = 'connect it with "rollcall init" on the machine that runs Rollcall'
/** Maximum number of changes shown of a plan. */
export const maxChangesShown = 50

/** Reads the list of a connection whole, as a run would, and plans its first run. Stores and sends nothing. */
export async function planList(
  drafted: DraftedConnection,
  { sync, toSync, signal, help = withInit, maxOfKind }: PlanOptions,
): Promise<VersionedList> {
  const target = toSync(drafted.next, withSecrets(drafted))
  const { source } = target.feeds
  if (!source) throw new Error('the connection has no source')
  const kept = maxOfKind === undefined ? { maxChanges: maxChangesShown } : { maxChanges: Infinity, maxOfKind }
  const work = async (either: AbortSignal): Promise<VersionedList> => {
    const findDecided = async () => new Set<string>()
    const reading = await source.connector.open({ now: sync.now, signal: either, findDecided, isNewest: true })
    try {
      const preview = await planReading(sync, target, { reading, ...kept, signal: either })
      return { preview, end: reading.source?.end ?? null, version: reading.source?.version ?? null }
    } finally {
      await reading.close?.()
    }
  }
  return await inTime(signal, work, help)
}

/** Reads with a limit of five minutes, since somebody waits at a browser. */
export async function inTime<T>(
  signal: AbortSignal,
  read: (signal: AbortSignal) => Promise<T>,
  help = withInit,
): Promise<T> {
  const timeout = AbortSignal.timeout(maxReadingMs)
  try {
    return await read(AbortSignal.any([signal, timeout]))
  } catch (error) {
    if (!timeout.aborted || signal.aborted) throw error
    throw new Failure('source_unreachable', `reading the list takes longer than five minutes: ${help}`, {
      cause: error,
    })
  }
}

function withSecrets({ connection, secrets }: DraftedConnection): ConnectionConfig {
  if (connection.source === null) return connection
  const given = [...secrets].map(([path, text]) => [path, new Secret([{ text }])] as const)
  const source = { ...connection.source, secrets: new Map([...connection.source.secrets, ...given]) }
  return { ...connection, source }
}
