import { sql } from 'kysely'
import type { ValueDigests } from '../../identity/value-digests.ts'
import { record, rollcall } from '../../store/audit/trail.ts'
import { digestState, noteDigestKey, noteKeeping } from '../../store/retention/digest-values.ts'
import { storeRenewed } from '../../store/roster/renew.ts'
import { valueDigests } from '../../store/roster/value-digests.ts'
import { type ClaimedRun, holdsRun } from '../../store/runs/claims.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import { hasDigests, noKey } from '../context/digests.ts'
import { Overtaken } from '../context/overtaken.ts'
import { type Held, listHeld } from '../deliver/look-up.ts'
import { openEndpoint } from '../deliver/target.ts'
import { asFailure } from './read-back.ts'

/**
 * Has a run compare by digests of the present key. Digests of another key tell nothing: they are made again from what the platform holds.
 * Fails where there is no key, unless the run reads nothing that would be compared.
 */
export async function readyDigests(
  ctx: SyncContext,
  connection: SyncConnection,
  { claim, signal }: { claim: ClaimedRun; signal: AbortSignal },
): Promise<void> {
  const { db } = ctx.store
  const { name, keepValues } = connection
  await noteKeeping(db, { connection: name, keepsValues: keepValues, now: ctx.now() })
  if (!(await hasDigests(db, connection))) return
  const digests = valueDigests(db, name)
  if (digests === null) {
    const { feed, options } = claim.run
    if (feed === 'roster' && !options.verify) return
    throw noKey(name)
  }
  const { keyName } = await digestState(db, name)
  if (keyName === digests.keyName) return
  if (keyName !== null) await renewDigests(ctx, connection, { claim, digests, signal })
  else await noteDigestKey(db, name, digests.keyName)
}

/**
 * Makes the digests of a connection again, with the present key, from what the platform holds: it acknowledged the values that the former
 * ones stand for. So nobody looks changed because of the key. What was changed on the platform by hand meanwhile differs from the next
 * export, and is mended by it. Held plans rest on the former digests: an approval has them made again.
 */
async function renewDigests(
  ctx: SyncContext,
  connection: SyncConnection,
  { claim, digests, signal }: { claim: ClaimedRun; digests: ValueDigests; signal: AbortSignal },
): Promise<void> {
  const { db } = ctx.store
  const { name } = connection
  const endpoint = await openEndpoint(ctx, connection, signal)
  if ('kind' in endpoint) throw asFailure(connection, endpoint)
  let people = 0
  const stop = await listHeld(endpoint, async (identities: readonly Held[]) => {
    await db.transaction().execute(async (tx) => {
      if (!(await holdsRun(tx, claim))) throw new Overtaken()
      people += await storeRenewed(tx, { connection: name, digests, held: identities })
    })
  })
  if (stop) throw asFailure(connection, stop)
  await db.transaction().execute(async (tx) => {
    if (!(await holdsRun(tx, claim))) throw new Overtaken()
    await noteDigestKey(tx, name, digests.keyName)
    await tx
      .updateTable('runs')
      .set({ moved: 'the digests that it rests on were made again with another key' })
      .where('connection', '=', name)
      .where('state', '=', 'held')
      .where(sql<boolean>`not options ? 'retract'`)
      .execute()
    const about = { connection: name, by: rollcall, runId: claim.run.id, now: ctx.now() }
    await record(tx, { ...about, act: 'digests.renewed', details: { people, key: digests.keyName } })
  })
}
