import type { Caller } from '../../contract/control/access.ts'
import { type Act, recordAuditEntry } from '../../store/audit/trail.ts'
import type { Db } from '../../store/schema.ts'

/** An access to record: a refused operation, or personal values that were shown. */
type AccessRecord = {
  readonly act: Extract<Act, 'access.refused' | 'values.seen'>
  readonly operation: string
  readonly connection?: string
  readonly runId?: string
  readonly identityId?: string
}

const minuteMs = 60_000
/** Maximum number of accesses remembered for each store. Then all are forgotten, and some may be recorded again within their minute. */
const maxRemembered = 10_000
/** When each access was recorded last. */
const recordedAt = new WeakMap<Db, Map<string, number>>()

/**
 * Records an access in the audit trail, the same one of the same caller once a minute in each process. Equal accesses at the same time may each be
 * recorded.
 */
export async function recordAccess(
  db: Db,
  { name, role, principal }: Caller,
  { act, operation, connection, runId, identityId }: AccessRecord,
  now: Date,
): Promise<void> {
  const known = recordedAt.get(db) ?? new Map<string, number>()
  recordedAt.set(db, known)
  const key = JSON.stringify([principal, name, act, operation, connection, runId, identityId])
  // A negative age means that the clock was set back.
  const agoMs = now.getTime() - (known.get(key) ?? Number.NEGATIVE_INFINITY)
  if (agoMs >= 0 && agoMs < minuteMs) return
  if (known.size >= maxRemembered) known.clear()
  const about = { connection: connection ?? null, ...(runId && { runId }), ...(identityId && { identityId }) }
  await recordAuditEntry(db, { act, ...about, by: name, details: { operation, role, principal }, now })
  known.set(key, now.getTime())
}
