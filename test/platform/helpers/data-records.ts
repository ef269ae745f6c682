import type { CustomConnectionCreate } from '../../../src/contract/platform/custom-connections.ts'
import type { DataRecord } from '../../../src/contract/platform/custom-data-records.ts'
import type { SessionAction } from '../../../src/contract/platform/custom-data-sessions.ts'
import { bodyOf, type PlatformClient, type TestAccount, type TestPlatform } from './platforms.ts'

export const hostSchema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  properties: { hostname: { type: 'string' }, cpus: { type: 'number' } },
  required: ['hostname'],
}

/** A connection of type CUSTOM, with shorthands for its records and sessions. */
export type Records = Awaited<ReturnType<typeof newRecords>>

/** Makes a connection of type CUSTOM in a workspace of the account. */
export async function newRecords(
  opened: TestPlatform,
  { id: accountId, client }: TestAccount,
  schema: Record<string, unknown> = hostSchema,
) {
  const body = customConnection(await workspaceOf(opened, accountId), schema)
  const connectionId = bodyOf(await client.createCustomConnection({ body }), 201).id
  const params = { connectionId, resourceId: await resourceOf(client, connectionId) }
  const page = async (query: Parameters<PlatformClient['listCustomDataRecords']>[0]['query'] = {}) =>
    bodyOf(await client.listCustomDataRecords({ params, query }), 200)
  const sessions = async (query: Parameters<PlatformClient['listCustomDataSessions']>[0]['query'] = {}) =>
    bodyOf(await client.listCustomDataSessions({ params, query }), 200).data
  return {
    params,
    send: (data: DataRecord | DataRecord[]) => client.upsertCustomDataRecords({ params, body: { data } }),
    /** Sends a body as it is written. */
    sendText: (bodyJson: string) => client.upsertCustomDataRecords({ params, body: { data: {} } }, { bodyJson }),
    update: (recordId: string, data: DataRecord) =>
      client.updateCustomDataRecord({ params: { ...params, recordId }, body: { data } }),
    delete: (recordId: string) => client.deleteCustomDataRecord({ params: { ...params, recordId } }),
    stage: (sessionId: string, data: DataRecord | DataRecord[]) =>
      client.uploadSessionRecords({ params: { ...params, sessionId }, body: { data } }),
    act: (sessionId: string, action: SessionAction) =>
      client.performSessionAction({ params: { ...params, sessionId }, body: { action } }),
    page,
    list: async (query: Parameters<typeof page>[0] = {}) => (await page({ size: 500, ...query })).data,
    keys: async (sessionId?: string) =>
      (await page({ size: 500, ...(sessionId !== undefined && { sessionId }) })).data.map(({ id }) => id).toSorted(),
    sessions,
    states: async () => Object.fromEntries((await sessions()).map(({ sessionId, status }) => [sessionId, status])),
  }
}

export function customConnection(workspaceId: number, schema: Record<string, unknown>): CustomConnectionCreate {
  const properties = { hostname: {}, ...(schema.properties as object | undefined) }
  return {
    name: 'Servers',
    providerTypes: ['CUSTOM'],
    workspaceIds: [workspaceId],
    schema: { ...schema, properties },
    displayNameKey: 'hostname',
  }
}

/** A workspace of that account, created if it has none. */
export async function workspaceOf({ platform, clock }: TestPlatform, accountId: number): Promise<number> {
  const { db } = platform.database
  const known = await db.selectFrom('workspaces').select('id').where('account_id', '=', accountId).executeTakeFirst()
  if (known) return known.id
  const { id } = await db
    .insertInto('workspaces')
    .values({
      account_id: accountId,
      is_primary: true,
      name: 'Cloud',
      created_at: clock.now(),
      updated_at: clock.now(),
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

async function resourceOf(client: PlatformClient, connectionId: number): Promise<number> {
  const answer = await client.getCustomConnection({
    params: { connectionId },
    query: { 'expand[]': ['customResources'] },
  })
  const [resource] = bodyOf(answer, 200).customResources ?? []
  if (!resource) throw new Error('the connection has no resource')
  return resource.id
}
