import type { Projection } from '../../connectors/scim/projection.ts'
import type { Db } from '../../store/schema.ts'
import { groupsOf, membersOf } from '../../store/scim/members.ts'
import type { ResourceKind, StoredResource } from '../../store/scim/resources.ts'
import { answerWith, type ResourceView, type ScimAnswer, type ScimRequest } from './answers.ts'
import type { ScimFeed } from './changes.ts'

/** What requests are answered with. */
export type ScimContext = { readonly db: Db; readonly now: () => Date }

type OfKind = { readonly kind: ResourceKind; readonly request: ScimRequest }

/** The resources with the members of groups, and the groups of users, where the request asks for them. */
export async function withRelated(
  { db }: Pick<ScimContext, 'db'>,
  { connection }: ScimFeed,
  { kind, stored, request: { projection } }: OfKind & { readonly stored: readonly StoredResource[] },
): Promise<ResourceView[]> {
  const ids = stored.map(({ id }) => id)
  if (kind === 'Group' && includes(projection, 'members')) {
    const members = await membersOf(db, { connection, groupIds: ids })
    return stored.map((one) => ({ kind, stored: one, members: members.get(one.id) ?? [] }))
  }
  if (kind === 'User' && includes(projection, 'groups')) {
    const groups = await groupsOf(db, { connection, userIds: ids })
    return stored.map((one) => ({ kind, stored: one, groups: groups.get(one.id) ?? [] }))
  }
  return stored.map((one) => ({ kind, stored: one }))
}

/** The answer with one stored resource. */
export async function answerStored(
  ctx: Pick<ScimContext, 'db'>,
  feed: ScimFeed,
  { status, stored, ...of }: OfKind & { readonly status: 200 | 201; readonly stored: StoredResource },
): Promise<ScimAnswer> {
  const presented = await withRelated(ctx, feed, { ...of, stored: [stored] })
  return answerWith(status, { kind: of.kind, stored, ...presented[0] }, of.request)
}

/** Whether a request asks for an attribute. */
export function includes({ only, without }: Projection, attribute: string): boolean {
  const isOf = (name: string) => name.replace(/^.*:/, '').split('.')[0] === attribute
  return !without.includes(attribute) && (only === null || only.some(isOf))
}
