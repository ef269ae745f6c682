import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { GenericContainer, StartedTestContainer } from 'testcontainers'
import { vi } from 'vitest'
import { freePort } from './free-port.ts'
import type { ServerKind, StartedServer } from './servers.ts'
import { durable, postgresSettings, type Use } from './use.ts'

const pullLimitMs = 120_000
const readyLimitMs = 60_000
const askAgainMs = 100
const freezing = { timeout: 30_000, interval: askAgainMs }
const images = { redis: 'redis:8-alpine', postgres: 'postgres:18-alpine' } as const

/** Starts a server in a container, or says why it cannot. */
export async function startContainer(kind: ServerKind, use = durable): Promise<StartedServer | string> {
  // The reaper is one more image; what is started here is removed here.
  process.env.TESTCONTAINERS_RYUK_DISABLED ??= 'true'
  const testcontainers = await import('testcontainers')
  const image = images[kind]
  try {
    await fetchImage(testcontainers, image)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  const container = new testcontainers.GenericContainer(image)
  return kind === 'redis' ? startRedis(container, testcontainers) : startPostgres(container, testcontainers, use)
}

/** Whether a Docker engine answers. */
export async function hasEngine(): Promise<boolean> {
  const { getContainerRuntimeClient } = await import('testcontainers')
  return await getContainerRuntimeClient().then(
    () => true,
    () => false,
  )
}

type Testcontainers = typeof import('testcontainers')

async function fetchImage({ getContainerRuntimeClient, ImageName }: Testcontainers, image: string): Promise<void> {
  const runtime = await getContainerRuntimeClient()
  const name = ImageName.fromString(image)
  if (await runtime.image.exists(name)) return
  const limit = Promise.withResolvers<never>()
  const timer = setTimeout(() => limit.reject(new Error(`pulling ${image} took too long`)), pullLimitMs)
  try {
    await Promise.race([runtime.image.pull(name), limit.promise])
  } finally {
    clearTimeout(timer)
  }
}

async function startRedis(container: GenericContainer, testcontainers: Testcontainers): Promise<StartedServer> {
  const port = await freePort()
  const started = await container
    .withCommand(['redis-server', '--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction'])
    .withExposedPorts({ container: 6379, host: port })
    .withWaitStrategy(testcontainers.Wait.forLogMessage(/Ready to accept connections/))
    .start()
  return {
    url: `redis://${started.getHost()}:${port}`,
    origin: `${images.redis} in a container`,
    ...(await handle(started, testcontainers, { isReady: ['redis-cli', 'ping'] })),
  }
}

async function startPostgres(
  container: GenericContainer,
  testcontainers: Testcontainers,
  use: Use,
): Promise<StartedServer> {
  const password = randomBytes(12).toString('hex')
  const port = await freePort()
  const isReady = ['pg_isready', '-h', '127.0.0.1', '-U', 'rollcall']
  // A file system in memory ends with its container, and so is nothing for a server that is to be killed and started again.
  const started = await (use.durable ? container : container.withTmpFs({ '/var/lib/postgresql': 'rw' }))
    .withEnvironment({
      POSTGRES_USER: 'rollcall',
      POSTGRES_PASSWORD: password,
      POSTGRES_DB: 'rollcall',
      POSTGRES_INITDB_ARGS: '--no-sync',
    })
    .withCommand([
      'postgres',
      ...Object.entries(postgresSettings(use)).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ])
    .withExposedPorts({ container: 5432, host: port })
    // The image starts a first server, without TCP, to prepare the second one.
    .withWaitStrategy(testcontainers.Wait.forSuccessfulCommand(isReady.join(' ')))
    .start()
  return {
    url: `postgres://rollcall:${password}@${started.getHost()}:${port}/rollcall`,
    origin: `${images.postgres} in a container`,
    ...(await handle(started, testcontainers, { isReady })),
  }
}

/** What can be done to a container. An engine gives a container another port at each start unless it was told which one. */
async function handle(
  started: StartedTestContainer,
  { getContainerRuntimeClient }: Testcontainers,
  { isReady }: { readonly isReady: string[] },
): Promise<Omit<StartedServer, 'url' | 'origin'>> {
  const container = (await getContainerRuntimeClient()).container.getById(started.getId())
  return {
    async kill() {
      await container.kill({ signal: 'SIGKILL' })
      await container.wait()
    },
    async start() {
      await container.start()
      const limit = AbortSignal.timeout(readyLimitMs)
      while ((await started.exec(isReady)).exitCode !== 0) await pause(askAgainMs, undefined, { signal: limit })
    },
    // A container in which a program begins at this very moment cannot be frozen.
    pause: () => vi.waitFor(() => container.pause(), freezing),
    resume: () => container.unpause(),
    keepOn: (processors) => container.update({ CpusetCpus: processors }),
    async [Symbol.asyncDispose]() {
      // An engine does not stop what is paused.
      if ((await container.inspect()).State.Paused) await container.unpause()
      await started.stop({ remove: true, removeVolumes: true })
    },
  }
}
