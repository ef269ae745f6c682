import { Failure, type FailureCode } from '../errors.ts'
import { compileMapping } from '../identity/mapping.ts'
import type { Reject } from '../identity/record.ts'
import { judgeAnswer, type Stop } from '../sync/answers.ts'
import type { Platform, SyncConnection } from '../sync/context.ts'
import { lookUpTarget } from '../sync/sync.ts'
import type { Events } from '../telemetry/events.ts'
import type { Config } from './config.ts'
import { openJobs, openPlatform, openStore, toSyncConnection } from './parts.ts'

/** One thing that was tested. `code` says which failure it would be. */
export type Check = {
  readonly name: string
  readonly message: string
  readonly code: FailureCode | null
}

export type CheckOptions = {
  readonly connection?: string | undefined
  readonly events: Events
  readonly now: () => Date
  readonly signal: AbortSignal
}

/** Tests everything that a run needs, one result after the other. Nothing is sent to the platform, and no run is made. */
export async function* checkAll(config: Config, options: CheckOptions): AsyncGenerator<Check> {
  const connections = [...config.connections.values()].filter(
    ({ name }) => options.connection === undefined || name === options.connection,
  )
  yield passed('configuration', `${config.file}: ${[...config.connections.keys()].join(', ')}`)
  for (const connection of connections) yield* checkSource(toSyncConnection(config, connection), options)
  yield* checkState(config, options)
  await using platform = openPlatform(config)
  yield await tested('secrets', async () => {
    await config.platform.apiKey.read()
    return 'the API key can be read'
  })
  for (const connection of connections) yield await checkTarget(platform, toSyncConnection(config, connection), options)
}

async function* checkSource(connection: SyncConnection, { now, signal }: CheckOptions): AsyncGenerator<Check> {
  const rejects = new Map<string, number>()
  const name = `source of ${connection.name}`
  yield await tested(name, async () => {
    const reading = await connection.open({ now, signal })
    const mapping = compileMapping(connection.mapping, reading.headers)
    if (!mapping.ok) throw new Failure('source_unreadable', `${reading.source.name}: ${mapping.missing.join('; ')}`)
    let rows = 0
    let records = 0
    for await (const slice of reading.rows) {
      for (const row of slice) {
        rows++
        const mapped = mapping.map(row)
        if ('reason' in mapped) rejects.set(kindOf(mapped), (rejects.get(kindOf(mapped)) ?? 0) + 1)
        else records++
      }
    }
    if (records === 0)
      throw new Failure('source_unreadable', `${reading.source.name}: none of ${rows} rows became a record`)
    return `${reading.source.name}: ${rows} rows, ${records} records, ${rows - records} rejected`
  })
  for (const [kind, count] of rejects) yield passed(name, `${count} rejected: ${kind}`)
}

/** Rejects are told apart by column and reason; what a cell held stays aside. */
function kindOf({ column, reason }: Reject): string {
  const plain = reason.replaceAll(/"[^"]*"/g, '"…"')
  return column === null ? plain : `${column}: ${plain}`
}

async function* checkState(config: Config, options: CheckOptions): AsyncGenerator<Check> {
  await using open = new AsyncDisposableStack()
  try {
    const store = open.use(await openStore(config))
    yield passed('database', store.place)
    const queue = open.use(await openJobs(config, { store, events: options.events }))
    await queue.check()
    yield passed('queue', queue.place)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    if (error.code === 'already_active') yield passed('database', `${error.message} (not tested further)`)
    else yield failed(error.code === 'queue_unreachable' ? 'queue' : 'database', error)
  }
}

/** Reaches the platform with the key: finds the target and lists its people, which needs no more than permissions to read. */
async function checkTarget(platform: Platform, connection: SyncConnection, { signal }: CheckOptions): Promise<Check> {
  return await tested(`platform for ${connection.name}`, async () => {
    const target = await lookUpTarget({ platform }, connection, signal)
    if (target === null) return `${platform.baseUrl} answers; the first run will create the connection`
    if (typeof target !== 'number') throw stopped(target)
    const input = { params: { connectionId: target }, query: { size: 1, includeTotalCount: true } }
    const judged = judgeAnswer(await platform.client.listHrisUserIdentities(input, { signal }))
    if (judged.kind === 'refused' || judged.kind === 'missing') throw new Failure('blocked', judged.message)
    if (judged.kind !== 'done') throw stopped(judged)
    const people = judged.body.pagination.totalCount
    return `${platform.baseUrl} answers; connection ${target} holds ${people ?? 'an unknown number of'} people`
  })
}

function stopped({ kind, message }: Stop): Failure {
  return new Failure(kind === 'blocked' ? 'blocked' : 'platform_unreachable', message)
}

async function tested(name: string, test: () => Promise<string>): Promise<Check> {
  try {
    return passed(name, await test())
  } catch (error) {
    if (error instanceof Failure) return failed(name, error)
    throw error
  }
}

function passed(name: string, message: string): Check {
  return { name, message, code: null }
}

function failed(name: string, { message, code }: Failure): Check {
  return { name, message, code }
}
