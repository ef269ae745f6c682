import { badRequest } from '../../connectors/scim/errors.ts'
import { readListFilter } from '../../connectors/scim/filter.ts'
import { listResponse, readPage } from '../../connectors/scim/provider.ts'
import type { ScimValue } from '../../connectors/scim/resource.ts'
import { membersOf } from '../../store/scim/members.ts'
import {
  findResource,
  findResources,
  listResources,
  type ResourceKind,
  type StoredResource,
} from '../../store/scim/resources.ts'
import { isKnown, notFound, present, type ScimAnswer, type ScimRequest, versionOf } from './answers.ts'
import type { ScimFeed } from './changes.ts'
import { answerStored, includes, type ScimContext, withRelated } from './related.ts'

/** Maximum number of groups in one answer that lists their members. */
const maxGroupsWithMembers = 50

/** The parameters of a list, each given once at most. */
export type ListParameters = Readonly<Record<string, string | undefined>>

type OfKind = { readonly kind: ResourceKind; readonly request: ScimRequest }

/** One resource as the sender wrote it last, whether its change is planned, held or rejected. */
export async function readOne(
  ctx: ScimContext,
  feed: ScimFeed,
  { kind, id, request }: OfKind & { readonly id: string },
): Promise<ScimAnswer> {
  const { connection } = feed
  const stored = await findResource(ctx.db, { connection, kind }, id)
  if (stored === null) throw notFound(kind)
  if (isKnown(stored, request)) return { status: 304, headers: { etag: versionOf(stored) } }
  return await answerStored(ctx, feed, { status: 200, kind, stored, request })
}

/** The resources that pass a filter, or a part of all. */
export async function readList(
  ctx: ScimContext,
  feed: ScimFeed,
  { kind, parameters, request }: OfKind & { readonly parameters: ListParameters },
): Promise<ScimAnswer> {
  const page = readPage(parameters)
  if (page === null) throw badRequest('invalidValue', 'startIndex and count must be whole numbers')
  const { startIndex } = page
  const hasMembers = kind === 'Group' && includes(request.projection, 'members')
  const count = hasMembers ? Math.min(page.count, maxGroupsWithMembers) : page.count
  const { total, stored } = await findPage(ctx, feed, {
    kind,
    filter: parameters.filter || undefined,
    offset: startIndex - 1,
    count,
  })
  const presented = await withRelated(ctx, feed, { kind, stored, request })
  const resources = presented.map((one) => present(one, request))
  return { status: 200, body: listResponse({ resources, total, startIndex }) }
}

type PageOfKind = {
  readonly kind: ResourceKind
  readonly filter: string | undefined
  readonly offset: number
  readonly count: number
}

async function findPage(
  { db }: ScimContext,
  { connection }: ScimFeed,
  { kind, filter, offset, count }: PageOfKind,
): Promise<{ readonly total: number; readonly stored: readonly StoredResource[] }> {
  if (filter === undefined) {
    const { total, resources } = await listResources(db, { connection, kind }, { offset, limit: count })
    return { total, stored: resources }
  }
  const { by, value, matches } = readListFilter(kind, filter)
  const candidates = await findResources(db, { connection, kind }, { by, value })
  const members =
    kind === 'Group' ? await membersOf(db, { connection, groupIds: candidates.map(({ id }) => id) }) : new Map()
  const passing = candidates.filter(({ id, body }) =>
    matches({ ...(body as object), id, ...(members.has(id) && { members: members.get(id) }) } as ScimValue),
  )
  return { total: passing.length, stored: passing.slice(offset, offset + count) }
}
