import { walk } from '../../src/http/client/walk.ts'
import { Mapping } from '../../src/identity/mapping/mapping.ts'
import type { OwnField } from '../../src/identity/record.ts'
import type { Property } from '../../src/identity/shape/property.ts'
import { compileShape } from '../../src/identity/shape/shape.ts'
import type { PlatformClient, RecordRules, RecordTarget, SyncConnection } from '../../src/sync/context/context.ts'
import { type Host, openWorld, type World } from './world.ts'

/** Records with texts, a number, a list and a boolean below another property. */
export const recordSchema = {
  type: 'object',
  properties: {
    id: { type: 'string' },
    name: { type: 'string', maxLength: 40 },
    department: { type: 'string', enum: ['Sales', 'Engineering', 'Finance'] },
    costCentre: { type: 'integer' },
    trainings: { type: 'array', items: { type: 'string' } },
    laptop: { type: 'object', properties: { returned: { type: 'boolean' } } },
  },
  required: ['id', 'name'],
  additionalProperties: true,
} as const

const properties = new Map<OwnField, Property>([
  ['.name', { type: 'string', isList: false, mayBeNull: false }],
  ['.department', { type: 'string', isList: false, mayBeNull: false }],
  ['.costCentre', { type: 'integer', isList: false, mayBeNull: false }],
  ['.trainings', { type: 'string', isList: true, mayBeNull: false }],
  ['.laptop.returned', { type: 'boolean', isList: false, mayBeNull: false }],
])

export const recordHeaders = ['Worker ID', 'Name', 'Department', 'Cost Centre', 'Trainings', 'Laptop'] as const

/** A row of the imaginary export of records; what is left out is blank. */
export type RecordRow = {
  readonly id: string
  readonly name?: string
  readonly department?: string
  readonly costCentre?: string
  readonly trainings?: string
  readonly laptop?: string
}

export function workers(count: number): RecordRow[] {
  return Array.from({ length: count }, (_, at) => ({
    id: `E${String(at + 1).padStart(4, '0')}`,
    name: `Person ${at + 1}`,
    department: at % 2 === 0 ? 'Sales' : 'Engineering',
    costCentre: String(4000 + at),
    trainings: 'Security;Privacy',
    laptop: 'no',
  }))
}

/** A platform's record of a row. */
export function recordOf({ id, name, department, costCentre, trainings, laptop }: RecordRow): object {
  return {
    id,
    name,
    department,
    costCentre: Number(costCentre),
    trainings: trainings?.split(';'),
    laptop: { returned: laptop === 'yes' },
  }
}

export type RecordOptions = {
  readonly workspaceId: number
  /** Where the store is, as `openWorld` takes it. */
  readonly at?: string
  readonly deliver?: RecordRules['deliver']
  readonly target?: Partial<RecordTarget>
  readonly delivery?: SyncConnection['delivery']
}

/** Makes a workspace of an account. */
export async function workspaceOf(host: Host, account: string): Promise<number> {
  const { db } = host.platform.database
  const now = new Date()
  const { id } = await db
    .insertInto('workspaces')
    .columns(['account_id', 'is_primary', 'name', 'created_at', 'updated_at'])
    .expression((eb) =>
      eb
        .selectFrom('accounts')
        .where('name', '=', account)
        .select((of) => [
          'id',
          of.val(true).as('is_primary'),
          of.val('Main').as('name'),
          of.val(now).as('c'),
          of.val(now).as('u'),
        ]),
    )
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** A store whose connection takes records, against a real platform. */
export async function openRecordWorld(
  client: PlatformClient,
  { workspaceId, at, deliver = 'bySource', target, delivery }: RecordOptions,
): Promise<World> {
  const shape = compileShape(recordSchema, properties)
  const property = (field: OwnField) => properties.get(field)
  const mapping = Mapping.parse({
    fields: { identityId: 'Worker ID' },
    record: {
      name: { column: 'Name', property: property('.name') },
      department: { column: 'Department', property: property('.department'), onBlank: 'clear' },
      costCentre: { column: 'Cost Centre', property: property('.costCentre') },
      trainings: { column: 'Trainings', property: property('.trainings') },
      'laptop.returned': { column: 'Laptop', property: property('.laptop.returned') },
    },
  })
  const world = await openWorld({
    client,
    ...(at && { at }),
    connection: {
      target: {
        name: 'Acme records',
        type: 'CUSTOM',
        workspaces: [workspaceId],
        displayNameKey: 'name',
        schema: recordSchema,
        ...target,
      },
      records: { shape, deliver },
      ...(delivery && { delivery }),
    },
    feed: { mapping, shape },
  })
  world.source.headers = [...recordHeaders]
  return world
}

/** Runs one night in which the export has these rows. */
export async function recordNight(
  world: World,
  rows: readonly RecordRow[],
  options: { readonly full?: boolean; readonly verify?: boolean } = {},
) {
  const night = world.night([], options)
  world.source.rows = rows.map(
    ({ id, name = '', department = '', costCentre = '', trainings = '', laptop = '' }, at) => ({
      values: [id, name, department, costCentre, trainings, laptop],
      origin: { file: 'people.csv', line: at + 2 },
    }),
  )
  return await night
}

/** The IDs of the account's only CUSTOM connection and of its records resource. */
export async function findRecordResource(client: PlatformClient) {
  for await (const { id, providerTypes, customResources = [] } of walk(client.listCustomConnections, {
    query: { 'expand[]': ['customResources'] },
  })) {
    const [resource] = customResources
    if (providerTypes?.includes('CUSTOM') && resource) return { connectionId: id, resourceId: resource.id }
  }
  throw new Error('the platform has no connection of records')
}

/** Every live record by its key. */
export async function liveRecords(client: PlatformClient): Promise<Map<string, object>> {
  const params = await findRecordResource(client)
  const records = new Map<string, object>()
  for await (const { id, attributes } of walk(client.listCustomDataRecords, { params, query: { size: 500 } }))
    records.set(id, attributes)
  return records
}

/** The sessions of the connection, with their states. */
export async function sessions(client: PlatformClient): Promise<{ sessionId: string; status: string }[]> {
  const params = await findRecordResource(client)
  const result = []
  for await (const { sessionId, status } of walk(client.listCustomDataSessions, { params, query: { size: 50 } }))
    result.push({ sessionId, status })
  return result
}
