import { type Kysely, type Selectable, sql } from 'kysely'
import type { AssignedPolicy, assignedPolicies, PolicyAcceptance } from '../../contract/platform/assigned-policies.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { lockPeople, refreshCompliance } from '../compliance/refresh-compliance.ts'
import type { PlatformContext } from '../core/context.ts'
import { replyWithPage } from '../core/pages.ts'
import { presentRows } from '../core/present-rows.ts'
import { anyOf, changedAt, presentTimes } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { recordEvent } from '../events/store-events.ts'
import { findUser } from './users.ts'

type Row = Selectable<PlatformSchema['assigned_policies']>
type Version = {
  readonly version: Selectable<PlatformSchema['policy_versions']>
  readonly policy: Selectable<PlatformSchema['policies']>
}

/** The handlers of the operations on the policies that are assigned to users. */
export const assignedPolicyHandlers: Handlers<typeof assignedPolicies, PlatformContext> = {
  async listAssignedPolicies(ctx, { params, query }) {
    const { id } = await requireUser(ctx, params.userId)
    return replyWithPage(ctx, {
      table: 'assigned_policies',
      where: sql`user_id = ${id} and is_assigned`,
      filter: { id },
      query,
      present: (rows) => present(ctx, rows, query['expand[]']),
    })
  },

  async acknowledgePolicy(ctx, { params, body }) {
    refuseOtherYears(body.acceptedAt, ctx.now())
    const user = await requireUser(ctx, params.userId)
    const row = await ctx.db
      .transaction()
      .execute((trx) => acknowledge(trx, ctx, { userId: user.id, policyId: params.policyId, ...body }))
    const [accepted = refuseUnknown()] = await present(ctx, [row])
    return { status: 201, body: accepted }
  },
}

function refuseOtherYears(acceptedAt: string, now: Date): void {
  const moment = Temporal.Instant.from(acceptedAt)
  const yearAgo = now.toTemporalInstant().toZonedDateTimeISO('UTC').subtract({ years: 1 }).toInstant()
  if (Temporal.Instant.compare(moment, yearAgo) < 0 || moment.epochMilliseconds > now.getTime())
    throw new Refusal(400, 'acceptedAt must lie within the last year')
}

type Acceptance = PolicyAcceptance & { readonly userId: number; readonly policyId: number }

async function acknowledge(
  trx: Kysely<PlatformSchema>,
  ctx: PlatformContext,
  { userId, policyId, acceptedAt, details }: Acceptance,
): Promise<Row> {
  const people = await trx.selectFrom('personnel').select('id').where('user_id', '=', userId).execute()
  const person = { accountId: ctx.accountId, personnelIds: people.map(({ id }) => id) }
  await lockPeople(trx, person)
  const assigned = trx.selectFrom('assigned_policies').selectAll().where('user_id', '=', userId)
  const row = await assigned.where('policy_id', '=', policyId).where('is_assigned', '=', true).executeTakeFirst()
  if (!row) return refuseUnknown()
  if (row.accepted_at) throw new Refusal(409, 'The user has acknowledged this version of the policy already')
  const accepted = await trx
    .updateTable('assigned_policies')
    .set({ accepted_at: acceptedAt, source_type: 'PUBLIC_API', details: details ?? null, ...changedAt(ctx.now()) })
    .where('id', '=', row.id)
    .returningAll()
    .executeTakeFirstOrThrow()
  await refreshCompliance(trx, { ...person, at: ctx.now() })
  await recordEvent(trx, ctx, {
    type: 'USER_POLICY_ACCEPTED',
    description: `User ${userId} acknowledged policy ${policyId}`,
    target: { kind: 'policy', id: policyId },
    targets: { kind: 'user', ids: [userId] },
  })
  return accepted
}

async function requireUser(ctx: PlatformContext, reference: Parameters<typeof findUser>[1]) {
  const user = await findUser(ctx, reference)
  if (!user) throw new Refusal(404, 'There is no such user')
  return user
}

async function present({ db }: PlatformContext, rows: readonly Row[], expand?: readonly string[]) {
  const versions = await versionsOf(db, rows, expand)
  const loaders = {
    policy: async () => (row: Row) => presentPolicy(versions.get(row.policy_version_id)),
    policyVersion: async () => (row: Row) => presentVersion(versions.get(row.policy_version_id)),
  }
  return presentRows(rows, { present: presentRow, expand, loaders })
}

/** The versions with their policies, if the response shows any of them. */
async function versionsOf(
  db: Kysely<PlatformSchema>,
  rows: readonly Row[],
  expand: readonly string[] = [],
): Promise<ReadonlyMap<number, Version>> {
  if (expand.length === 0) return new Map()
  const versions = await db
    .selectFrom('policy_versions')
    .selectAll()
    .where('id', '=', anyOf(rows.map((row) => row.policy_version_id)))
    .execute()
  const policies = await db
    .selectFrom('policies')
    .selectAll()
    .where('id', '=', anyOf(rows.map((row) => row.policy_id)))
    .execute()
  const byId = new Map(policies.map((policy) => [policy.id, policy]))
  return new Map(
    versions.flatMap((version) => {
      const policy = byId.get(version.policy_id)
      return policy ? [[version.id, { version, policy }]] : []
    }),
  )
}

function presentRow(row: Row): AssignedPolicy {
  return {
    id: row.id,
    acceptedAt: row.accepted_at?.toISOString() ?? null,
    sourceType: row.source_type,
    details: row.details,
    policyId: row.policy_id,
    policyVersionId: row.policy_version_id,
    ...presentTimes(row),
  }
}

function presentPolicy(assigned: Version | undefined): AssignedPolicy['policy'] {
  if (!assigned) return undefined
  const { policy, version } = assigned
  return {
    id: policy.id,
    name: policy.name,
    description: policy.description,
    assignedTo: policy.assigned_to,
    policyStatus: 'ACTIVE',
    renewalDate: version.renewal_date,
    ...presentTimes(policy),
  }
}

// Only current versions are assigned. A version is approved and published when the seed adds it.
function presentVersion(assigned: Version | undefined): AssignedPolicy['policyVersion'] {
  if (!assigned) return undefined
  const { version } = assigned
  const times = presentTimes(version)
  return {
    id: version.id,
    version: version.version,
    subVersion: 0,
    current: true,
    type: 'EXTERNAL',
    renewalDate: version.renewal_date,
    description: null,
    approvedAt: times.createdAt,
    changesExplanation: null,
    publishedAt: times.createdAt,
    requiresAcknowledgment: version.requires_acknowledgment,
    ...times,
  }
}

function refuseUnknown(): never {
  throw new Refusal(404, 'No such policy is assigned to the user')
}
