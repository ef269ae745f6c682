import { isLocalHost } from '../../connectors/http/network/private-address.ts'
import { Failure } from '../../errors.ts'
import type { SyncConnection, SyncContext } from '../../sync/context/context.ts'
import type { InTurn } from '../../system/turns.ts'
import type { Config, ConnectionConfig } from '../config/config.ts'
import type { KeyTrial } from './first-key.ts'
import type { UploadLimits } from './uploads.ts'

/** What the first connection is made with. */
export type VisitParts = {
  readonly config: Config
  readonly env: NodeJS.ProcessEnv
  readonly sync: Pick<SyncContext, 'store' | 'now' | 'events'>
  readonly toSync: (config: Config, connection: ConnectionConfig) => SyncConnection
  readonly tryKey: KeyTrial
  /** Makes the daemon reload and apply the new configuration; null: it cannot, so a person must restart it. */
  readonly takeUp: (() => void) | null
  readonly signal: AbortSignal
  readonly inTurn: InTurn
  readonly limits: UploadLimits
}

/**
 * Whether the platform itself is on this machine. The installation is then a trial, and a person at a browser may give addresses that
 * Rollcall requests. Elsewhere they could show the browser what only this machine can reach.
 */
export function isTrial({ platform }: Config): boolean {
  return isLocalHost(new URL(platform.baseUrl))
}

/** `source`: the recipe or the address. `signal`: aborted when the caller has left. */
type ReportedReading = { readonly source: string; readonly signal: AbortSignal }

/** Reads a list for a person, and logs why it could not be read, unless nobody wants it any more. */
export async function reportingFailures<T>(
  { sync }: VisitParts,
  { source, signal }: ReportedReading,
  read: () => Promise<T>,
): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof Failure && !signal.aborted)
      sync.events.firstReadingFailed({ source, code: error.code, reason: error.message })
    throw error
  }
}
