import type { Kysely, Selectable } from 'kysely'
import type { ControlRef } from '../../contract/platform/controls.ts'
import { Refusal } from '../../http/refusal.ts'
import type { PlatformContext } from '../core/context.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { isStorableText } from '../core/storable-json.ts'

export type ControlRow = Selectable<PlatformSchema['controls']>

const codePrefix = 'code:'

type ControlAddress = { readonly workspaceId: number; readonly controlId: ControlRef }

/** The caller's control in that workspace; refuses one that is not there, and one of another account alike. */
export async function findControl(
  db: Kysely<PlatformSchema>,
  ctx: PlatformContext,
  address: ControlAddress,
): Promise<ControlRow> {
  const row = await controlAt(db, ctx, address)?.executeTakeFirst()
  return row ?? refuseUnknown(address)
}

/** As `findControl`, and keeps the control from being deleted until the transaction ends. */
export async function lockControlForShare(
  trx: Kysely<PlatformSchema>,
  ctx: PlatformContext,
  address: ControlAddress,
): Promise<ControlRow> {
  const row = await controlAt(trx, ctx, address)?.forKeyShare().executeTakeFirst()
  return row ?? refuseUnknown(address)
}

/** As `findControl`, and locks the control against other writers until the transaction ends. */
export async function lockControl(
  trx: Kysely<PlatformSchema>,
  ctx: PlatformContext,
  address: ControlAddress,
): Promise<ControlRow> {
  const row = await controlAt(trx, ctx, address)?.forNoKeyUpdate().executeTakeFirst()
  return row ?? refuseUnknown(address)
}

function controlAt(db: Kysely<PlatformSchema>, ctx: PlatformContext, { workspaceId, controlId }: ControlAddress) {
  const control = db
    .selectFrom('controls')
    .selectAll()
    .where('account_id', '=', ctx.accountId)
    .where('workspace_id', '=', workspaceId)
  if (typeof controlId === 'number') return control.where('id', '=', controlId)
  const code = controlId.slice(codePrefix.length)
  return isStorableText(code) ? control.where('code', '=', code) : undefined
}

function refuseUnknown({ workspaceId, controlId }: ControlAddress): never {
  const name = typeof controlId === 'number' ? `control ${controlId}` : 'control of that code'
  throw new Refusal(404, `There is no ${name} in a workspace ${workspaceId}`)
}
