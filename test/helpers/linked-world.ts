import { sql } from 'kysely'
import type { Connector, OpenOptions, Reading, SourceRow } from '../../src/connectors/connector.ts'
import { Mapping } from '../../src/identity/mapping/mapping.ts'
import type { OwnField } from '../../src/identity/record.ts'
import type { Property } from '../../src/identity/shape/property.ts'
import { compileShape } from '../../src/identity/shape/shape.ts'
import { listRuns } from '../../src/store/runs/runs.ts'
import type { SyncConnection } from '../../src/sync/context/context.ts'
import { requestRun } from '../../src/sync/sync.ts'
import { workspaceOf } from './custom-records.ts'
import { type Host, openWorld } from './world.ts'

const schema = { type: 'object', properties: { name: { type: 'string' }, title: { type: 'string' } } }
const property: Property = { type: 'string', isList: false, mayBeNull: false }
/** Awaited after each slice that a connection reads. */
type Pauses = { acme?: () => Promise<unknown>; records?: () => Promise<unknown> }

async function* withPauses(slices: readonly (readonly SourceRow[])[], pause: () => Promise<unknown> | undefined) {
  for (const slice of slices) {
    yield slice
    await pause()
  }
}

/** People, and a linked connection of records. The source fetches a copy unless told otherwise. */
export async function openLinked(
  host: Host,
  { copies = true, connector }: { copies?: boolean; connector?: Connector } = {},
) {
  await using opening = new AsyncDisposableStack()
  const { client, name } = await host.tenant()
  const workspaceId = await workspaceOf(host, name)
  const archived: string[] = []
  const listed: string[] = []
  const pauses: Pauses = {}
  const count = { opened: 0, closed: 0 }
  const world = opening.use(await openWorld({ client }))
  const source = world.connection.feeds.source
  if (!source) throw new Error('the world has no source')
  const connectorOf = (reader: keyof Pauses): Connector => ({
    open: async (options: OpenOptions) => {
      count.opened += 1
      await options.findDecided(listed)
      const reading = await source.connector.open(options)
      const slices = await Array.fromAsync(reading.rows)
      const readBy = (one: keyof Pauses): Reading => ({ ...reading, rows: withPauses(slices, () => pauses[one]?.()) })
      const reopen = async () => {
        if (count.closed === count.opened) throw new Error('the copy is gone')
        return readBy('records')
      }
      const close = async () => {
        count.closed += 1
      }
      return { ...readBy(reader), ...(copies && { reopen }), close }
    },
  })
  const shape = compileShape(
    schema,
    new Map<OwnField, Property>([
      ['.name', property],
      ['.title', property],
    ]),
  )
  const mapping = Mapping.parse({
    fields: { identityId: 'Worker ID' },
    record: { name: { column: 'First Name', property }, title: { column: 'Job Title', property } },
  })
  const archive = async ({ version }: { version: string }) => void archived.push(version)
  const people: SyncConnection = {
    ...world.connection,
    feeds: { source: { ...source, connector: connector ?? { ...connectorOf('acme'), archive } } },
  }
  const records: SyncConnection = {
    ...world.connection,
    name: 'records',
    guards: structuredClone(world.connection.guards),
    target: { name: 'Records', type: 'CUSTOM', workspaces: [workspaceId], displayNameKey: 'name', schema },
    records: { shape, deliver: 'bySource' },
    linkedTo: 'acme',
    feeds: {
      source: { ...source, mapping, shape, connector: connector ? { open: connector.open } : connectorOf('records') },
    },
  }
  Object.assign(world.sync, { connections: new Map([people, records].map((one) => [one.name, one])) })
  const lastOf = async (connection: string) => {
    const [run] = await listRuns(world.sync.store.db, { connection, limit: 1 })
    if (!run) throw new Error(`${connection} has no run`)
    return run
  }
  const { db } = world.sync.store
  const opened = opening.move()
  return {
    client,
    world,
    archived,
    listed,
    pauses,
    count,
    lastOf,
    /** A run of this connection alone. */
    async syncOnly(connection: string) {
      world.clock.now = new Date(world.clock.now.getTime() + 60_000)
      await requestRun(world.sync, { connection, trigger: 'operator' })
      await world.drain()
      return await lastOf(connection)
    },
    holdRecords: () => Object.assign(records.guards, { joiners: { count: 0, share: 0 } }),
    /** The database refuses the record of this person until `repair`. */
    breakRecord: (id: string) =>
      db.schema
        .alterTable('changes')
        .addCheckConstraint('broken', sql`record ->> '.title' is null or identity_id <> ${sql.lit(id)}`)
        .execute(),
    repair: () => db.schema.alterTable('changes').dropConstraint('broken').execute(),
    /** Works the jobs off until the last attempt at a run of the records has failed. */
    async failRecords() {
      while ((await lastOf('records')).state === 'reading') await world.minute()
      return await lastOf('records')
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
