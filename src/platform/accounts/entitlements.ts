import type { Kysely } from 'kysely'
import type { PlatformSchema } from '../core/schema.ts'
import { operatorWith, storeEvent } from '../events/events.ts'

type Features = {
  readonly accountId: number
  readonly names: readonly string[]
  /** The command that the operator used. */
  readonly command: string
  readonly now: Date
}

/** Adds features by the account's number, in the transaction of the caller. */
export async function addEntitlements(
  trx: Kysely<PlatformSchema>,
  { accountId, names, command, now }: Features,
): Promise<void> {
  if (names.length === 0) return
  const granted = await trx
    .insertInto('entitlements')
    .values([...new Set(names)].sort().map((name) => ({ account_id: accountId, name })))
    .onConflict((conflict) => conflict.doNothing())
    .returning('name')
    .execute()
  for (const { name } of granted) {
    await storeEvent(
      trx,
      { accountId, actor: operatorWith(command), at: now },
      {
        type: 'ENTITLEMENT_ENABLED',
        description: `${name} was added to the plan`,
        target: { kind: 'entitlement', id: name },
      },
    )
  }
}

/** Takes features away by the account's number. */
export async function dropEntitlements(
  trx: Kysely<PlatformSchema>,
  { accountId, names, command, now }: Features,
): Promise<void> {
  if (names.length === 0) return
  const revoked = await trx
    .deleteFrom('entitlements')
    .where('account_id', '=', accountId)
    .where('name', 'in', names)
    .returning('name')
    .execute()
  for (const { name } of revoked) {
    await storeEvent(
      trx,
      { accountId, actor: operatorWith(command), at: now },
      {
        type: 'ENTITLEMENT_DISABLED',
        description: `${name} was taken from the plan`,
        target: { kind: 'entitlement', id: name },
      },
    )
  }
}
