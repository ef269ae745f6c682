import type { Caller } from '../../contract/control/access.ts'
import { type Act, recordAuditEntry } from '../../store/audit/trail.ts'
import type { Db } from '../../store/schema.ts'

/** What a caller did that changes nothing: what it asked for, and whom or what that concerns. */
type Deed = {
  readonly act: Extract<Act, 'access.refused' | 'values.seen'>
  readonly operation: string
  readonly connection?: string
  readonly runId?: string
  readonly identityId?: string
}

const minuteMs = 60_000
/** Deeds that are remembered, of each store. With more in a minute, some are told twice. */
const mostRemembered = 10_000
const told = new WeakMap<Db, Map<string, number>>()

/** Tells the audit trail of a deed; the same one of the same caller at most once a minute in each process, so that it is not flooded. */
export async function recordAccess(
  db: Db,
  { name, role, principal }: Caller,
  { act, operation, connection, runId, identityId }: Deed,
  now: Date,
): Promise<void> {
  const known = told.get(db) ?? new Map<string, number>()
  told.set(db, known)
  const key = JSON.stringify([principal, name, act, operation, connection, runId, identityId])
  // A time ahead of now comes from a clock that has been set back since.
  const agoMs = now.getTime() - (known.get(key) ?? Number.NEGATIVE_INFINITY)
  if (agoMs >= 0 && agoMs < minuteMs) return
  if (known.size >= mostRemembered) known.clear()
  const about = { connection: connection ?? null, ...(runId && { runId }), ...(identityId && { identityId }) }
  await recordAuditEntry(db, { act, ...about, by: name, details: { operation, role, principal }, now })
  known.set(key, now.getTime())
}
