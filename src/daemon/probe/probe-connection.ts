import type { CustomConnection } from '../../contract/platform/custom-connections.ts'
import type { Identity } from '../../contract/platform/hris-user-identities.ts'
import { Failure } from '../../errors.ts'
import { walk } from '../../http/client/walk.ts'
import type { PlatformClient } from '../../sync/context/context.ts'
import { change, type ProbeContext, read, readWhole, unexpectedFailure } from './asking.ts'

/** The name of a probe's connection on the platform. */
export const probeName = 'Rollcall probe'
const description = 'Made by "rollcall check --probe", which removes it again. If it stays, the next probe removes it.'

/** The prefix of all keys that a probe sends. */
export const probeKeyPrefix = 'rollcall-probe'

const pageSize = 500

/** The IDs of connections that earlier probes left behind. Throws `conflict` if one of them holds other people. */
export async function findProbeConnections(asking: ProbeContext): Promise<readonly number[]> {
  const connections = await listConnections(asking)
  const ids = connections.filter(isOfProbe).map(({ id }) => id)
  for (const id of ids) {
    const people = await listPeople(asking, id)
    if (people.every(({ identityId }) => identityId.startsWith(probeKeyPrefix))) continue
    const message = `custom connection ${id} looks like that of a probe and holds other people: give it another name and description`
    throw new Failure('conflict', `${asking.platform.baseUrl}: ${message}`)
  }
  return ids
}

function isOfProbe({ clientAlias, description: text, providerTypes }: CustomConnection): boolean {
  return (clientAlias === probeName || text === description) && providerTypes?.includes('HRIS') === true
}

/** Creates the connection of a probe and returns its ID. */
export async function createProbeConnection(asking: ProbeContext): Promise<number> {
  const body = { name: probeName, description, providerTypes: ['HRIS' as const] }
  const outcome = await change(asking, (client) => client.createCustomConnection({ body }))
  if (outcome.kind !== 'done') throw unexpectedFailure(asking.platform, outcome)
  return outcome.body.id
}

/** Removes the connections of probes with all that they hold. Throws if one of them is still there afterwards. */
export async function removeProbeConnections(asking: ProbeContext, ids: readonly number[]): Promise<void> {
  for (const connectionId of ids) {
    const outcome = await change(asking, (client) => client.deleteCustomConnection({ params: { connectionId } }))
    if (outcome.kind !== 'done' && outcome.kind !== 'missing') throw unexpectedFailure(asking.platform, outcome)
  }
  for (const connectionId of ids) {
    const outcome = await read(asking, (client, options) =>
      client.getCustomConnection({ params: { connectionId }, query: {} }, options),
    )
    if (outcome.kind === 'done')
      throw new Failure(
        'contract_differs',
        `${asking.platform.baseUrl}: custom connection ${connectionId} is still there`,
      )
  }
}

/** All custom connections of the account. */
export async function listConnections(asking: ProbeContext): Promise<CustomConnection[]> {
  const { platform, signal } = asking
  const list = (input: Parameters<PlatformClient['listCustomConnections']>[0]) =>
    platform.rateLimiter.send(() => platform.client.listCustomConnections(input, { signal }), signal)
  return await readWhole(asking, walk(list, { query: { size: pageSize } }))
}

/** The people of a connection, listed as Rollcall lists them to verify somebody. */
export async function listPeople(asking: ProbeContext, connectionId: number): Promise<Identity[]> {
  const { platform, signal } = asking
  const list = (input: Parameters<PlatformClient['listHrisUserIdentities']>[0]) =>
    platform.rateLimiter.send(() => platform.client.listHrisUserIdentities(input, { signal }), signal)
  const query = { size: pageSize, sort: 'createdAt', sortDir: 'DESC' } as const
  return await readWhole(asking, walk(list, { params: { connectionId }, query }))
}
