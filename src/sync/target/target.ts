import type { CustomConnection } from '../../contract/platform/custom-connections.ts'
import { WalkInterrupted, walk } from '../../http/client/walk.ts'
import { type JsonObject, schemaAt, schemaDifferences } from '../../identity/shape/json-schema.ts'
import {
  claimTarget,
  holdsTarget,
  releaseTarget,
  setTarget,
  type Target,
  targetOf,
} from '../../store/connections/connections.ts'
import { forgetForeign } from '../../store/foreign/people.ts'
import { forgetConfirmed } from '../../store/roster/roster.ts'
import { type Lease, workingOn } from '../../store/workers/leases.ts'
import {
  type Platform,
  type RecordTarget,
  recordTarget,
  type SyncConnection,
  type SyncContext,
} from '../context/context.ts'
import { asStop, blockedBy, classifyAnswer, classifyRefusal, type Stop } from '../rate-limit/classify-answers.ts'
import type { Address, Endpoint } from './endpoint.ts'

/** How long to wait while another worker looks the target up. */
const lookUpPatienceMs = 1000

/**
 * Stores the target of a connection. If it is another platform, or another connection of it, than last time, the acknowledged records are
 * forgotten, so that all people are sent again.
 */
export async function saveTarget(ctx: SyncContext, connection: SyncConnection, known?: Target): Promise<Target> {
  const { db } = ctx.store
  const key = targetKey(ctx, connection)
  known ??= await targetOf(db, connection.name)
  if (known.key === key) return known
  return await db.transaction().execute(async (tx) => {
    // Another worker may have stored it since, and delivered there.
    const current = await targetOf(tx, connection.name, { locks: true })
    if (current.key === key) return current
    if (current.key !== null) {
      await forgetConfirmed(tx, connection.name)
      await forgetForeign(tx, connection.name)
    }
    await setTarget(tx, connection.name, { key, id: null, resource: null })
    return { key, id: null, resource: null, lacksUpdate: false }
  })
}

/** The number of a connection of the platform, and that of its resource if it takes records. */
type TargetId = { readonly id: number; readonly resource: number | null }

/** The running look-ups of each process, by connection: its other workers wait for them instead of claiming the target. */
const lookUps = new WeakMap<Lease, Map<string, Promise<TargetId | Stop>>>()

/** The platform's connection that this one feeds, to read from. It is not created: only a delivery does that. */
export async function openEndpoint(
  ctx: SyncContext,
  connection: SyncConnection,
  signal: AbortSignal,
): Promise<Endpoint | Stop> {
  const { key, id, resource } = await saveTarget(ctx, connection)
  if (id !== null) return endpointAt(ctx, connection, { id, resource, signal })
  const target = await lookUpTarget(ctx, connection, signal)
  if (target === null) return { ...endpointAt(ctx, connection, { ...nowhere, signal }), isMissing: true }
  if ('kind' in target) return target
  await setTarget(ctx.store.db, connection.name, { key: key ?? targetKey(ctx, connection), ...target })
  return endpointAt(ctx, connection, { ...target, signal })
}

/** Stands for a connection that the platform does not have. No request is made to it. */
const nowhere = { id: 0, resource: 0 } as const

/** The endpoint of a connection whose target is already known. */
export function endpointAt(
  { platform }: Pick<SyncContext, 'platform'>,
  connection: SyncConnection | undefined,
  { id, resource, signal }: TargetId & { readonly signal: AbortSignal },
): Endpoint {
  return { ...addressOf(connection, { id, resource }), platform, signal, requests: 0 }
}

function addressOf(connection: Pick<SyncConnection, 'records'> | undefined, { id, resource }: TargetId): Address {
  const shape = connection?.records?.shape
  return { connectionId: id, records: shape && resource !== null ? { resourceId: resource, shape } : null }
}

/** The platform's connection that this one feeds. It is looked up once, and created if no connection has the name. */
export async function resolveTarget(
  ctx: SyncContext,
  connection: SyncConnection,
  options: { known?: Target; signal: AbortSignal },
): Promise<Address | Stop> {
  const target = await findOrAwaitTarget(ctx, connection, options)
  return 'kind' in target ? target : addressOf(connection, target)
}

