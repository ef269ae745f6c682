import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Filter } from 'scim2-parse-filter'
import { badRequest, ScimError } from '../../connectors/scim/errors.ts'
import { type PatchOperation, patchResource, readPatch } from '../../connectors/scim/patch.ts'
import {
  isScimObject,
  readResource,
  readValue,
  requireName,
  requireShort,
  type ScimObject,
  type ScimResource,
  type ScimValue,
} from '../../connectors/scim/resource.ts'
import { addMembers, type Member, membersOf, removeMembers } from '../../store/scim/members.ts'
import {
  deleteResource,
  findResources,
  insertResource,
  type ResourceContent,
  type ResourceKey,
  updateResource,
} from '../../store/scim/resources.ts'
import type { ScimRequest } from './answers.ts'
import {
  type ChangeAnswer,
  changeGroupsOf,
  makeChange,
  requireResource,
  type ScimChange,
  type ScimFeed,
} from './changes.ts'
import { answerStored, type ScimContext } from './related.ts'

const kind = 'Group'

/** Creates a group. Groups are stored, and change nobody unless the mapping reads them. */
export async function createGroup(
  ctx: ScimContext,
  feed: ScimFeed,
  { body, request }: { readonly body: ScimObject; readonly request: ScimRequest },
): Promise<ChangeAnswer> {
  const { members: stated, resource } = withoutMembers(readResource(kind, body))
  const content = contentOf(resource)
  return await makeChange(ctx, feed, async (change) => {
    await refuseDuplicate(change, content)
    const id = randomUUID()
    const inserted = await insertResource(change.tx, {
      connection: feed.connection,
      kind,
      id,
      at: change.at,
      ...content,
    })
    if (inserted === null) throw new Error(`the group ${id} was not stored`)
    await changeGroupsOf(change, await addMembers(change.tx, { connection: feed.connection, groupId: id }, stated))
    return await answerStored({ db: change.tx }, feed, { status: 201, kind, stored: inserted, request })
  })
}

type GroupRequest = { readonly id: string; readonly body: ScimObject; readonly request: ScimRequest }

/** Replaces a group and its members. */
export async function replaceGroup(ctx: ScimContext, feed: ScimFeed, input: GroupRequest): Promise<ChangeAnswer> {
  const { members, resource } = withoutMembers(readResource(kind, input.body))
  return await changeGroup(ctx, feed, input, { next: () => resource, members: [{ removes: 'all', adds: members }] })
}

/** Changes parts of a group. */
export async function patchGroup(ctx: ScimContext, feed: ScimFeed, input: GroupRequest): Promise<ChangeAnswer> {
  const operations = readPatch(kind, input.body)
  const ofMembers = operations.filter(({ target }) => target.name === 'members' && target.extension === null)
  const others = operations.filter((operation) => !ofMembers.includes(operation))
  const next = (before: ScimResource) => patchResource(kind, before, others)
  return await changeGroup(ctx, feed, input, { next, members: ofMembers.map(memberChange) })
}

/** Deletes a group. */
export async function deleteGroup(
  ctx: ScimContext,
  feed: ScimFeed,
  input: Omit<GroupRequest, 'body'>,
): Promise<ChangeAnswer> {
  return await makeChange(ctx, feed, async (change) => {
    const before = await requireResource(change, kind, input)
    const members = await removeMembers(change.tx, { connection: feed.connection, groupId: before.id }, null)
    await deleteResource(change.tx, { connection: feed.connection, kind, at: change.at }, before.id)
    await changeGroupsOf(change, members)
    return { status: 204 }
  })
}

/** Members that are removed from a group, and then others that are added. */
type MemberChange = { readonly removes: 'all' | readonly string[]; readonly adds: readonly Member[] }

type NextGroup = {
  readonly next: (before: ScimResource) => ScimResource
  readonly members: readonly MemberChange[]
}

async function changeGroup(
  ctx: ScimContext,
  feed: ScimFeed,
  input: GroupRequest,
  { next, members }: NextGroup,
): Promise<ChangeAnswer> {
  const { connection } = feed
  return await makeChange(ctx, feed, async (change) => {
    const before = await requireResource(change, kind, input)
    const resource = next(before.body as ScimResource)
    const content = contentOf(resource)
    const changed = new Set<string>()
    for (const { removes, adds } of members) {
      const group = { connection, groupId: before.id }
      const removed = await removeMembers(change.tx, group, removes === 'all' ? null : removes)
      const added = await addMembers(change.tx, group, adds)
      for (const member of new Set(removed).symmetricDifference(new Set(added))) changed.add(member)
    }
    const isSame = isDeepStrictEqual(before.body, resource)
    if (!isSame) {
      const all = await membersOf(change.tx, { connection, groupIds: [before.id] })
      for (const { value } of all.get(before.id) ?? []) changed.add(value)
    }
    const { tx, at } = change
    const isUnchanged = isSame && changed.size === 0
    const stored = isUnchanged ? before : await updateResource(tx, { connection, kind, id: before.id, at, ...content })
    await changeGroupsOf(change, changed)
    return await answerStored({ db: tx }, feed, { status: 200, kind, stored, request: input.request })
  })
}

/** Refuses a group that is there, so that a repeated request makes no second one: by its external ID, or by its name if it has none. */
async function refuseDuplicate({ tx, feed }: ScimChange, { externalId, body }: ResourceContent): Promise<void> {
  const { displayName } = body as ScimResource
  const key = externalId === null ? { by: 'name', value: String(displayName) } : { by: 'externalId', value: externalId }
  const same = await findResources(tx, { connection: feed.connection, kind }, key as ResourceKey)
  if (same.length === 0) return
  const detail = 'another group has this externalId or displayName: find it and change it'
  throw new ScimError(409, detail, { scimType: 'uniqueness' })
}

function contentOf(resource: ScimResource): ResourceContent {
  const { externalId } = resource
  return {
    name: requireName(kind, resource),
    externalId: typeof externalId === 'string' ? externalId : null,
    identityId: null,
    isActive: true,
    body: resource,
  }
}

function withoutMembers({ members = null, ...resource }: ScimResource) {
  return { resource, members: toMembers(members) }
}

function toMembers(value: ScimValue): Member[] {
  const values = Array.isArray(value) ? (value as readonly ScimValue[]) : []
  return values.map((one) => {
    if (!isScimObject(one) || typeof one.value !== 'string')
      throw badRequest('invalidValue', 'a member has no value, which is the ID of a user')
    requireShort(one.value, 'the value of a member')
    return { value: one.value, display: typeof one.display === 'string' ? one.display : null }
  })
}

function memberChange({ verb, target, value }: PatchOperation): MemberChange {
  const { attribute, filter, subAttribute: sub } = target
  if (sub !== null) throw badRequest('invalidPath', 'a member is added and removed as a whole')
  const stated = toMembers(attribute === null ? null : readValue(attribute, value))
  if (verb === 'remove') {
    if (filter !== null) return { removes: memberIds(filter), adds: [] }
    return { removes: value === null ? 'all' : stated.map((member) => member.value), adds: [] }
  }
  if (filter !== null) throw badRequest('invalidPath', 'a member is added and removed as a whole')
  return { removes: verb === 'replace' ? 'all' : [], adds: stated }
}

/** The members that a filter names: `value eq "…"`, one or several with `or`. */
function memberIds(filter: Filter): string[] {
  if (filter.op === 'or') return filter.filters.flatMap(memberIds)
  if (filter.op === 'eq' && 'compValue' in filter && filter.attrPath === 'value') return [String(filter.compValue)]
  throw badRequest('invalidFilter', 'members are named by value eq "…"')
}
