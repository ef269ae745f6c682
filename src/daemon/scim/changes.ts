import { randomUUID } from 'node:crypto'
import { ScimError } from '../../connectors/scim/errors.ts'
import { asInactive, managerOf, managerPath, type ScimPerson, toPerson, withKey } from '../../connectors/scim/person.ts'
import type { ScimObject, ScimResource } from '../../connectors/scim/resource.ts'
import type { ScimSource } from '../../connectors/scim/settings.ts'
import type { Mapping } from '../../identity/mapping/mapping.ts'
import { addEvents, mayTakeEffect, type NewEvent } from '../../store/inbox/inbox.ts'
import { resolveKey } from '../../store/key-answers.ts'
import { rosterEntry } from '../../store/roster/roster.ts'
import type { Db } from '../../store/schema.ts'
import { groupsOf } from '../../store/scim/members.ts'
import {
  activeReportsOf,
  beginChange,
  findOthersOf,
  findResource,
  findResourcesWithIds,
  isResourceId,
  knownKeys,
  type ResourceKind,
  renewVersions,
  type StoredResource,
} from '../../store/scim/resources.ts'
import type { InTurn } from '../../system/turns.ts'
import { notFound, requireVersion, type ScimAnswer, type ScimRequest } from './answers.ts'

/** A connection that is pushed over SCIM. */
export type ScimFeed = {
  readonly connection: string
  readonly settings: Pick<ScimSource, 'inboxLimit' | 'bodyLimitBytes'>
  readonly mapping: Mapping
  /** The columns that the expressions of the mapping name. */
  readonly inExpressions: readonly string[]
  /** Changes of one connection wait here for one another, so that each process holds one connection of the database for them. */
  readonly inTurn: InTurn
  /** Whether the mapping reads the groups of a user, so that a change of a group is a change of its members. */
  readonly readsGroups: boolean
}

/** A change under way: in one transaction, after every earlier change of the connection. */
export type ScimChange = {
  readonly tx: Db
  readonly feed: ScimFeed
  /** When the change was made; its events state the person's data as of this time. */
  readonly at: Date
  /** The events that it has stored. */
  readonly stored: { events: number }
}

/** A user as it is or will be stored. */
export type UserState = { readonly id: string; readonly resource: ScimResource }

/** An answer, and how many events were stored before it was given. `behindMs`: how far the clock is behind the change before. */
export type ChangeAnswer = ScimAnswer & { readonly events: number; readonly behindMs: number }

/**
 * Makes a change and stores its events in one transaction, so that the resource that a sender reads and the event that a run plans never differ.
 * Returns the answer once both are committed. The answer is read before: a failure of reading it undoes the change, so that the sender may repeat it.
 */
export async function makeChange(
  { db, now }: { readonly db: Db; readonly now: () => Date },
  feed: ScimFeed,
  make: (change: ScimChange) => Promise<ScimAnswer>,
): Promise<ChangeAnswer> {
  const work = async (tx: Db) => {
    const clock = now()
    const at = await beginChange(tx, { connection: feed.connection, now: clock })
    const stored = { events: 0 }
    const answer = await make({ tx, feed, at, stored })
    return { ...answer, events: stored.events, behindMs: at.getTime() - clock.getTime() }
  }
  return await feed.inTurn(() => db.transaction().execute(work))
}

/** The resource that a request changes. Refuses one that is not there, or has another version than the sender knows. */
export async function requireResource(
  { tx, feed }: ScimChange,
  kind: ResourceKind,
  { id, request }: { readonly id: string; readonly request: ScimRequest },
): Promise<StoredResource> {
  const resource = await findResource(tx, { connection: feed.connection, kind }, id)
  if (resource === null) throw notFound(kind)
  requireVersion(resource, request)
  return resource
}

/** The person of a user. */
export async function personOf(change: Pick<ScimChange, 'tx' | 'feed'>, user: UserState): Promise<ScimPerson> {
  const toPersonOf = await personReader(change, [user])
  return toPersonOf(user)
}

/** Loads the managers and groups of users, and returns how to read their persons. */
async function personReader(
  { tx, feed }: Pick<ScimChange, 'tx' | 'feed'>,
  users: readonly UserState[],
): Promise<(user: UserState) => ScimPerson> {
  const { connection, readsGroups } = feed
  const managerIds = [...new Set(users.flatMap(({ resource }) => managerOf(resource) ?? []))]
  const managers = await findResourcesWithIds(tx, { connection, kind: 'User' }, managerIds)
  const unknown = managerIds.filter((id) => isResourceId(id) && !managers.has(id.toLowerCase()))
  const keys = await knownKeys(tx, { connection, keys: unknown })
  const groups = readsGroups ? await groupsOf(tx, { connection, userIds: users.map(({ id }) => id) }) : null
  const keyOfManager = (id: string | null): string | null | undefined => {
    const manager = id === null ? undefined : managers.get(id.toLowerCase())
    if (manager !== undefined) return manager.identityId
    // An ID of ours whose user was removed is no key of a person.
    return id !== null && unknown.includes(id) && !keys.has(id) ? null : undefined
  }
  return ({ id, resource }) =>
    toPerson(feed, resource, {
      id,
      managerKey: keyOfManager(managerOf(resource)),
      groups: groups && (groups.get(id) ?? []).map(({ display }) => display),
    })
}

