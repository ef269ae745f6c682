import { type Kysely, sql } from 'kysely'
import type { FrameworkTag, UserCompact } from '../../contract/platform/common.ts'
import type { TrustServiceCriterion } from '../../contract/platform/control-classes.ts'
import type {
  ControlEvidenceIds,
  ControlExpand,
  ControlFlags,
  ControlRequirement,
  ControlTestIds,
} from '../../contract/platform/controls.ts'
import { customFieldsOf } from '../company/custom-fields.ts'
import { compactUsers } from '../core/compact.ts'
import type { PlatformContext } from '../core/context.ts'
import { listById } from '../core/present-rows.ts'
import { anyOf, groupRows, presentTimes } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { controlFlags } from './filters.ts'
import type { ControlRow } from './find-control.ts'

type Db = Kysely<PlatformSchema>

const maxOwners = 10

/** The loaders of the expansions of these controls on a day, for `presentRows`. */
export function controlLoaders(ctx: PlatformContext, rows: readonly ControlRow[], day: string) {
  const ids = rows.map(({ id }) => id)
  return {
    customFields: async () => listById(await customFieldsOf(ctx, 'CONTROL', rows)),
    flags: async () => valueById(await flagsOf(ctx.db, ids, day), noFlags),
    frameworkTags: async () => listById(await frameworkTagsOf(ctx.db, ids)),
    topics: async () => {
      const topics = await topicsOf(ctx.db, rows)
      return ({ template_id }: ControlRow) => topics.get(template_id) ?? []
    },
    owners: async () => valueById(await ownersOf(ctx, ids), { data: [], totalCount: 0 }),
    requirements: async () => listById(await requirementsOf(ctx.db, ids)),
    testIds: async () => valueById(await testIdsOf(ctx.db, ids), { passing: [], failing: [], monitored: [] }),
    evidenceIds: async () => valueById(await evidenceIdsOf(ctx.db, ids, day), noEvidence),
  }
}

/** The requested expansions with both kinds of proofs if one of them is requested, as the contract has it. */
export function withProofs(expand: readonly ControlExpand[] = []): readonly ControlExpand[] {
  const isWithProofs = expand.includes('testIds') || expand.includes('evidenceIds')
  return isWithProofs ? [...expand, 'testIds', 'evidenceIds'] : expand
}

function valueById<Value>(values: ReadonlyMap<number, Value>, missing: Value): (row: ControlRow) => Value {
  return ({ id }) => values.get(id) ?? missing
}

const noFlags: ControlFlags = {
  hasEvidence: false,
  hasPolicy: false,
  isReady: false,
  hasTicket: false,
  hasOwner: false,
  isMonitored: false,
}

const noEvidence: ControlEvidenceIds = {
  validExternalEvidenceIds: [],
  invalidExternalEvidenceIds: [],
  validReportIds: [],
  invalidReportIds: [],
}

async function flagsOf(db: Db, ids: readonly number[], day: string): Promise<ReadonlyMap<number, ControlFlags>> {
  const flags = controlFlags(day)
  const { rows } = await sql<ControlFlags & { id: number }>`
    select id, ${flags.hasEvidence} as "hasEvidence", ${flags.hasPolicy} as "hasPolicy", ${flags.isReady} as "isReady",
      ${flags.hasTicket} as "hasTicket", ${flags.hasOwner} as "hasOwner", ${flags.isMonitored} as "isMonitored"
    from controls where id = any(${ids}::bigint[])
  `.execute(db)
  return new Map(rows.map(({ id, ...row }) => [id, row]))
}

async function frameworkTagsOf(db: Db, ids: readonly number[]): Promise<ReadonlyMap<number, FrameworkTag[]>> {
  const { rows } = await sql<{ control_id: number; tags: FrameworkTag[] }>`
    select mapped.control_id, array_agg(distinct frameworks.tag order by frameworks.tag) as tags
    from control_requirements as mapped
    join controls on controls.id = mapped.control_id
    join requirements on requirements.id = mapped.requirement_id
    join workspace_frameworks as enabled
      on enabled.workspace_id = controls.workspace_id and enabled.framework_id = requirements.framework_id
    join frameworks on frameworks.id = requirements.framework_id
    where mapped.control_id = any(${ids}::bigint[])
    group by mapped.control_id
  `.execute(db)
  return new Map(rows.map((row) => [row.control_id, row.tags]))
}

async function topicsOf(
  db: Db,
  rows: readonly ControlRow[],
): Promise<ReadonlyMap<number | null, TrustServiceCriterion[]>> {
  const templates = await db
    .selectFrom('control_templates')
    .select(['id', 'topics'])
    .where('id', '=', anyOf(rows.map((row) => row.template_id)))
    .execute()
  return new Map(templates.map(({ id, topics }) => [id, topics]))
}

