import { sql } from 'kysely'
import type { Database } from '../database/database.ts'
import { Failure } from '../errors.ts'
import { pluralize } from '../identity/pluralize.ts'
import type { Queue } from '../queue/queue.ts'
import type { StoreSchema } from '../store/schema.ts'
import type { Directory, Platform, SyncConnection } from '../sync/context/context.ts'
import { classifyAnswer } from '../sync/rate-limit/classify-answers.ts'
import { lookUpTarget, readAccounts } from '../sync/sync.ts'
import type { Events } from '../telemetry/events.ts'
import { checkChannel } from './alerts/check-channel.ts'
import { checkSource, type DaemonQueries, readStoredFacts } from './check-source.ts'
import { type CheckWorkspace, openWorkspace } from './check-workspace.ts'
import type { Config, ConnectionConfig, WebhookConfig } from './config/config.ts'
import { checkMails } from './hand-over/check-mails.ts'
import { openStore } from './installation/open-store.ts'
import { openConfiguredQueue } from './open-queue.ts'
import { openPlatform } from './platform.ts'
import {
  type CheckResult,
  failedResult,
  failureOfStop,
  passedResult,
  runTest,
  warningResult,
} from './probe/check-result.ts'
import { type KeyUse, type PermissionResult, testPermissions } from './probe/key-permissions.ts'
import { loadScim } from './scim/load.ts'
import { toDirectory, toSyncConnection } from './sync-connection.ts'

/** What a daemon that checks itself has open already; another process could not open an embedded store. */
type OpenedParts = { readonly store: Database<StoreSchema>; readonly queue: Queue }

/** What a check needs besides the configuration. */
export type CheckOptions = {
  /** Checks this connection only. */
  readonly connection?: string
  /** Finds the daemon, which may be the only process that can use the store; null where none responds. */
  readonly findDaemon: () => Promise<DaemonQueries | null>
  /** Given by a daemon that checks itself. */
  readonly opened?: OpenedParts
  readonly events: Events
  readonly now: () => Date
  readonly signal: AbortSignal
}

/** Tests everything that a run needs and yields each result. Sends nothing to the platform and creates no run. */
export async function* checkAll(config: Config, options: CheckOptions): AsyncGenerator<CheckResult> {
  const connections = [...config.connections.values()].filter(
    ({ name }) => options.connection === undefined || name === options.connection,
  )
  yield* checkConfiguration(config)
  await using closing = new AsyncDisposableStack()
  const workspace = await openWorkspace(config)
  if (workspace instanceof Failure) {
    yield failedResult('data folder', workspace)
    return
  }
  closing.use(workspace)
  const { findDaemon, opened } = options
  const { now, signal } = options
  const synced = connections.map((connection) => toSyncConnection(workspace.config, connection))
  const stored = await readStoredFacts(workspace, synced, { findDaemon, openedStore: opened?.store, now, signal })
  for (const connection of connections) {
    yield* checkSource(toSyncConnection(workspace.config, connection), stored, options)
    if (connection.pushed) yield await checkPushed(connection.name)
    if (connection.webhook) yield await checkWebhook(connection.name, connection.webhook)
  }
  for (const directory of config.directories.values()) {
    if (options.connection !== undefined && options.connection !== directory.name) continue
    yield await checkDirectory(toDirectory(workspace.config, directory), options)
  }
  yield* checkState(workspace, options)
  yield await runTest('secrets', async () => {
    await config.platform.apiKey.read()
    return 'the API key can be read'
  })
  for (const channel of config.alerts.channels) {
    yield await runTest(`alerts to ${channel.name}`, () => checkChannel(channel, options))
  }
  const { handOver: mails, alerts } = config
  if (mails !== null) yield await runTest('mails to HR', () => checkMails({ mails, alerts }))
  const { weekly } = config
  if (weekly !== null) yield await runTest('weekly summary', () => checkMails({ mails: weekly, alerts }))
  yield* checkPlatform(config, connections, options)
}

function* checkConfiguration(config: Config): Generator<CheckResult> {
  if (config.connections.size === 0) {
    const help = 'make the first one with "rollcall init", or in the console of "rollcall serve"'
    yield failedResult('configuration', new Failure('config_invalid', `${config.file} has no connection yet: ${help}`))
  } else yield passedResult('configuration', `${config.file}: ${[...config.connections.keys()].join(', ')}`)
  if (config.platform.isUnencrypted)
    yield warningResult('configuration', 'what is sent to the platform can be read and changed on the way')
  for (const setting of config.outdated) yield warningResult('configuration', setting)
}