async function findOrAwaitTarget(
  ctx: SyncContext,
  connection: SyncConnection,
  { known: storedTarget, signal }: { known?: Target; signal: AbortSignal },
): Promise<TargetId | Stop> {
  const known = await saveTarget(ctx, connection, storedTarget)
  if (known.id !== null) return { id: known.id, resource: known.resource }
  const ours = lookUps.getOrInsertComputed(ctx.lease, () => new Map())
  const running = ours.get(connection.name)
  if (running) {
    // The worker that looked it up reports why it failed.
    const target = await running.catch(() => null)
    return target === null || 'kind' in target ? beingLookedUp : target
  }
  const lookUp = claimAndFindOrCreate(ctx, connection, signal)
  ours.set(connection.name, lookUp)
  try {
    return await lookUp
  } finally {
    ours.delete(connection.name)
  }
}

const beingLookedUp: Stop = {
  kind: 'wait',
  code: 'being_looked_up',
  status: 'looked_up',
  delayMs: lookUpPatienceMs,
  message: 'another worker looks the connection up',
}

/** Another process has taken over the right to create the connection. */
class TargetLost extends Error {
  override readonly name = 'TargetLost'
}

async function claimAndFindOrCreate(
  ctx: SyncContext,
  connection: SyncConnection,
  signal: AbortSignal,
): Promise<TargetId | Stop> {
  const { db } = ctx.store
  return await workingOn(ctx.lease, { kind: 'target', connection: connection.name }, async () => {
    const claim = { connection: connection.name, lease: ctx.lease }
    // Two processes that both find nothing would both create it.
    if (!(await claimTarget(db, claim))) return beingLookedUp
    try {
      const target = await findOrCreateTarget(ctx, connection, signal)
      if (!('kind' in target)) await setTarget(db, connection.name, { key: targetKey(ctx, connection), ...target })
      return target
    } catch (error) {
      if (error instanceof TargetLost) return beingLookedUp
      throw error
    } finally {
      await releaseTarget(db, claim)
    }
  })
}

/** Looks the target up without creating it. Null if no connection has the name; a stop if it cannot be used. */
export async function lookUpTarget(
  { platform }: Pick<SyncContext, 'platform'>,
  { target }: Pick<SyncConnection, 'target'>,
  signal: AbortSignal,
): Promise<TargetId | null | Stop> {
  const records = recordTarget(target)
  const id = 'id' in target ? target.id : undefined
  if (id !== undefined) return await byId(platform, { id, records }, signal)
  return 'name' in target ? await byName(platform, { name: target.name, records }, signal) : null
}

/** Looks the target up, and creates it if its name is not found. Call it only while this process holds the claim. */
async function findOrCreateTarget(
  ctx: SyncContext,
  connection: SyncConnection,
  signal: AbortSignal,
): Promise<TargetId | Stop> {
  const { target } = connection
  const existing = await lookUpTarget(ctx, connection, signal)
  if (existing !== null || !('name' in target))
    return existing ?? blockedBy('connection_missing', 404, 'the connection does not exist')
  const { client, rateLimiter } = ctx.platform
  const records = recordTarget(target)
  const body = records === null ? { name: target.name, providerTypes: ['HRIS' as const] } : creationBody(records)
  const answer = await rateLimiter.send(async () => {
    // The claim may have run out while this process was suspended, and another process may have created the connection since.
    if (!(await holdsTarget(ctx.store.db, { connection: connection.name, lease: ctx.lease }))) throw new TargetLost()
    return await client.createCustomConnection({ body }, { signal })
  }, signal)
  const classified = classifyAnswer(answer)
  if (classified.kind !== 'done') return asStop(classified)
  // A new connection of records is read again for its resource, and for the schema that the platform stored.
  return records === null
    ? { id: classified.body.id, resource: null }
    : await byId(ctx.platform, { id: classified.body.id, records }, signal)
}