/** What a change of a user makes of its person. `before`: the user until now; null for a new one. `after`: null for a deleted one. */
type UserChange = {
  readonly before: StoredResource | null
  readonly after: (UserState & { readonly person: ScimPerson; readonly isActive: boolean }) | null
}

/**
 * Stores the event of a changed user. Somebody who has another active user stays as that user says. If the key of the user changes, the person
 * of the former key leaves in the same event, and again with each change of a user that is not active and has no key. A user that is not active
 * and was never employed is no event: it would join and leave.
 */
export async function addUserEvent(change: ScimChange, { before, after }: UserChange): Promise<void> {
  const records: ScimObject[] = []
  if (before !== null && (after === null || isRekeyed(before, after.person) || lacksKey(after))) {
    const record = await departureOf(change, before)
    if (record !== null) records.push(record)
  }
  if (after !== null) {
    const { id, person, isActive } = after
    const { identityId } = person
    const other = isActive ? null : await otherRecordOf(change, { id, identityId })
    const isEvent = isActive || other !== null || (await mayBeEmployed(change, { id, identityId, before }))
    if (isEvent) records.push(other ?? person.record)
  }
  if (records.length > 0) await addRecords(change, [records])
}

/** What is stated of the person of a user that is deleted or gets another key; null: nothing, because the person was never employed. */
async function departureOf(change: ScimChange, before: StoredResource): Promise<ScimObject | null> {
  const { id } = before
  const { record, identityId: current } = await personOf(change, toState(before))
  // The key under which the person was sent: the mapping may read another one since then.
  const identityId = before.identityId ?? current
  if (identityId === null) return null
  const other = await otherRecordOf(change, { id, identityId })
  if (other !== null) return other
  if (!(await mayBeEmployed(change, { id, identityId, before }))) return null
  const keyed = withKey(change.feed.mapping, record, identityId)
  if (keyed !== null) return asInactive(keyed)
  throw new ScimError(
    503,
    'the key of people was mapped otherwise when this user was stored: its operator has to map it as before',
  )
}

type PossiblePerson = KeyOfUser & { readonly before: StoredResource | null }

/** Whether a person that a user stated to be employed can be employed now: known, or in an event that may still take effect. */
async function mayBeEmployed({ tx, feed }: ScimChange, { id, identityId, before }: PossiblePerson): Promise<boolean> {
  if (identityId === null) return false
  const { connection } = feed
  const isSamePerson = before !== null && before.identityId === identityId
  if (isSamePerson && (before.isActive || (await mayTakeEffect(tx, { connection, eventId: id })))) return true
  const key = await resolveKey(tx, { connection, identityId })
  return (await rosterEntry(tx, { connection, identityId: key })) !== null
}

/** Stores the events of the active users whose manager has another key than before. */
export async function changeReportsOf(change: ScimChange, managerId: string): Promise<void> {
  const { tx, feed } = change
  await addStates(change, await activeReportsOf(tx, { connection: feed.connection, managerId, path: managerPath }))
}

/** Gives users whose groups have changed another version and, if the mapping reads groups, stores their events. */
export async function changeGroupsOf(change: ScimChange, userIds: Iterable<string>): Promise<void> {
  const { tx, feed, at } = change
  const ids = [...new Set(userIds)]
  await renewVersions(tx, { connection: feed.connection, kind: 'User', at }, ids)
  if (!feed.readsGroups) return
  const users = await findResourcesWithIds(tx, { connection: feed.connection, kind: 'User' }, ids)
  // Somebody who has left has no groups that count.
  await addStates(
    change,
    ids.flatMap((id) => users.get(id) ?? []).filter(({ isActive }) => isActive),
  )
}

/** Stores an event for each of these users as it is. */
async function addStates(change: ScimChange, users: readonly StoredResource[]): Promise<void> {
  const states = users.map(toState)
  const toPersonOf = await personReader(change, states)
  await addRecords(
    change,
    states.map((state) => [toPersonOf(state).record]),
  )
}

function toState({ id, body }: StoredResource): UserState {
  return { id, resource: body as ScimResource }
}

function isRekeyed({ identityId, isActive }: StoredResource, person: ScimPerson): boolean {
  return isActive && identityId !== null && identityId !== person.identityId
}

function lacksKey({ person, isActive }: { readonly person: ScimPerson; readonly isActive: boolean }): boolean {
  return !isActive && person.identityId === null
}

type KeyOfUser = { readonly id: string; readonly identityId: string | null }

/** The record of the newest other active user of a person; null if there is none. */
async function otherRecordOf(change: ScimChange, { id, identityId }: KeyOfUser): Promise<ScimObject | null> {
  if (identityId === null) return null
  const { tx, feed } = change
  const [other] = await findOthersOf(tx, { connection: feed.connection, identityId, except: id })
  return other === undefined ? null : (await personOf(change, toState(other))).record
}

async function addRecords(
  { tx, feed, at, stored }: ScimChange,
  events: readonly (readonly ScimObject[])[],
): Promise<void> {
  const { connection } = feed
  stored.events += events.length
  await addEvents(
    tx,
    events.map((records): NewEvent => {
      const body = Buffer.from(JSON.stringify(records.length === 1 ? records[0] : records))
      const id = typeof records.at(-1)?.id === 'string' ? String(records.at(-1)?.id) : null
      return { connection, key: randomUUID(), eventId: id, signedAt: null, receivedAt: at, body, isTest: false }
    }),
  )
}
