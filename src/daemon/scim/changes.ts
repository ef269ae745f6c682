import { randomUUID } from 'node:crypto'
import { departed, managerOf, type ScimPerson, toPerson } from '../../connectors/scim/person.ts'
import type { ScimObject, ScimResource } from '../../connectors/scim/resource.ts'
import type { ScimSource } from '../../connectors/scim/settings.ts'
import type { Mapping } from '../../identity/mapping/mapping.ts'
import { addEvents, type NewEvent } from '../../store/inbox/inbox.ts'
import type { Db } from '../../store/schema.ts'
import { groupsOf } from '../../store/scim/members.ts'
import {
  beginChange,
  findOthersOf,
  findResource,
  renewVersions,
  type StoredResource,
} from '../../store/scim/resources.ts'
import type { InTurn } from '../../system/turns.ts'

/** A connection that is pushed over SCIM. */
export type ScimFeed = {
  readonly connection: string
  readonly settings: Pick<ScimSource, 'inboxLimit' | 'bodyLimitBytes'>
  readonly mapping: Mapping
  /** Changes of one connection wait here for one another, so that each process holds one connection of the database for them. */
  readonly inTurn: InTurn
  /** Whether the mapping reads the groups of a user, so that a change of a group is a change of its members. */
  readonly readsGroups: boolean
}

/** A change under way: in one transaction, after every earlier change of the connection. */
export type ScimChange = {
  readonly tx: Db
  readonly feed: ScimFeed
  /** When the change is true. */
  readonly at: Date
}

/** A user as it is or will be stored. */
export type UserState = { readonly id: string; readonly resource: ScimResource }

/**
 * Makes a change and stores its events in one transaction, so that the resource that a sender reads and the event that a run plans never differ.
 * Returns once both are committed.
 */
export async function makeChange<T>(
  { db, now }: { readonly db: Db; readonly now: () => Date },
  feed: ScimFeed,
  make: (change: ScimChange) => Promise<T>,
): Promise<T> {
  const work = async (tx: Db) => {
    const at = await beginChange(tx, { connection: feed.connection, now: now() })
    return await make({ tx, feed, at })
  }
  return await feed.inTurn(() => db.transaction().execute(work))
}

/** The person of a user. */
export async function personOf(
  { tx, feed }: Pick<ScimChange, 'tx' | 'feed'>,
  { id, resource }: UserState,
): Promise<ScimPerson> {
  const { connection, mapping, readsGroups } = feed
  const managerId = managerOf(resource)
  const manager = managerId === null ? null : await findResource(tx, { connection, kind: 'User' }, managerId)
  const groups = readsGroups ? await groupNamesOf(tx, { connection, id }) : null
  return toPerson(mapping, resource, { id, managerKey: manager?.identityId ?? null, groups })
}

async function groupNamesOf(tx: Db, { connection, id }: { connection: string; id: string }): Promise<string[]> {
  const groups = (await groupsOf(tx, { connection, userIds: [id] })).get(id) ?? []
  return groups.map(({ display }) => display)
}

/** What a change of a user makes of its person. `before`: the user until now; null for a new one. `after`: null for a deleted one. */
type UserChange = {
  readonly before: StoredResource | null
  readonly after: (UserState & { readonly person: ScimPerson; readonly isActive: boolean }) | null
}

/**
 * Stores the event of a changed user. Somebody who has another active user stays as that user says. If the key of the user changes, the person
 * of the former key leaves in the same event.
 */
export async function addUserEvent(change: ScimChange, { before, after }: UserChange): Promise<void> {
  const records: ScimObject[] = []
  if (before !== null && (after === null || isRekeyed(before, after.person))) {
    const state = { id: before.id, resource: before.body as ScimResource }
    const { record, identityId } = await personOf(change, state)
    records.push((await otherRecordOf(change, { id: before.id, identityId })) ?? departed(record))
  }
  if (after !== null) {
    const { id, person, isActive } = after
    const other = isActive ? null : await otherRecordOf(change, { id, identityId: person.identityId })
    records.push(other ?? person.record)
  }
  await addRecords(change, [records])
}

/** Gives users whose groups have changed another version and, if the mapping reads groups, stores their events. */
export async function changeGroupsOf(change: ScimChange, userIds: Iterable<string>): Promise<void> {
  const { tx, feed, at } = change
  const ids = [...new Set(userIds)]
  await renewVersions(tx, { connection: feed.connection, kind: 'User', at }, ids)
  if (!feed.readsGroups) return
  const events: ScimObject[][] = []
  for (const id of ids) {
    const user = await findResource(tx, { connection: feed.connection, kind: 'User' }, id)
    // Somebody who has left has no groups that count.
    if (user === null || !user.isActive) continue
    const { record } = await personOf(change, { id: user.id, resource: user.body as ScimResource })
    events.push([record])
  }
  await addRecords(change, events)
}

function isRekeyed({ identityId, isActive }: StoredResource, person: ScimPerson): boolean {
  return isActive && identityId !== null && identityId !== person.identityId
}

type KeyOfUser = { readonly id: string; readonly identityId: string | null }

/** The record of the newest other active user of a person; null if there is none. */
async function otherRecordOf(change: ScimChange, { id, identityId }: KeyOfUser): Promise<ScimObject | null> {
  if (identityId === null) return null
  const { tx, feed } = change
  const [other] = await findOthersOf(tx, { connection: feed.connection, identityId, except: id })
  if (other === undefined) return null
  return (await personOf(change, { id: other.id, resource: other.body as ScimResource })).record
}

async function addRecords({ tx, feed, at }: ScimChange, events: readonly (readonly ScimObject[])[]): Promise<void> {
  const { connection } = feed
  await addEvents(
    tx,
    events.map((records): NewEvent => {
      const body = Buffer.from(JSON.stringify(records.length === 1 ? records[0] : records))
      const id = typeof records.at(-1)?.id === 'string' ? String(records.at(-1)?.id) : null
      return { connection, key: randomUUID(), eventId: id, signedAt: null, receivedAt: at, body, isTest: false }
    }),
  )
}
