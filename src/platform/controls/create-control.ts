import { type Kysely, type RawBuilder, sql } from 'kysely'
import { maxShortTextLength } from '../../contract/platform/common.ts'
import type { ControlCreate } from '../../contract/platform/controls.ts'
import { Refusal } from '../../http/refusal.ts'
import { checkCustomFields, storeCustomFields } from '../company/custom-fields.ts'
import { lockWorkspaceForShare } from '../company/workspaces.ts'
import type { PlatformContext } from '../core/context.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { recordEvent } from '../events/store-events.ts'
import { evidenceFilesOf, storeEvidenceFiles } from './evidence-files.ts'
import type { ControlRow } from './find-control.ts'

type Trx = Kysely<PlatformSchema>

/** Stores a control with its mappings, files and custom fields. Refuses a code that is taken with 400, and an unknown mapping with 404. */
export async function createControl(
  trx: Trx,
  ctx: PlatformContext,
  workspaceId: number,
  body: ControlCreate,
): Promise<ControlRow> {
  await lockWorkspaceForShare(trx, ctx.accountId, workspaceId)
  const files = await evidenceFilesOf(body, ctx.now().toISOString().slice(0, 10))
  const customFields = await checkCustomFields(trx, ctx, 'CONTROL', { submitted: body.customFields, isNew: true })
  const row = await insertControl(trx, ctx, workspaceId, body)
  await insertMappings(trx, ctx, row, body)
  await storeEvidenceFiles(trx, row, files, ctx.now())
  await storeCustomFields(trx, { entityType: 'CONTROL', entityId: row.id }, customFields)
  await recordEvent(trx, ctx, {
    type: 'CREATE_CONTROL',
    description: `Created the control ${row.code}.`,
    target: { kind: 'control', id: row.id },
    workspaceId,
  })
  return row
}

/** The name as a part of a URL, or null if it has no letter or digit that a URL allows. */
export function slugOf(name: string): string | null {
  const words =
    name
      .normalize('NFKD')
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? []
  return words.join('-').slice(0, maxShortTextLength) || null
}

async function insertControl(
  trx: Trx,
  ctx: PlatformContext,
  workspaceId: number,
  { code, name, description, question, activity }: ControlCreate,
): Promise<ControlRow> {
  const now = ctx.now()
  const row = await trx
    .insertInto('controls')
    .values({
      account_id: ctx.accountId,
      workspace_id: workspaceId,
      template_id: null,
      code,
      name,
      slug: slugOf(name),
      description,
      question: question ?? null,
      activity: activity ?? null,
      archived_at: null,
      rationale: null,
      is_enabled: true,
      ticket_status: null,
      created_at: now,
      updated_at: now,
    })
    .onConflict((conflict) => conflict.columns(['workspace_id', 'code']).doNothing())
    .returningAll()
    .executeTakeFirst()
  if (!row) throw new Refusal(400, 'code belongs to another control of this workspace')
  return row
}

async function insertMappings(
  trx: Trx,
  ctx: PlatformContext,
  { id, workspace_id }: ControlRow,
  { reportIds, policyIds, requirementIds, ownersIds, testIds }: ControlCreate,
): Promise<void> {
  const ofAccount = sql`account_id = ${ctx.accountId}`
  const ofWorkspace = sql`workspace_id = ${workspace_id}`
  const reports = sql`${ofWorkspace} and kind = 'REPORT'`
  await insertMapping(trx, id, {
    name: 'policyIds',
    ids: policyIds,
    from: 'policies',
    where: ofAccount,
    into: policyColumns,
  })
  await insertMapping(trx, id, { name: 'testIds', ids: testIds, from: 'tests', where: ofWorkspace, into: testColumns })
  await insertMapping(trx, id, {
    name: 'reportIds',
    ids: reportIds,
    from: 'evidence',
    where: reports,
    into: evidenceColumns,
  })
  await insertMapping(trx, id, {
    name: 'requirementIds',
    ids: requirementIds,
    from: 'requirements',
    where: sql`true`,
    into: requirementColumns,
  })
  await insertMapping(trx, id, {
    name: 'ownersIds',
    ids: ownersIds,
    from: 'users',
    where: ofAccount,
    into: sql`control_owners (control_id, user_id, created_at)`,
    extra: sql`, ${ctx.now()}::timestamptz`,
  })
}

const policyColumns = sql`control_policies (control_id, policy_id)`
const testColumns = sql`control_tests (control_id, test_id)`
const evidenceColumns = sql`control_evidence (control_id, evidence_id)`
const requirementColumns = sql`control_requirements (control_id, requirement_id)`

type Mapping = {
  /** The field of the request. */
  readonly name: string
  readonly ids: readonly number[] | undefined
  readonly from: keyof PlatformSchema
  readonly where: RawBuilder<unknown>
  readonly into: RawBuilder<unknown>
  readonly extra?: RawBuilder<unknown>
}

// `for key share`: nobody can delete a mapped row until the transaction ends.
async function insertMapping(
  trx: Trx,
  controlId: number,
  { name, ids = [], from, where, into, extra = sql`` }: Mapping,
): Promise<void> {
  const distinctIds = [...new Set(ids)]
  if (distinctIds.length === 0) return
  const { numAffectedRows } = await sql`
    insert into ${into}
    select ${controlId}::bigint, id${extra} from ${sql.table(from)}
    where ${where} and id = any(${distinctIds}::bigint[])
    for key share
  `.execute(trx)
  if (Number(numAffectedRows) < distinctIds.length)
    throw new Refusal(404, `${name} names something that does not exist`)
}
