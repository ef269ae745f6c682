import { WalkInterrupted, walk } from '../../http/client/walk.ts'
import { claimTarget, releaseTarget, setTarget, type Target, targetOf } from '../../store/connections.ts'
import { forgetConfirmed } from '../../store/roster/roster.ts'
import { type Lease, workingOn } from '../../store/workers/leases.ts'
import type { Platform, SyncConnection, SyncContext } from '../context.ts'
import { asStop, blockedBy, classifyAnswer, classifyRefusal, type Stop } from './classify-answers.ts'

/** How long to wait while another worker looks the target up. */
const lookUpPatienceMs = 1000

/**
 * Notes where a connection goes. If that is another platform than last time, or another of its connections, nothing that was
 * acknowledged there holds here, so all people are sent again.
 */
export async function noteTarget(ctx: SyncContext, connection: SyncConnection, known?: Target): Promise<Target> {
  const { db } = ctx.store
  const key = targetKey(ctx, connection)
  known ??= await targetOf(db, connection.name)
  if (known.key === key) return known
  await db.transaction().execute(async (tx) => {
    if (known.key !== null) await forgetConfirmed(tx, connection.name)
    await setTarget(tx, connection.name, { key, id: null })
  })
  return { key, id: null, lacksUpdate: false }
}

/** The look-ups under way in each process, by connection: its other workers wait for them instead of for their turn. */
const lookUps = new WeakMap<Lease, Map<string, Promise<number | Stop>>>()

/** The id of the platform's connection that this one feeds. It is looked up once, and created if no connection has the name. */
export async function resolveTarget(
  ctx: SyncContext,
  connection: SyncConnection,
  { known: noted, signal }: { known?: Target; signal: AbortSignal },
): Promise<number | Stop> {
  const known = await noteTarget(ctx, connection, noted)
  if (known.id !== null) return known.id
  const ours = lookUps.getOrInsertComputed(ctx.lease, () => new Map())
  const underWay = ours.get(connection.name)
  if (underWay) {
    // The worker that looked it up reports why it failed.
    const found = await underWay.catch(() => null)
    return typeof found === 'number' ? found : beingLookedUp
  }
  const lookUp = claimAndFind(ctx, connection, signal)
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

async function claimAndFind(ctx: SyncContext, connection: SyncConnection, signal: AbortSignal): Promise<number | Stop> {
  const { db } = ctx.store
  return await workingOn(ctx.lease, { kind: 'target', connection: connection.name }, async () => {
    // Two processes that both find nothing would both create it.
    if (!(await claimTarget(db, { connection: connection.name, lease: ctx.lease }))) return beingLookedUp
    try {
      const found = await findTarget(ctx, connection, signal)
      if (typeof found === 'number')
        await setTarget(db, connection.name, { key: targetKey(ctx, connection), id: found })
      return found
    } finally {
      await releaseTarget(db, connection.name)
    }
  })
}

/** Looks the target up without creating it. Answers its id, null if no connection has the name, or why it cannot be used. */
export async function lookUpTarget(
  { platform }: Pick<SyncContext, 'platform'>,
  { target }: Pick<SyncConnection, 'target'>,
  signal: AbortSignal,
): Promise<number | null | Stop> {
  return 'id' in target ? await byId(platform, target.id, signal) : await byName(platform, target.name, signal)
}

async function findTarget(ctx: SyncContext, connection: SyncConnection, signal: AbortSignal): Promise<number | Stop> {
  const found = await lookUpTarget(ctx, connection, signal)
  if (found !== null || !('name' in connection.target))
    return found ?? blockedBy('connection_missing', 404, 'the connection does not exist')
  const { client, pace } = ctx.platform
  const input = { body: { name: connection.target.name, providerTypes: ['HRIS' as const] } }
  const classified = classifyAnswer(await pace.send(() => client.createCustomConnection(input, { signal }), signal))
  return classified.kind === 'done' ? classified.body.id : asStop(classified)
}

async function byId({ client, pace }: Platform, id: number, signal: AbortSignal): Promise<number | Stop> {
  const input = { params: { connectionId: id }, query: {} }
  const classified = classifyAnswer(await pace.send(() => client.getCustomConnection(input, { signal }), signal))
  if (classified.kind === 'missing')
    return blockedBy('connection_missing', 404, `the platform has no custom connection ${id}`)
  if (classified.kind !== 'done') return asStop(classified)
  const types = classified.body.providerTypes ?? []
  if (types.includes('HRIS')) return id
  const found = types.join(', ') || 'unknown'
  return blockedBy(
    'connection_unsuitable',
    409,
    `custom connection ${id} of the platform is of type ${found}, not HRIS`,
  )
}

async function byName({ client, pace }: Platform, name: string, signal: AbortSignal): Promise<number | null | Stop> {
  const matches: number[] = []
  try {
    const list = (input: Parameters<typeof client.listCustomConnections>[0]) =>
      pace.send(() => client.listCustomConnections(input, { signal }), signal)
    for await (const { id, clientAlias, providerTypes } of walk(list, { query: { size: 500 } })) {
      if (clientAlias === name && providerTypes?.includes('HRIS')) matches.push(id)
    }
  } catch (error) {
    if (error instanceof WalkInterrupted) return asStop(classifyRefusal(error.answer))
    throw error
  }
  const [first, second] = matches
  if (second === undefined) return first ?? null
  const ids = matches.join(', ')
  const message = `the platform has ${matches.length} HRIS connections named "${name}" (${ids}); name one by id`
  return blockedBy('connection_unsuitable', 409, message)
}

function targetKey({ platform }: SyncContext, { target }: SyncConnection): string {
  return JSON.stringify([platform.baseUrl, target])
}