async function ownersOf(
  ctx: PlatformContext,
  ids: readonly number[],
): Promise<ReadonlyMap<number, { data: UserCompact[]; totalCount: number }>> {
  const { rows } = await sql<{ control_id: number; user_id: number; total: number }>`
    select control_id, user_id, total
    from (
      select control_id, user_id, count(*) over (partition by control_id)::int as total,
        row_number() over (partition by control_id order by created_at, user_id) as rank
      from control_owners where control_id = any(${ids}::bigint[])
    ) as ranked
    where rank <= ${maxOwners}
    order by control_id, rank
  `.execute(ctx.db)
  const users = await compactUsers(
    ctx.db,
    ctx.accountId,
    rows.map((row) => row.user_id),
  )
  const grouped = Map.groupBy(rows, (row) => row.control_id)
  return new Map(
    [...grouped].map(([id, group]) => [
      id,
      { data: group.flatMap((row) => users.get(row.user_id) ?? []), totalCount: group[0]?.total ?? 0 },
    ]),
  )
}

async function requirementsOf(db: Db, ids: readonly number[]): Promise<ReadonlyMap<number, ControlRequirement[]>> {
  const rows = await db
    .selectFrom('control_requirements as mapped')
    .innerJoin('requirements', 'requirements.id', 'mapped.requirement_id')
    .innerJoin('frameworks', 'frameworks.id', 'requirements.framework_id')
    .selectAll('requirements')
    .select(['mapped.control_id', 'frameworks.name as framework_name', 'frameworks.pill', 'slug', 'tag'])
    .where('mapped.control_id', '=', anyOf(ids))
    .orderBy('requirements.id')
    .execute()
  const present = (row: (typeof rows)[number]): ControlRequirement => ({
    id: row.id,
    name: row.name,
    description: row.description,
    longDescription: row.long_description,
    additionalInfo: row.additional_info,
    additionalInfo2: row.additional_info_2,
    additionalInfo3: row.additional_info_3,
    externalId: row.external_id,
    frameworkName: row.framework_name,
    frameworkPill: row.pill,
    frameworkSlug: row.slug,
    frameworkTag: row.tag,
    // This platform never archives requirements of the catalogue.
    archivedAt: null,
    rationale: null,
    ...presentTimes(row),
  })
  return groupRows(rows, (row) => row.control_id, present)
}

async function testIdsOf(db: Db, ids: readonly number[]): Promise<ReadonlyMap<number, ControlTestIds>> {
  const rows = await db
    .selectFrom('control_tests as mapped')
    .innerJoin('tests', 'tests.id', 'mapped.test_id')
    .select(['mapped.control_id', 'tests.id', 'tests.status', 'tests.is_monitored'])
    .where('mapped.control_id', '=', anyOf(ids))
    .orderBy('tests.id')
    .execute()
  const grouped = Map.groupBy(rows, (row) => row.control_id)
  return new Map(
    [...grouped].map(([id, group]) => [
      id,
      {
        passing: group.filter((row) => row.status === 'PASSED').map((row) => row.id),
        failing: group.filter((row) => row.status === 'FAILED').map((row) => row.id),
        monitored: group.filter((row) => row.is_monitored).map((row) => row.id),
      },
    ]),
  )
}

async function evidenceIdsOf(
  db: Db,
  ids: readonly number[],
  day: string,
): Promise<ReadonlyMap<number, ControlEvidenceIds>> {
  const rows = await db
    .selectFrom('control_evidence as mapped')
    .innerJoin('evidence', 'evidence.id', 'mapped.evidence_id')
    .select(['mapped.control_id', 'evidence.id', 'evidence.kind'])
    .select(sql<boolean>`coalesce(evidence.valid_until >= ${day}::date, true)`.as('is_valid'))
    .where('mapped.control_id', '=', anyOf(ids))
    .orderBy('evidence.id')
    .execute()
  const grouped = Map.groupBy(rows, (row) => row.control_id)
  const idsOf = (group: typeof rows, kind: 'REPORT' | 'EXTERNAL', isValid: boolean) =>
    group.filter((row) => row.kind === kind && row.is_valid === isValid).map((row) => row.id)
  return new Map(
    [...grouped].map(([id, group]) => [
      id,
      {
        validExternalEvidenceIds: idsOf(group, 'EXTERNAL', true),
        invalidExternalEvidenceIds: idsOf(group, 'EXTERNAL', false),
        validReportIds: idsOf(group, 'REPORT', true),
        invalidReportIds: idsOf(group, 'REPORT', false),
      },
    ]),
  )
}