async function checkPushed(connection: string): Promise<CheckResult> {
  return await runTest(`SCIM of ${connection}`, async () => {
    await loadScim()
    return `/scim/v2/${connection}, for senders with a token of it`
  })
}

async function checkDirectory(directory: Directory, { now, signal }: CheckOptions): Promise<CheckResult> {
  return await runTest(`source of ${directory.name}`, async () => {
    const { accounts, unreadable } = await readAccounts(directory, { now, signal, before: null })
    const enabled = accounts.filter(({ isEnabled }) => isEnabled).length
    const rows = unreadable === 0 ? '' : `, ${pluralize(unreadable, 'row')} that cannot be read whole`
    return `${pluralize(accounts.length, 'account')}, ${enabled} enabled${rows}`
  })
}

async function checkWebhook(connection: string, { secrets }: WebhookConfig): Promise<CheckResult> {
  return await runTest(`webhook of ${connection}`, async () => {
    for (const secret of secrets) await secret.read()
    return `/webhooks/${connection}, ${pluralize(secrets.length, 'secret')} can be read`
  })
}

async function* checkState(workspace: CheckWorkspace, { opened, events }: CheckOptions): AsyncGenerator<CheckResult> {
  if (opened) {
    yield await runTest('database', async () => {
      await sql`select 1`.execute(opened.store.db)
      return opened.store.location
    })
    yield await runTest('queue', async () => {
      await opened.queue.check()
      return opened.queue.location
    })
    return
  }
  const { config, isTemporary, withRealPath } = workspace
  await using opening = new AsyncDisposableStack()
  try {
    const store = opening.use(await openStore(config))
    const isMissing = isTemporary && store.kind === 'pglite'
    yield passedResult(
      'database',
      isMissing ? `the first run will make ${withRealPath(store.location)}` : store.location,
    )
    const queue = opening.use(await openConfiguredQueue(config, { store, events }))
    await queue.check()
    yield passedResult('queue', withRealPath(queue.location))
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    if (error.code === 'already_active') yield passedResult('database', `${error.message} (not tested further)`)
    else yield failedResult(error.code === 'queue_unreachable' ? 'queue' : 'database', error)
  }
}

/** Looks up each target, and tests the permissions of the key if all of them were reached. */
async function* checkPlatform(
  config: Config,
  connections: readonly ConnectionConfig[],
  options: CheckOptions,
): AsyncGenerator<CheckResult> {
  await using platform = openPlatform(config, options.opened?.store ?? null)
  let hasFailed = false
  for (const connection of connections) {
    const target = await checkTarget(platform, toSyncConnection(config, connection), options)
    yield target
    if (target.code !== null) hasFailed = true
  }
  // A platform that cannot be reached, or refuses the key as such, has been reported by a target.
  if (!hasFailed) yield* checkPermissions(platform, keyUses(connections), options)
}

/** Looks up the target and lists its people, which needs permissions to read only. */
async function checkTarget(
  platform: Platform,
  connection: SyncConnection,
  { signal }: CheckOptions,
): Promise<CheckResult> {
  return await runTest(`platform for ${connection.name}`, async () => {
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
    const count = classified.body.pagination.totalCount ?? 'an unknown number of'
    return `${platform.baseUrl} answers; connection ${connectionId} holds ${count} ${resourceId === null ? 'people' : 'records'}`
  })
}

function keyUses(connections: readonly ConnectionConfig[]): readonly KeyUse[] {
  const uses = connections.map(({ records }): KeyUse => (records === undefined ? 'people' : 'records'))
  return [...new Set(uses)]
}

/** Tests permissions that no read request needs, so that a lack of one shows before the first delivery. */
async function* checkPermissions(
  platform: Platform,
  uses: readonly KeyUse[],
  { signal }: CheckOptions,
): AsyncGenerator<CheckResult> {
  const lacking: PermissionResult[] = []
  yield await runTest('permissions', async () => {
    const results = await testPermissions(platform, signal, uses)
    lacking.push(...results.filter(({ isGranted, isVital }) => isGranted === false && !isVital))
    const vital = results.filter(({ isGranted, isVital }) => isGranted === false && isVital)
    if (vital.length > 0) throw new Failure('blocked', `the key lacks ${vital.map(permissionText).join('; ')}`)
    return 'the key may read and write what runs need'
  })
  for (const permission of lacking) yield warningResult('permissions', `the key lacks ${permissionText(permission)}`)
}

function permissionText({ permissions, purpose }: PermissionResult): string {
  return `${permissions.join(' or ')} (${purpose})`
}
