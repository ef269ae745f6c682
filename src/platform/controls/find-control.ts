import type { Kysely, Selectable } from 'kysely'
import type { ControlRef } from '../../contract/platform/controls.ts'
import { Refusal } from '../../http/refusal.ts'
import type { PlatformContext } from '../core/context.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { isStorableText } from '../core/storable-json.ts'

/** A control as stored. */
export type ControlRow = Selectable<PlatformSchema['controls']>

const codePrefix = 'code:'

type ControlPath = { readonly workspaceId: number; readonly controlId: ControlRef }

/** The control of that id or code in a workspace of the caller's account; any other is refused with 404. */
export async function findControl(
  db: Kysely<PlatformSchema>,
  ctx: PlatformContext,
  path: ControlPath,
): Promise<ControlRow> {
  const row = await controlQuery(db, ctx, path)?.executeTakeFirst()
  return row ?? refuseUnknown(path)
}

/** As `findControl`; nobody can delete the control until the transaction ends. */
export async function lockControlForShare(
  trx: Kysely<PlatformSchema>,
  ctx: PlatformContext,
  path: ControlPath,
): Promise<ControlRow> {
  const row = await controlQuery(trx, ctx, path)?.forKeyShare().executeTakeFirst()
  return row ?? refuseUnknown(path)
}

/** As `findControl`, and locks the control against other writers until the transaction ends. */
export async function lockControl(
  trx: Kysely<PlatformSchema>,
  ctx: PlatformContext,
  path: ControlPath,
): Promise<ControlRow> {
  const row = await controlQuery(trx, ctx, path)?.forNoKeyUpdate().executeTakeFirst()
  return row ?? refuseUnknown(path)
}

function controlQuery(db: Kysely<PlatformSchema>, ctx: PlatformContext, { workspaceId, controlId }: ControlPath) {
  const control = db
    .selectFrom('controls')
    .selectAll()
    .where('account_id', '=', ctx.accountId)
    .where('workspace_id', '=', workspaceId)
  if (typeof controlId === 'number') return control.where('id', '=', controlId)
  const code = controlId.slice(codePrefix.length)
  return isStorableText(code) ? control.where('code', '=', code) : undefined
}

function refuseUnknown({ workspaceId, controlId }: ControlPath): never {
  const name = typeof controlId === 'number' ? `control ${controlId}` : 'control of that code'
  throw new Refusal(404, `There is no ${name} in a workspace ${workspaceId}`)
}
