import { randomUUID } from 'node:crypto'
import { Queue as BullQueue, Worker as BullWorker } from 'bullmq'
import { Redis } from 'ioredis'
import { tlsReason } from '../database/tls-reason.ts'
import { errorCode, Failure } from '../errors.ts'
import { readProblem, readRegularSync } from '../system/regular-file.ts'
import type { Events } from '../telemetry/events.ts'
import { type Backend, consumerOptions, producerOptions } from './backend.ts'
import { createConnectionReport } from './connection-errors.ts'
import { redisName } from './redis-name.ts'
import { settlesWithin } from './unreachable.ts'

const prefix = 'rollcall'
const connectWithinMs = 5000
const probeSeconds = 60
const slowestReconnectMs = 2000

// The caller of a producer waits for the response, so a command fails soon if Redis is away. Commands of a consumer wait until Redis is
// back, as BullMQ requires.
const producerConnection = { lazyConnect: true, maxRetriesPerRequest: 1, commandTimeout: 5000 }
const consumerConnection = { maxRetriesPerRequest: null }

/**
 * A command without an answer for this long is lost: the server is gone, and only the socket is open. The longest command of a consumer
 * waits ten seconds for a job.
 */
const silenceMs = 30_000

/** Stores jobs in Redis. Refuses a server that it cannot reach (`queue_unreachable`) or that may evict jobs (`config_invalid`). */
export async function openRedisBackend(
  url: string,
  events: Events,
  { socketTimeout = silenceMs }: { readonly socketTimeout?: number } = {},
): Promise<Backend> {
  const location = redisName(url)
  const report = createConnectionReport(location, events)
  const client = createClient(url, { ...producerConnection, socketTimeout })
  try {
    await connect(client, location)
    await checkSettings(client, location, events)
  } catch (error) {
    client.disconnect()
    throw error
  }
  client.on('error', report.failed).on('ready', report.connected)

  return {
    location,
    createProducer(name, retry) {
      return new BullQueue(name, { ...producerOptions(retry), prefix, connection: client }).on('error', report.failed)
    },
    createConsumer(name, processor, settings) {
      const connection = createClient(url, { ...consumerConnection, socketTimeout })
        .on('error', report.failed)
        .on('ready', report.connected)
      const worker = new BullWorker(name, processor, { ...consumerOptions(settings), prefix, connection })
      worker.on('error', report.failed)
      return { worker, [Symbol.dispose]: () => connection.disconnect() }
    },
    async probe() {
      const key = `${prefix}:probe:${process.pid}`
      const written = randomUUID()
      await client.set(key, written, 'EX', probeSeconds)
      if ((await client.get(key)) === written) return
      throw new Failure('queue_unreachable', `${location} does not give back what was written to it`)
    },
    async [Symbol.asyncDispose]() {
      client.disconnect()
    },
  }
}

function createClient(
  address: string,
  options: (typeof producerConnection | typeof consumerConnection) & { readonly socketTimeout: number },
): Redis {
  const url = new URL(address)
  const caPath = url.searchParams.get('ca')
  url.searchParams.delete('ca')
  return new Redis(url.href, {
    ...options,
    ...(caPath !== null && { tls: { ca: readCa(caPath) } }),
    connectTimeout: connectWithinMs,
    retryStrategy: (times) => Math.min(100 * 2 ** times, slowestReconnectMs),
  })
}

/** Reads the file of CA certificates that the address names as `ca`. */
function readCa(path: string): string {
  try {
    return readRegularSync(path)
  } catch (error) {
    throw new Failure(
      'config_invalid',
      `${path}, the ca of the address of the queue, cannot be read${readProblem(error)}`,
      { cause: error },
    )
  }
}

async function connect(client: Redis, location: string): Promise<void> {
  // The promise only reports that the connection closed. An event has the reason.
  let reason: Error | undefined
  client.on('error', (error) => {
    reason = error
  })
  const connected = client.connect()
  if (!(await settlesWithin(connectWithinMs, connected))) {
    throw new Failure('queue_unreachable', `${location} does not answer: check its address and that it runs`)
  }
  await connected.catch(() => {
    throw refusalOf(reason, location)
  })
}

// The reason is not kept as a cause: ioredis attaches the command that failed, and for AUTH that is the password.
function refusalOf(reason: Error | undefined, location: string): Failure {
  if (reason !== undefined && /^(NOAUTH|WRONGPASS|ERR invalid password)/.test(reason.message)) {
    return new Failure(
      'config_invalid',
      `${location} refuses the credentials: set user name and password in its address`,
    )
  }
  const tls = reason === undefined ? null : tlsReason(reason, 'ca in the address (?ca=…)')
  if (tls !== null) return new Failure('queue_unreachable', `Cannot connect to ${location}: ${tls}`)
  const code = errorCode(reason)
  return new Failure(
    'queue_unreachable',
    `Cannot connect to ${location}${code === undefined ? '' : ` (${code})`}: check its address and that it runs`,
  )
}

// INFO contains what we need from CONFIG, which a managed Redis may have disabled. BullMQ needs INFO anyway.
async function checkSettings(client: Redis, location: string, events: Events): Promise<void> {
  const info = await client.info().catch(() => {
    throw new Failure('config_invalid', `${location} does not let this user run INFO: allow it`)
  })
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1]
  if (policy === undefined) events.queuePolicyUnknown({ place: location })
  else if (policy !== 'noeviction') {
    throw new Failure('config_invalid', `${location} evicts keys (maxmemory-policy ${policy}): set noeviction`)
  }
  if (/^aof_enabled:0/m.test(info)) events.queueAppendOnlyOff({ place: location })
}