function creationBody({ name, workspaces, displayNameKey, description, schema, sampleData }: RecordTarget) {
  return {
    name,
    providerTypes: ['CUSTOM' as const],
    workspaceIds: [...workspaces],
    displayNameKey,
    ...(schema === undefined ? { sampleData: { ...sampleData } } : { schema: { ...schema } }),
    ...(description !== undefined && { description }),
  }
}

type TargetQuery<K> = K & { readonly records: RecordTarget | null }

async function byId(
  { client, rateLimiter }: Platform,
  { id, records }: TargetQuery<{ readonly id: number }>,
  signal: AbortSignal,
): Promise<TargetId | Stop> {
  const type = records === null ? 'HRIS' : 'CUSTOM'
  const input = { params: { connectionId: id }, query: expandParameter(records) }
  const classified = classifyAnswer(await rateLimiter.send(() => client.getCustomConnection(input, { signal }), signal))
  if (classified.kind === 'missing')
    return blockedBy('connection_missing', 404, `the platform has no custom connection ${id}`)
  if (classified.kind !== 'done') return asStop(classified)
  const types = classified.body.providerTypes ?? []
  if (types.includes(type)) return targetIdOf(classified.body, records)
  const actual = types.join(', ') || 'unknown'
  return blockedBy(
    'connection_unsuitable',
    409,
    `custom connection ${id} of the platform is of type ${actual}, not ${type}`,
  )
}

async function byName(
  { client, rateLimiter }: Platform,
  { name, records }: TargetQuery<{ readonly name: string }>,
  signal: AbortSignal,
): Promise<TargetId | null | Stop> {
  const type = records === null ? 'HRIS' : 'CUSTOM'
  const matches: CustomConnection[] = []
  try {
    const list = (input: Parameters<typeof client.listCustomConnections>[0]) =>
      rateLimiter.send(() => client.listCustomConnections(input, { signal }), signal)
    for await (const connection of walk(list, { query: { size: 500, ...expandParameter(records) } })) {
      if (connection.clientAlias === name && connection.providerTypes?.includes(type)) matches.push(connection)
    }
  } catch (error) {
    if (error instanceof WalkInterrupted) return asStop(classifyRefusal(error.answer))
    throw error
  }
  const [first, second] = matches
  if (second === undefined) return first === undefined ? null : targetIdOf(first, records)
  const ids = matches.map(({ id }) => id).join(', ')
  const message = `the platform has ${matches.length} ${type} connections named "${name}" (${ids}); name one by id`
  return blockedBy('connection_unsuitable', 409, message)
}

function expandParameter(records: RecordTarget | null): { 'expand[]'?: ['customResources'] } {
  return records === null ? {} : { 'expand[]': ['customResources'] }
}

/** The id of a target. For records it includes the resource, whose schema must equal the configured one. */
function targetIdOf({ id, customResources = [] }: CustomConnection, records: RecordTarget | null): TargetId | Stop {
  if (records === null) return { id, resource: null }
  const [resource] = customResources.filter(({ deletedAt = null }) => deletedAt === null)
  if (resource === undefined)
    return blockedBy('connection_missing', 404, `custom connection ${id} of the platform has no resource for records`)
  const differences = differencesOf(records, resource.schema)
  if (differences.length === 0) return { id, resource: resource.id }
  return blockedBy(
    'schema_differs',
    409,
    `the schema of custom connection ${id} is another one than that of the configuration: ${differences.join('; ')}. ` +
      'The platform never changes a schema: write its schema into the configuration, or give the target another name, so that a new connection is made',
  )
}

/** How the schema of the platform differs. A schema that the platform inferred only has to allow the configured properties. */
function differencesOf({ schema, sampleData = {} }: RecordTarget, theirs: JsonObject): readonly string[] {
  if (schema !== undefined) return schemaDifferences(schema, theirs)
  return Object.keys(sampleData).flatMap((name) =>
    schemaAt(theirs, [name]) === null ? [`it allows no property ${name}`] : [],
  )
}

/** Identifies a target: another name or schema is another target. */
function targetKey({ platform }: SyncContext, { target }: SyncConnection): string {
  return JSON.stringify([platform.baseUrl, target])
}
