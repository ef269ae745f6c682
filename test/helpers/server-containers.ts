import { randomBytes } from 'node:crypto'
import type { GenericContainer } from 'testcontainers'
import type { Server, ServerKind } from './servers.ts'

const pullLimitMs = 120_000
const images = { redis: 'redis:8-alpine', postgres: 'postgres:18-alpine' } as const

/** Starts a server in a container, or says why it cannot. */
export async function startContainer(kind: ServerKind): Promise<Server | string> {
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
  return kind === 'redis' ? startRedis(container, testcontainers) : startPostgres(container, testcontainers)
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

async function startRedis(container: GenericContainer, { Wait }: Testcontainers): Promise<Server> {
  const started = await container
    .withCommand(['redis-server', '--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction'])
    .withExposedPorts(6379)
    .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/))
    .start()
  return {
    url: `redis://${started.getHost()}:${started.getMappedPort(6379)}`,
    origin: `${images.redis} in a container`,
    [Symbol.asyncDispose]: async () => void (await started.stop({ remove: true, removeVolumes: true })),
  }
}

async function startPostgres(container: GenericContainer, { Wait }: Testcontainers): Promise<Server> {
  const password = randomBytes(12).toString('hex')
  const started = await container
    .withEnvironment({ POSTGRES_USER: 'rollcall', POSTGRES_PASSWORD: password, POSTGRES_DB: 'rollcall' })
    .withCommand(['postgres', '-c', 'max_connections=300'])
    .withExposedPorts(5432)
    // The image starts a first server, without TCP, to prepare the second one.
    .withWaitStrategy(Wait.forSuccessfulCommand('pg_isready -h 127.0.0.1 -U rollcall'))
    .start()
  return {
    url: `postgres://rollcall:${password}@${started.getHost()}:${started.getMappedPort(5432)}/rollcall`,
    origin: `${images.postgres} in a container`,
    [Symbol.asyncDispose]: async () => void (await started.stop({ remove: true, removeVolumes: true })),
  }
}
