import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort } from './servers/free-port.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))
const images = ['node:26-slim', 'redis:8-alpine', 'postgres:18-alpine']
const pullLimitMs = 120_000

/** The words that call Compose on this machine. */
export type Compose = readonly [program: string, ...args: string[]]

/** How Compose is called here, or why it cannot run: no engine, no Compose, or no base images. */
export async function findCompose(): Promise<Compose | string> {
  if (!(await succeeds('docker', 'info'))) return 'no Docker engine answers'
  const compose = await firstThatAnswers([['docker', 'compose'], ['docker-compose']])
  if (compose === null) return 'there is a Docker engine and no Compose'
  for (const image of images) {
    const there = (await succeeds('docker', 'image', 'inspect', image)) || (await succeeds('docker', 'pull', image))
    if (!there) return `the image ${image} is not here and cannot be pulled`
  }
  return compose
}

/** Everything that docker-compose.yml describes, running under a name and on ports of its own. Disposing removes all of it. */
export type Project = AsyncDisposable & {
  readonly platformPort: number
  readonly daemonPort: number
  /** Of the control API on that port. */
  readonly token: string
  /** Runs a subcommand of Compose on the project; answers what it printed. */
  compose(...args: string[]): Promise<string>
  /** Runs a program inside the container of a service; answers what it printed. */
  inside(service: string, ...command: string[]): Promise<string>
}

/** Builds the image and starts the project; the folder holds the exports. */
export async function startProject([program, ...words]: Compose, exports: string): Promise<Project> {
  const name = `rollcall-${randomUUID().slice(0, 8)}`
  const image = `${name}:test`
  const token = randomUUID()
  const [platformPort, daemonPort] = [await freePort(), await freePort()]
  const env = {
    ...process.env,
    ROLLCALL_IMAGE: image,
    ROLLCALL_EXPORTS: exports,
    ROLLCALL_PORT: String(daemonPort),
    PLATFORM_PORT: String(platformPort),
    ROLLCALL_TOKEN: token,
  }
  async function compose(...args: string[]): Promise<string> {
    const limits = { cwd: root, env, maxBuffer: 64 * 1024 * 1024 }
    const { stdout } = await run(program, [...words, '-p', name, ...args], limits)
    return stdout
  }

  await using starting = new AsyncDisposableStack()
  starting.defer(() => run('docker', ['image', 'rm', '--force', image]).then(() => {}))
  starting.defer(() => compose('down', '--volumes', '--timeout', '5').then(() => {}))
  await compose('up', '--detach', '--build')
  const started = starting.move()
  return {
    platformPort,
    daemonPort,
    token,
    compose,
    inside: (service, ...command) => compose('exec', '-T', service, ...command),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

async function firstThatAnswers(candidates: readonly Compose[]): Promise<Compose | null> {
  for (const candidate of candidates) {
    const [program, ...words] = candidate
    if (await succeeds(program, ...words, 'version')) return candidate
  }
  return null
}

function succeeds(program: string, ...args: string[]): Promise<boolean> {
  return run(program, args, { timeout: pullLimitMs }).then(
    () => true,
    () => false,
  )
}
