import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type HrPerson, headers } from './world.ts'

export const rollcall = fileURLToPath(new URL('../../bin/rollcall', import.meta.url))

export type Ended = { readonly exit: number | null; readonly stdout: string; readonly stderr: string }

/** A command under way. */
export type Running = {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  says(text: string): Promise<void>
}

/** A folder with a configuration, a secret and an export, and the commands that run on it. */
export type Installation = AsyncDisposable & {
  readonly folder: string
  readonly configFile: string
  readonly dataDir: string
  /** Drops an export of these people, newer than every one before. */
  hrSays(people: readonly HrPerson[]): Promise<void>
  setKey(key: string): Promise<void>
  run(...args: readonly string[]): Promise<Ended>
  start(...args: readonly string[]): Running
}

/** Makes an installation that feeds the platform at `baseUrl`. It listens on a free port when it serves. */
export async function install({ baseUrl, key }: { baseUrl: string; key: string }): Promise<Installation> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  const configFile = join(folder, 'rollcall.yaml')
  const started = new Set<ChildProcess>()
  let exports = 0
  await mkdir(join(folder, 'exports'))
  await writeFile(configFile, configuration(baseUrl))
  await writeFile(join(folder, 'key'), key)

  function start(...args: readonly string[]): Running {
    const running = startCommand([...args, '--config', configFile])
    started.add(running.child)
    return running
  }

  return {
    folder,
    configFile,
    dataDir: join(folder, 'data'),
    async hrSays(people) {
      const file = join(folder, 'exports', 'people.csv')
      await writeFile(file, csv(people))
      // Exports of the same second would be one and the same to the guards.
      const seconds = Date.parse('2026-11-01T01:00:00Z') / 1000 + 60 * exports++
      await utimes(file, seconds, seconds)
    },
    setKey: (other) => writeFile(join(folder, 'key'), other),
    run: (...args) => start(...args).ended,
    start,
    async [Symbol.asyncDispose]() {
      for (const child of started) child.kill('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Starts a command as a person would, without a terminal. */
export function startCommand(args: readonly string[], { command = rollcall } = {}): Running {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NO_COLOR: '1' } })
  const said = { stdout: '', stderr: '' }
  const listeners = new Set<() => void>()
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text
      for (const listener of listeners) listener()
    })
  }
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (exit) => resolve({ exit, ...said }))
  })
  const says = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const listen = () => {
        if (!(said.stdout + said.stderr).includes(text)) return
        listeners.delete(listen)
        resolve()
      }
      listeners.add(listen)
      listen()
      ended.then(({ stderr }) => reject(new Error(`the command ended without saying "${text}": ${stderr}`)), reject)
    })
  return { child, ended, says }
}

function configuration(baseUrl: string): string {
  return `
platform: { baseUrl: '${baseUrl}', apiKey: '\${file:key}' }
dataDir: data
server: { port: 0 }
connections:
  acme:
    target: { name: Acme HRIS }
    source:
      type: csv
      path: exports/people.csv
      mode: snapshot
      fields:
        identityId: Worker ID
        email: Email
        firstName: First Name
        jobTitle: Job Title
        startedAt: Start Date
        separatedAt: Leaving Date
      status: { column: Status, leftWhen: [Inactive] }
`
}

function csv(people: readonly HrPerson[]): string {
  const rows = people.map(({ id, email = '', first = '', title = '', start = '', left = '', status = '' }) =>
    [id, email, first, title, start, left, status].join(','),
  )
  return `${[headers.join(','), ...rows].join('\n')}\n`
}
