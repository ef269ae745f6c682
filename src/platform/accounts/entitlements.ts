import { type Kysely, sql } from 'kysely'
import { addRows } from '../core/add-rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { operatorActor, storeEvent } from '../events/store-events.ts'

type Features = {
  readonly accountId: number
  readonly names: readonly string[]
  /** The command of the operator, for the event. */
  readonly command: string
  readonly now: Date
}

/** Adds features to the plan of an account, and records each that is new. */
export async function addEntitlements(
  trx: Kysely<PlatformSchema>,
  { accountId, names, command, now }: Features,
): Promise<void> {
  const rows = [...new Set(names)].sort().map((name) => ({ account_id: accountId, name }))
  const granted = await addRows(trx, 'entitlements', rows)
  for (const { name } of granted) {
    await storeEvent(
      trx,
      { accountId, actor: operatorActor(command), at: now },
      {
        type: 'ENTITLEMENT_ENABLED',
        description: `${name} was added to the plan`,
        target: { kind: 'entitlement', id: name },
      },
    )
  }
}

/** Removes features from the plan of an account, and records each that was there. */
export async function removeEntitlements(
  trx: Kysely<PlatformSchema>,
  { accountId, names, command, now }: Features,
): Promise<void> {
  const revoked = await trx
    .deleteFrom('entitlements')
    .where('account_id', '=', accountId)
    .where(sql<boolean>`name = any(${names}::text[])`)
    .returning('name')
    .execute()
  for (const { name } of revoked) {
    await storeEvent(
      trx,
      { accountId, actor: operatorActor(command), at: now },
      {
        type: 'ENTITLEMENT_DISABLED',
        description: `${name} was taken from the plan`,
        target: { kind: 'entitlement', id: name },
      },
    )
  }
}
