import { existsSync } from 'node:fs'
import { mkdtemp, rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import type { ClassifiedValue as ClassedView } from '../contract/control/shapes.ts'
import type { Database } from '../database/database.ts'
import { errorCode, Failure } from '../errors.ts'
import type { Verdict } from '../identity/change.ts'
import { pluralize } from '../identity/pluralize.ts'
import { type ClassifiedValue, withClassified } from '../identity/mapping/classified.ts'
import type { Reject } from '../identity/record.ts'
import type { Queue } from '../queue/queue.ts'
import { listClassifiedValues } from '../store/classified-values.ts'
import { hasRosterEntries } from '../store/roster/roster.ts'
import type { StoreSchema } from '../store/schema.ts'
import type { Platform, SyncConnection } from '../sync/context/context.ts'
import { classifyAnswer } from '../sync/rate-limit/classify-answers.ts'
import { summarizeReading } from '../sync/plan/summarize-reading.ts'
import { lookUpTarget } from '../sync/sync.ts'
import type { Events } from '../telemetry/events.ts'
import { checkChannel } from './alerts/check-channel.ts'
import { openJobs, toSyncConnection } from './assembly.ts'
import type { Config, ConnectionConfig, WebhookConfig } from './config/config.ts'
import { markerFile } from './installation/marker.ts'
import { ensureDataDir, openStore } from './installation/open-store.ts'
import { openPlatform } from './platform.ts'
import { type CheckResult, failed, failureOfStop, passed, tested, warned } from './probe/check-result.ts'
import { type KeyUse, type PermissionResult, testPermissions } from './probe/key-permissions.ts'

/** What a daemon has open: another process could not open it beside. */
type OpenedParts = { readonly store: Database<StoreSchema>; readonly queue: Queue }

/** What a check asks of a daemon: the values of a connection that people have classed, and whether an earlier run has made anybody known. */
export type DaemonQueries = {
  classifiedValues(connection: string): Promise<readonly ClassedView[]>
  knowsAnybody(connection: string): Promise<boolean>
}

export type CheckOptions = {
  readonly connection?: string
  /** Finds the daemon, which may be the only process that can use the store; null where none answers. */
  readonly findDaemon: () => Promise<DaemonQueries | null>
  /** Given by a daemon that checks itself. */
  readonly opened?: OpenedParts
  readonly events: Events
  readonly now: () => Date
  readonly signal: AbortSignal
}

/** Tests everything that a run needs, one result after the other. Nothing is sent to the platform, and no run is made. */
export async function* checkAll(config: Config, options: CheckOptions): AsyncGenerator<CheckResult> {
  const connections = [...config.connections.values()].filter(
    ({ name }) => options.connection === undefined || name === options.connection,
  )
  if (config.connections.size === 0) {
    const help = 'make the first one with "rollcall init", or in the console of "rollcall serve"'
    yield failed('configuration', new Failure('config_invalid', `${config.file} has no connection yet: ${help}`))
  } else yield passed('configuration', `${config.file}: ${[...config.connections.keys()].join(', ')}`)
  if (config.platform.isReadable)
    yield warned('configuration', 'what is sent to the platform can be read and changed on the way')
  for (const setting of config.outdated) yield warned('configuration', setting)
  await using closing = new AsyncDisposableStack()
  const place = await openPlace(config)
  if (place instanceof Failure) {
    yield failed('data folder', place)
    return
  }
  closing.use(place)
  const known = await readKnown(place, connections, options)
  for (const connection of connections) {
    yield* checkSource(toSyncConnection(place.config, connection), known, options)
    if (connection.webhook) yield await checkWebhook(connection.name, connection.webhook)
  }
  yield* checkState(place, options)
  await using platform = openPlatform(config, options.opened?.store ?? null)
  yield await tested('secrets', async () => {
    await config.platform.apiKey.read()
    return 'the API key can be read'
  })
  for (const channel of config.alerts.channels) {
    yield await tested(`alerts to ${channel.name}`, () => checkChannel(channel, options))
  }
  const targets: CheckResult[] = []
  for (const connection of connections) {
    const target = await checkTarget(platform, toSyncConnection(config, connection), options)
    yield target
    targets.push(target)
  }
  // A platform that does not answer, or refuses the key as such, says so above.
  if (targets.every(({ code }) => code === null)) yield* checkPermissions(platform, usesOf(connections), options)
}

/** What the connections need the key for. */
function usesOf(connections: readonly ConnectionConfig[]): readonly KeyUse[] {
  const uses = connections.map(({ records }): KeyUse => (records === undefined ? 'people' : 'records'))
  return [...new Set(uses)]
}

/** What the key may do besides reading, which shows only when it is needed otherwise. */
async function* checkPermissions(
  platform: Platform,
  uses: readonly KeyUse[],
  { signal }: CheckOptions,
): AsyncGenerator<CheckResult> {
  const lacking: PermissionResult[] = []
  yield await tested('permissions', async () => {
    const tried = await testPermissions(platform, signal, uses)
    lacking.push(...tried.filter(({ isGranted, isVital }) => isGranted === false && !isVital))
    const vital = tried.filter(({ isGranted, isVital }) => isGranted === false && isVital)
    if (vital.length > 0) throw new Failure('blocked', `the key lacks ${vital.map(namedPermission).join('; ')}`)
    return 'the key may read and write what runs need'
  })
  for (const one of lacking) yield warned('permissions', `the key lacks ${namedPermission(one)}`)
}

function namedPermission({ permissions, purpose }: PermissionResult): string {
  return `${permissions.join(' or ')} (${purpose})`
}

type Place = AsyncDisposable & {
  readonly config: Config
  /** True if what is written goes with the check. */
  readonly isTrial: boolean
  /** A text with the data folder where the folder of the trial is named. */
  shown(text: string): string
}

/** The data folder; before the first run, a folder in its place that goes with the check, so that nothing is left of it. */
async function openPlace(config: Config): Promise<Place | Failure> {
  const { dataDir } = config
  const shown = (text: string) => text
  try {
    if (existsSync(join(dataDir, 'store')) || existsSync(join(dataDir, markerFile))) {
      return { config, isTrial: false, shown, [Symbol.asyncDispose]: async () => {} }
    }
    const made = await ensureDataDir(dataDir)
    const trial = await mkdtemp(join(dataDir, 'check-'))
    return {
      config: { ...config, dataDir: trial },
      isTrial: true,
      shown: (text) => text.replace(trial, dataDir),
      async [Symbol.asyncDispose]() {
        await rm(trial, { recursive: true, force: true })
        if (made !== null) await removeEmpty(dataDir, made)
      },
    }
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
}

/** Removes a folder and those above it, up to `last`. A daemon that was started meanwhile has filled it: then it stays. */
async function removeEmpty(folder: string, last: string): Promise<void> {
  try {
    await rmdir(folder)
    if (folder !== last) await removeEmpty(dirname(folder), last)
  } catch (error) {
    if (errorCode(error) !== 'ENOTEMPTY') throw error
  }
}

/** What a store knows of a connection that its source is looked at with. */
type Known = { readonly classed: readonly ClassifiedValue[]; readonly hasPeople: boolean }

/** What is known by connection, or why that is unknown. Before the first run there is nothing. */
async function readKnown(
  { config, isTrial }: Place,
  connections: readonly { readonly name: string }[],
  { findDaemon, opened }: CheckOptions,
): Promise<ReadonlyMap<string, Known> | Failure> {
  const found = new Map<string, Known>()
  const ofStore = async ({ db }: OpenedParts['store']) => {
    for (const { name } of connections)
      found.set(name, { classed: await listClassifiedValues(db, name), hasPeople: await hasRosterEntries(db, name) })
  }
  try {
    const daemon = opened ? null : await findDaemon()
    if (opened) {
      await ofStore(opened.store)
    } else if (daemon) {
      for (const { name } of connections) {
        const classed = (await daemon.classifiedValues(name)).map(({ field, value, as }) => ({
          field,
          value,
          meaning: as,
        }))
        found.set(name, { classed, hasPeople: await daemon.knowsAnybody(name) })
      }
    } else if (!isTrial || config.database) {
      await using store = await openStore(config)
      await ofStore(store)
    }
    return found
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
}

async function* checkSource(
  connection: SyncConnection,
  known: ReadonlyMap<string, Known> | Failure,
  { now, signal }: CheckOptions,
): AsyncGenerator<CheckResult> {
  const feed = connection.feeds.source
  if (!feed) return
  const name = `source of ${connection.name}`
  const faults = new Map<string, number>()
  const notes: string[] = []
  const isUnknown = known instanceof Failure
  const warnings = isUnknown ? [`values count as the configuration lists them, and no further: ${known.message}`] : []
  const { classed = [], hasPeople = false } = isUnknown ? { hasPeople: true } : (known.get(connection.name) ?? {})
  const mapping = withClassified(feed.mapping, classed)
  yield await tested(name, async () => {
    const opened = await feed.connector.open({ now, signal, findDecided: async () => new Set() })
    const { source } = opened
    if (source === null) return 'nothing new to read'
    const about = { now: now(), signal, guards: connection.guards }
    const found = await summarizeReading(opened, { ...feed, mapping }, about).finally(() => opened.close?.())
    if (found.missing.length > 0) throw new Failure('source_unreadable', `${source.name}: ${found.missing.join('; ')}`)
    if (source.end !== undefined) notes.push(`end of the list: ${source.end}`)
    for (const fault of found.rejects) faults.set(kindOf(fault), (faults.get(kindOf(fault)) ?? 0) + 1)
    warnings.push(...found.warnings, ...(hasPeople ? [] : found.held.map(heldText)))
    const { rows, records, rejected, incomplete, left } = found
    if (left > 0)
      notes.push(`${left} of ${pluralize(records, 'person', 'people')} ${left === 1 ? 'has' : 'have'} left already`)
    if (records === 0)
      throw new Failure('source_unreadable', `${source.name}: none of ${pluralize(rows, 'row')} became a record`)
    return `${source.name}: ${pluralize(rows, 'row')}, ${pluralize(records, 'record')}, ${rejected} rejected, ${incomplete} with a bad cell`
  })
  for (const note of notes) yield passed(name, note)
  for (const [kind, count] of faults)
    yield passed(name, `${count} ${kind}`, kind.startsWith('rejected') ? 'rejected' : 'warning')
  for (const warning of warnings) yield warned(name, warning)
}

function heldText({ name, reason, hints = [], people = [] }: Verdict): string {
  const more = [...hints, ...(people.length > 0 ? [`such as ${people.join(', ')}`] : [])]
  return `the first plan would be held by ${name}: ${[reason, ...more].join('; ')}`
}

async function checkWebhook(connection: string, { secrets }: WebhookConfig): Promise<CheckResult> {
  return await tested(`webhook of ${connection}`, async () => {
    for (const secret of secrets) await secret.read()
    return `/webhooks/${connection}, ${pluralize(secrets.length, 'secret')} can be read`
  })
}

/** Rejected rows and bad cells are told apart by column and reason; what a cell held, and in which other line a key stands, stays aside. */
function kindOf({ column, reason, cellOnly }: Reject): string {
  const plain = reason.replaceAll(/"[^"]*"/g, '"…"').replaceAll(/\bline \d+/g, 'line …')
  return `${cellOnly ? 'with a bad cell' : 'rejected'}: ${column === null ? plain : `${column}: ${plain}`}`
}

async function* checkState({ config, isTrial, shown }: Place, options: CheckOptions): AsyncGenerator<CheckResult> {
  const { opened } = options
  if (opened) {
    yield await tested('database', async () => {
      await sql`select 1`.execute(opened.store.db)
      return opened.store.place
    })
    yield await tested('queue', async () => {
      await opened.queue.check()
      return opened.queue.place
    })
    return
  }
  await using open = new AsyncDisposableStack()
  try {
    const store = open.use(await openStore(config))
    yield passed(
      'database',
      isTrial && store.kind === 'pglite' ? `the first run will make ${shown(store.place)}` : store.place,
    )
    const queue = open.use(await openJobs(config, { store, events: options.events }))
    await queue.check()
    yield passed('queue', shown(queue.place))
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    if (error.code === 'already_active') yield passed('database', `${error.message} (not tested further)`)
    else yield failed(error.code === 'queue_unreachable' ? 'queue' : 'database', error)
  }
}

/** Reaches the platform with the key: finds the target and lists its people, which needs no more than permissions to read. */
async function checkTarget(
  platform: Platform,
  connection: SyncConnection,
  { signal }: CheckOptions,
): Promise<CheckResult> {
  return await tested(`platform for ${connection.name}`, async () => {
    const target = await lookUpTarget({ platform }, connection, signal)
    if (target === null) return `${platform.baseUrl} answers; the first run will create the connection`
    if ('kind' in target) throw failureOfStop(platform, target)
    const query = { size: 1, includeTotalCount: true }
    const { id: connectionId, resource: resourceId } = target
    const classified =
      resourceId === null
        ? classifyAnswer(await platform.client.listHrisUserIdentities({ params: { connectionId }, query }, { signal }))
        : classifyAnswer(
            await platform.client.listCustomDataRecords({ params: { connectionId, resourceId }, query }, { signal }),
          )
    if (classified.kind === 'refused' || classified.kind === 'missing') throw new Failure('blocked', classified.message)
    if (classified.kind !== 'done') throw failureOfStop(platform, classified)
    const held = classified.body.pagination.totalCount ?? 'an unknown number of'
    return `${platform.baseUrl} answers; connection ${connectionId} holds ${held} ${resourceId === null ? 'people' : 'records'}`
  })
}
