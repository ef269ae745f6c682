import { type RawBuilder, type Selectable, sql } from 'kysely'
import { EmploymentStatus } from '../../contract/platform/personnel.ts'
import {
  type FacetBucket,
  maxSubcollection,
  type PersonSearch,
  type personnelSearch,
  SearchedStatus,
  type SearchFacet,
  type SearchQuery,
  SyncStatus,
} from '../../contract/platform/personnel-search.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { customFieldsOf, requireCustomFields } from '../company/custom-fields.ts'
import { groupsOf } from '../company/groups.ts'
import { requireWorkspace } from '../company/workspaces.ts'
import { compactConnections, compactProviders } from '../core/compact.ts'
import type { PlatformContext } from '../core/context.ts'
import { replyWithPage } from '../core/pages.ts'
import { presentRows } from '../core/present-rows.ts'
import { anyOf } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { presentPerson, userLoaders } from './personnel.ts'
import { complianceChecksOf } from './present-checks.ts'
import { searchConditions, statusOf, syncStatus } from './search-conditions.ts'
import { updateIndexIfOld } from './search-index.ts'

type Row = Selectable<PlatformSchema['personnel_search']>

/** The handlers of the operations that search people. */
export const personnelSearchHandlers: Handlers<typeof personnelSearch, PlatformContext> = {
  async searchPersonnel(ctx, { query }) {
    return search(ctx, query, null)
  },

  async searchWorkspacePersonnel(ctx, { params, query }) {
    return search(ctx, query, params.workspaceId)
  },
}

async function search(ctx: PlatformContext, query: SearchQuery, workspaceId: number | null) {
  const { cursor, size, sort, sortDir, includeTotalCount, 'expand[]': expand, 'facets[]': facets, ...filter } = query
  requireCustomFields(ctx, { expand })
  const where = await searchConditions(ctx, query, workspaceId)
  if (workspaceId !== null) await requireWorkspace(ctx.db, ctx.accountId, workspaceId)
  await updateIndexIfOld(ctx)
  const { status, body } = await replyWithPage(ctx, {
    table: 'personnel_search',
    where,
    filter: { ...filter, workspaceId },
    query: { cursor, size, sort, sortDir, includeTotalCount },
    ...((sort === 'name' || sort === 'startDate') && { movedIn: 'moved_in' as const }),
    present: (rows) => present(ctx, rows, expand),
  })
  if (facets === undefined || cursor !== undefined) return { status, body }
  // One after the other: a search must not take all connections of the database.
  const counts: Partial<Record<SearchFacet, FacetBucket[]>> = {}
  for (const name of new Set(facets)) counts[name] = await countFacet(ctx, name, where)
  return { status, body: { ...body, facets: counts } }
}

/** Maximum number of groups that a search counts, the largest first. */
const maxGroupBuckets = 100

async function countFacet(ctx: PlatformContext, name: SearchFacet, where: RawBuilder<unknown>): Promise<FacetBucket[]> {
  const { rows } = await sql<FacetBucket>`
    select value::text, count(*)::int as count
    from (select ${facetValue(name)} as value from personnel_search where ${where}) as found
    where value is not null group by value order by count desc, value
  `.execute(ctx.db)
  if (name === 'groupIds') return rows.slice(0, maxGroupBuckets)
  const counts = new Map(rows.map(({ value, count }) => [value, count]))
  return facetValues(name).map((value) => ({ value, count: counts.get(value) ?? 0 }))
}

function facetValue(name: SearchFacet): RawBuilder<unknown> {
  if (name === 'employmentStatus') return sql`employment_status`
  if (name === 'syncStatus') return syncStatus
  return name === 'groupIds' ? sql`unnest(group_ids)` : statusOf(name)
}

function facetValues(name: SearchFacet): readonly string[] {
  if (name === 'employmentStatus') return EmploymentStatus.options
  return name === 'syncStatus' ? SyncStatus.options : SearchedStatus.options
}

async function present(
  ctx: PlatformContext,
  rows: readonly Row[],
  expand?: readonly string[],
): Promise<PersonSearch[]> {
  const { db, accountId } = ctx
  const loaders = {
    ...userLoaders(ctx, rows),
    complianceChecks: async () => firstOf(await complianceChecksOf(ctx, await currentPeople(ctx, rows))),
    customFields: async () => firstOf(await customFieldsOf(ctx, 'PERSONNEL', rows)),
    groups: async () => {
      const known = await groupsOf(
        ctx,
        rows.flatMap((row) => row.group_ids),
      )
      return firstOf(new Map(rows.map((row) => [row.id, row.group_ids.flatMap((id) => known.get(id) ?? [])])))
    },
    idpConnection: async () => {
      const known = await compactProviders(db, accountId, idsOf(rows, 'idp_connection_id'))
      return (row: Row) => known.get(row.idp_connection_id ?? 0)
    },
    hrisConnection: async () => {
      const known = await compactConnections(db, accountId, idsOf(rows, 'hris_connection_id'))
      return (row: Row) => known.get(row.hris_connection_id ?? 0)
    },
  }
  return presentRows(rows, { present: presentRow, expand, loaders })
}

function idsOf(rows: readonly Row[], column: 'idp_connection_id' | 'hris_connection_id'): (number | null)[] {
  return [...new Set(rows.map((row) => row[column]))]
}

/** The people of these entries as they are now, without those who were removed since. */
function currentPeople({ db }: PlatformContext, rows: readonly Row[]) {
  const ids = rows.map(({ id }) => id)
  return db.selectFrom('personnel').selectAll().where('id', '=', anyOf(ids)).execute()
}

function firstOf<Value>(lists: ReadonlyMap<number, Value[]>) {
  return ({ id }: Row) => {
    const list = lists.get(id) ?? []
    return { data: list.slice(0, maxSubcollection), totalCount: list.length }
  }
}

function presentRow(row: Row) {
  return {
    ...presentPerson(row),
    syncStatus:
      (row.idp_connection_id ?? row.hris_connection_id) === null ? ('NOT_SYNCED' as const) : ('SYNCED' as const),
    idpConnectionId: row.idp_connection_id,
    hrisConnectionId: row.hris_connection_id,
  }
}
