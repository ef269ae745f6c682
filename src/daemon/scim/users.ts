import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { ScimError } from '../../connectors/scim/errors.ts'
import { keepKey, keepKeyOfPatch } from '../../connectors/scim/kept-key.ts'
import { patchResource, readPatch } from '../../connectors/scim/patch.ts'
import { isActive, requireKey } from '../../connectors/scim/person.ts'
import {
  readResource,
  requireName,
  requireShort,
  type ScimObject,
  type ScimResource,
} from '../../connectors/scim/resource.ts'
import {
  deleteResource,
  findResources,
  insertResource,
  type ResourceContent,
  type StoredResource,
  updateResource,
} from '../../store/scim/resources.ts'
import type { ScimRequest } from './answers.ts'
import {
  addUserEvent,
  type ChangeAnswer,
  changeReportsOf,
  makeChange,
  personOf,
  requireResource,
  type ScimChange,
  type ScimFeed,
  type UserState,
} from './changes.ts'
import { answerStored, type ScimContext } from './related.ts'

const kind = 'User'

/** Creates a user. Somebody who was deleted returns as a new user with the same key. */
export async function createUser(
  ctx: ScimContext,
  feed: ScimFeed,
  { body, request }: { readonly body: ScimObject; readonly request: ScimRequest },
): Promise<ChangeAnswer> {
  const stated = readResource(kind, body)
  const resource = { ...stated, active: isActive(stated) }
  return await makeChange(ctx, feed, async (change) => {
    const state = { id: randomUUID(), resource }
    const { person, content } = await contentOf(change, state)
    const { connection } = feed
    const inserted = await insertResource(change.tx, { connection, kind, id: state.id, at: change.at, ...content })
    if (inserted === null) throw nameTaken()
    await addUserEvent(change, { before: null, after: { ...state, person, isActive: content.isActive } })
    return await answerStored({ db: change.tx }, feed, { status: 201, kind, stored: inserted, request })
  })
}

type UserRequest = { readonly id: string; readonly body: ScimObject; readonly request: ScimRequest }

/**
 * Replaces a user. A user that does not say whether it is active stays as it was, and one that does not mention its key keeps it: Okta
 * documents updates without an externalId.
 */
export async function replaceUser(ctx: ScimContext, feed: ScimFeed, input: UserRequest): Promise<ChangeAnswer> {
  const { body } = input
  const stated = readResource(kind, body)
  return await changeUser(ctx, feed, input, (before) => keepKey(feed.mapping, { before, body, stated }))
}

/** Changes parts of a user. One that is not active and gets another name loses the key that the patch does not mention. */
export async function patchUser(ctx: ScimContext, feed: ScimFeed, input: UserRequest): Promise<ChangeAnswer> {
  const operations = readPatch(kind, input.body)
  return await changeUser(ctx, feed, input, (before) => {
    const patched = patchResource(kind, before, operations)
    return keepKeyOfPatch(feed.mapping, { before, operations, patched })
  })
}

/** Deletes a user: the person has left, and stays known on the platform. */
export async function deleteUser(
  ctx: ScimContext,
  feed: ScimFeed,
  input: Omit<UserRequest, 'body'>,
): Promise<ChangeAnswer> {
  return await makeChange(ctx, feed, async (change) => {
    const before = await requireResource(change, kind, input)
    await addUserEvent(change, { before, after: null })
    await deleteResource(change.tx, { connection: feed.connection, kind, at: change.at }, before.id)
    return { status: 204 }
  })
}

async function changeUser(
  ctx: ScimContext,
  feed: ScimFeed,
  input: UserRequest,
  changedBy: (before: ScimResource) => ScimResource,
): Promise<ChangeAnswer> {
  return await makeChange(ctx, feed, async (change) => {
    const before = await requireResource(change, kind, input)
    const known = before.body as ScimResource
    const changed = changedBy(known)
    const state = { id: before.id, resource: { ...changed, active: changed.active ?? isActive(known) } }
    const { person, content } = await contentOf(change, state, before)
    await refuseTakenName(change, state.id, content.name)
    // A repeated change is an event too, because an operator may have rejected the first one.
    await addUserEvent(change, { before, after: { ...state, person, isActive: content.isActive } })
    const isRekeyed = before.identityId !== content.identityId
    const isSame = isDeepStrictEqual(known, state.resource) && !isRekeyed
    const { tx, at } = change
    const next = { connection: feed.connection, kind, id: before.id, at, ...content } as const
    const stored = isSame ? before : await updateResource(tx, next)
    if (isRekeyed) await changeReportsOf(change, before.id)
    return await answerStored({ db: tx }, feed, { status: 200, kind, stored, request: input.request })
  })
}

/** What is stored of a user. One that is not active and has lost its key keeps it in the store, so that its departure can be stated again. */
async function contentOf(change: ScimChange, state: UserState, before: StoredResource | null = null) {
  const { resource } = state
  const name = requireName(kind, resource)
  const person = await personOf(change, state)
  if (isActive(resource)) requireKey(change.feed.mapping, person)
  if (person.identityId !== null) requireShort(person.identityId, 'the key of the person')
  const { externalId } = resource
  const content: ResourceContent = {
    name,
    externalId: typeof externalId === 'string' ? externalId : null,
    identityId: person.identityId ?? before?.identityId ?? null,
    isActive: isActive(resource),
    body: resource,
  }
  return { person, content }
}

async function refuseTakenName({ tx, feed }: ScimChange, id: string, name: string): Promise<void> {
  const named = await findResources(tx, { connection: feed.connection, kind }, { by: 'name', value: name })
  if (named.some((other) => other.id !== id)) throw nameTaken()
}

function nameTaken(): ScimError {
  const detail = 'another user has this userName: find it by userName and change it'
  return new ScimError(409, detail, { scimType: 'uniqueness' })
}
