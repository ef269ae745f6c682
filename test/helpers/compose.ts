import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { vi } from 'vitest'
import type { CommandOutput } from './first-connection.ts'
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
  /** Runs a subcommand of Compose on the project; answers what it printed. */
  compose(...args: string[]): Promise<string>
  /** Removes what it holds, and starts it as a first trial does, which names no folder of exports and no configuration. */
  beginAgain(): Promise<void>
  /** Kills one container, by its id. */
  kill(container: string): Promise<void>
  /** The ids of the containers of these services. */
  containers(...services: string[]): Promise<string[]>
  /**
   * Has the processes of these containers die of SIGKILL, as if of themselves: what `docker kill` ends was desired to end, and the engine
   * does not start it again.
   */
  crash(...containers: string[]): Promise<void>
  /** How often the engine has started each of them again. */
  restarts(...containers: string[]): Promise<number[]>
  /** Whether the engine finds each of them healthy. */
  areHealthy(...containers: string[]): Promise<boolean>
  /** Stops a container in order and starts it again. */
  restart(container: string): Promise<void>
  /** What the engine knows of the image: the labels, and the commands that made its layers. */
  image(): Promise<{ readonly labels: Readonly<Record<string, string>>; readonly history: readonly string[] }>
  /** Runs a program in a new container of the image, as root; answers what it printed. */
  inImage(...command: string[]): Promise<string>
  /** A new container of the image, as root and without a network, in which nothing runs yet. Disposing removes it. */
  newContainer(): Promise<NewContainer>
  /**
   * Has the processes of a service stand still, so that it takes requests and answers none. Disposing lets them go on and waits until the
   * engine finds them healthy.
   */
  freeze(service: string): Promise<AsyncDisposable>
  /** Runs a program inside the container of a service; answers what it printed. */
  inside(service: string, ...command: string[]): Promise<string>
}

export type NewContainer = AsyncDisposable & {
  /** Runs a line as the shell does. */
  run(line: string, folder: string): Promise<CommandOutput>
  /** Starts it and lets it run. */
  start(line: string, folder: string): Promise<void>
}

/** Builds the image and starts the project, with this folder of exports and this configuration of Rollcall. */
export async function startProject(
  [program, ...words]: Compose,
  { exports, config }: { readonly exports: string; readonly config: string },
): Promise<Project> {
  const name = `rollcall-${randomUUID().slice(0, 8)}`
  const image = `${name}:test`
  const [platformPort, daemonPort] = [await freePort(), await freePort()]
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    ROLLCALL_IMAGE: image,
    ROLLCALL_EXPORTS: exports,
    ROLLCALL_CONFIG_FILE: config,
    ROLLCALL_PORT: String(daemonPort),
    PLATFORM_PORT: String(platformPort),
  }
  const limits = { cwd: root, env, maxBuffer: 64 * 1024 * 1024 }
  async function compose(...args: string[]): Promise<string> {
    const { stdout } = await run(program, [...words, '-p', name, ...args], limits)
    return stdout
  }
  /** Asks the engine itself, which Compose of the first generation does in seconds. */
  const containersOf = async (service: string): Promise<string[]> => {
    const labels = [`com.docker.compose.project=${name}`, `com.docker.compose.service=${service}`]
    const filters = labels.flatMap((label) => ['--filter', `label=${label}`])
    return (await docker('ps', '--all', '--quiet', ...filters)).split('\n').filter((id) => id !== '')
  }
  const docker = async (...args: string[]): Promise<string> => (await run('docker', args)).stdout.trim()
  const inspect = async (format: string, containers: readonly string[]): Promise<string[]> =>
    (await docker('inspect', '--format', format, ...containers)).split('\n')
  const areHealthy = async (...containers: string[]): Promise<boolean> =>
    (await inspect('{{.State.Health.Status}}', containers)).every((status) => status === 'healthy')

  await using starting = new AsyncDisposableStack()
  starting.defer(() => run('docker', ['image', 'rm', '--force', image]).then(() => {}))
  starting.defer(() => compose('down', '--volumes', '--timeout', '5').then(() => {}))
  await compose('up', '--detach', '--build')
  const started = starting.move()
  return {
    platformPort,
    daemonPort,
    compose,
    async beginAgain() {
      await compose('down', '--volumes', '--timeout', '5')
      delete env.ROLLCALL_EXPORTS
      delete env.ROLLCALL_CONFIG_FILE
      await compose('up', '--detach')
    },
    kill: (container) => docker('kill', container).then(() => {}),
    containers: async (...services) => (await Promise.all(services.map(containersOf))).flat(),
    async crash(...containers) {
      const pids = await inspect('{{.State.Pid}}', containers)
      const killing = 'for (const pid of process.argv.slice(1)) process.kill(Number(pid), "SIGKILL")'
      await docker('run', '--rm', '--pid=host', '--user=root', '--entrypoint=node', image, '-e', killing, ...pids)
    },
    restarts: async (...containers) => (await inspect('{{.RestartCount}}', containers)).map(Number),
    areHealthy,
    restart: (container) => docker('restart', '--time', '30', container).then(() => {}),
    async image() {
      const labels: Record<string, string> = JSON.parse(
        await docker('image', 'inspect', '--format', '{{json .Config.Labels}}', image),
      )
      const history = (await docker('history', '--no-trunc', '--format', '{{.CreatedBy}}', image)).split('\n')
      return { labels, history }
    },
    inImage: (command, ...args) => docker('run', '--rm', '--user=root', `--entrypoint=${command}`, image, ...args),
    async newContainer() {
      const isolated = ['--rm', '--init', '--network=none', '--user=root', '--entrypoint=sleep']
      const id = await docker('run', '--detach', ...isolated, image, 'infinity')
      return {
        run: (line, folder) =>
          new Promise((resolve) => {
            const args = ['exec', '--workdir', folder, '--env', 'NO_COLOR=1', id, 'bash', '-c', line]
            execFile('docker', args, (error, stdout, stderr) =>
              resolve({ exit: error ? Number(error.code) : 0, output: stdout + stderr }),
            )
          }),
        start: (line, folder) =>
          docker('exec', '--detach', '--workdir', folder, id, 'bash', '-c', `exec ${line}`).then(() => {}),
        [Symbol.asyncDispose]: () => docker('rm', '--force', id).then(() => {}),
      }
    },
    async inside(service, ...command) {
      const [container = ''] = await containersOf(service)
      return (await run('docker', ['exec', container, ...command], limits)).stdout
    },
    async freeze(service) {
      const containers = await containersOf(service)
      // A container in which a program begins at this very moment cannot be frozen.
      await vi.waitFor(() => docker('pause', ...containers), { timeout: 30_000, interval: 500 })
      return {
        async [Symbol.asyncDispose]() {
          await docker('unpause', ...containers)
          // The engine says unhealthy of what was frozen until its next check, and Compose starts nothing that depends on such a one.
          await vi.waitUntil(() => areHealthy(...containers), { timeout: 60_000, interval: 100 })
        },
      }
    },
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
