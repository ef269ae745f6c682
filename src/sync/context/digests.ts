import { Failure } from '../../errors.ts'
import type { ValueDigests } from '../../identity/value-digests.ts'
import { digestState, digestValues, noteKeeping } from '../../store/retention/digest-values.ts'
import { valueDigests } from '../../store/roster/value-digests.ts'
import type { Db } from '../../store/schema.ts'
import type { SyncConnection, SyncContext } from './context.ts'

/** What makes the digests that stand for values; null where values are kept. */
export function digestsOf(db: Db, { name, keepValues }: SyncConnection): ValueDigests | null {
  return keepValues ? null : valueDigests(db, name)
}

/** Whether values of the connection may be known by digests only, if none are made of them now. */
export async function hasDigests(db: Db, { name, keepValues }: SyncConnection): Promise<boolean> {
  return !keepValues || (await digestState(db, name)).since !== null
}

/** Whether what is known can be compared: it holds no digests, or the key that made them is there. */
export async function canCompare(db: Db, connection: string): Promise<boolean> {
  const { since, keyName } = await digestState(db, connection)
  return since === null || keyName === null || keyName === valueDigests(db, connection)?.keyName
}

/** Refuses to look at a plan that cannot be compared with what is known. */
export async function requireDigests(db: Db, connection: SyncConnection): Promise<void> {
  if (!(await hasDigests(db, connection))) return
  const digests = valueDigests(db, connection.name)
  if (digests === null) throw noKey(connection.name)
  const { keyName } = await digestState(db, connection.name)
  if (keyName !== null && keyName !== digests.keyName)
    throw new Failure(
      'conflict',
      `the digests of "${connection.name}" were made with another key: the next run makes them again from what the platform holds`,
    )
}

export function noKey(connection: string): Failure {
  return new Failure(
    'config_invalid',
    `"${connection}" keeps digests in place of values, and the key that makes them is not there: put audit-key.pem back, or say "rollcall audit new-key"`,
  )
}

/** Puts digests in the place of values that the platform has acknowledged, if the connection keeps none. */
export async function digestAnswered(
  { store: { db }, now }: Pick<SyncContext, 'store' | 'now'>,
  connection: SyncConnection | undefined,
): Promise<void> {
  if (!connection || connection.keepValues) return
  await noteKeeping(db, { connection: connection.name, keepsValues: false, now: now() })
  await digestValues(db, { connection: connection.name }, now())
}
