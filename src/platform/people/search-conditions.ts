import { type RawBuilder, sql } from 'kysely'
import {
  type CustomRangeFilter,
  type SearchedCheck,
  type SearchQuery,
  searchedChecks,
} from '../../contract/platform/personnel-search.ts'
import { findCustomField } from '../company/custom-fields.ts'
import type { PlatformContext } from '../core/context.ts'
import { searchExpression } from '../core/search-words.ts'
import { beginsWith } from '../core/text-filters.ts'

/** The expressions that a search filters and counts by, on the table `personnel_search`. */
export const syncStatus = sql`
  case when coalesce(idp_connection_id, hris_connection_id) is null then 'NOT_SYNCED' else 'SYNCED' end`

/** The status of a check of a person. */
export function statusOf(name: SearchedCheck): RawBuilder<unknown> {
  return sql`checks ->> ${searchedChecks[name]}`
}

/** The conditions of a search; refuses custom fields that do not exist (400) or are not in the plan (403). */
export async function searchConditions(
  ctx: PlatformContext,
  query: SearchQuery,
  workspaceId: number | null,
): Promise<RawBuilder<unknown>> {
  const conditions = [
    sql`account_id = ${ctx.accountId}`,
    ...textConditions(query),
    ...listConditions(query),
    ...(await fieldConditions(ctx, query)),
  ]
  if (query.syncStatus !== undefined) conditions.push(sql`${syncStatus} = ${query.syncStatus}`)
  if (workspaceId !== null) conditions.push(inScope(workspaceId))
  return sql.join(conditions, sql` and `)
}

function textConditions({ q, firstName, lastName }: SearchQuery): RawBuilder<unknown>[] {
  const conditions: RawBuilder<unknown>[] = []
  const words = q === undefined || q.trim() === '' ? undefined : searchExpression(q)
  if (words !== undefined) conditions.push(words === null ? sql`false` : sql`words @@ fold_case(${words})::tsquery`)
  if (firstName !== undefined) conditions.push(beginsWith('first_name', firstName))
  if (lastName !== undefined) conditions.push(beginsWith('last_name', lastName))
  return conditions
}

function listConditions(query: SearchQuery): RawBuilder<unknown>[] {
  const checks = (Object.keys(searchedChecks) as SearchedCheck[]).map(
    (name) => [statusOf(name), query[`${name}[]`]] as const,
  )
  const texts = [[sql`employment_status`, query['employmentStatus[]']] as const, ...checks]
  const ids = [
    [sql`idp_connection_id`, query['idpConnectionIds[]']],
    [sql`hris_connection_id`, query['hrisConnectionIds[]']],
  ] as const
  const groupIds = query['groupIds[]'] ?? []
  return [
    ...texts.flatMap(([value, list = []]) => (list.length > 0 ? [sql`${value} = any(${list}::text[])`] : [])),
    ...ids.flatMap(([value, list = []]) => (list.length > 0 ? [sql`${value} = any(${list}::bigint[])`] : [])),
    ...(groupIds.length > 0 ? [sql`group_ids && ${groupIds}::bigint[]`] : []),
  ]
}

/** People in a group of the scope of a workspace; everybody if it has no scope. */
function inScope(workspaceId: number): RawBuilder<unknown> {
  const scope = sql`select group_id from workspace_groups where workspace_id = ${workspaceId}`
  return sql`(not exists (${scope}) or group_ids && array(${scope}))`
}

// The values are not in the index: they are compared as they are now.
async function fieldConditions(ctx: PlatformContext, query: SearchQuery): Promise<RawBuilder<unknown>[]> {
  const { customFields = [], customRangeFields = [] } = query
  const conditions: RawBuilder<unknown>[] = []
  for (const { value, ...field } of customFields) {
    const { id } = await findCustomField(ctx, 'PERSONNEL', field)
    conditions.push(hasValue(id, sql`value = ${value}`))
  }
  for (const field of customRangeFields) {
    const { id } = await findCustomField(ctx, 'PERSONNEL', field)
    conditions.push(hasValue(id, sql.join(withinRange(field), sql` and `)))
  }
  return conditions
}

function hasValue(definitionId: number, condition: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`exists (
    select from custom_field_values
    where definition_id = ${definitionId} and entity_type = 'PERSONNEL' and entity_id = personnel_search.id and ${condition}
  )`
}

const decimal = /^-?\d+(?:\.\d+)?$/

/** Numbers are compared with numbers, and dates with texts that begin like dates. */
function withinRange({ gte, lte }: Pick<CustomRangeFilter, 'gte' | 'lte'>): RawBuilder<unknown>[] {
  const bounds = [
    ['>=', gte],
    ['<=', lte],
  ] as const
  return bounds.flatMap(([operator, bound]) => {
    if (bound === undefined) return []
    const compare = sql.raw(operator)
    return decimal.test(bound)
      ? [
          sql`case when value ~ '^-?\\d{1,30}([.]\\d{1,30})?$' then value::numeric ${compare} ${bound}::numeric else false end`,
        ]
      : [sql`value ~ '^\\d{4}-\\d{2}-\\d{2}' and value collate "C" ${compare} ${bound}`]
  })
}
