import { cp, mkdir, mkdtemp, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { call } from './called.ts'
import { type Ended, type Running, startCommand } from './cli.ts'
import { createPostgresDatabase } from './servers/databases.ts'
import { storeFolder } from './servers/provided.ts'
import { isFull } from './tier.ts'

/** A folder as an operator has it: a configuration, a key, exports, a data folder. Disposing ends what was started there. */
export type Workplace = AsyncDisposable & {
  readonly folder: string
  readonly configFile: string
  configure(options?: WorkplaceOptions): Promise<void>
  /** Writes an export; a later one is newer. */
  drop(name: string, content: string | Uint8Array): Promise<void>
  run(...args: string[]): Promise<Ended>
  /** Runs a command with `--json`; answers its document. */
  json<T = Record<string, unknown>>(...args: string[]): Promise<{ readonly exit: number | null; readonly document: T }>
  start(...args: string[]): Running
}

export type WorkplaceOptions = {
  readonly baseUrl?: string
  readonly key?: string
  readonly target?: string
  readonly database?: string
  readonly queue?: string
  readonly path?: string
  /** How long a request to the platform may take. Default: as in production. */
  readonly requestTimeoutMs?: number
  /** What stands in `connections.acme.source` besides the file and the mode. */
  readonly source?: string
  readonly extra?: string
  /** What stands in `server` besides the address, behind a comma. */
  readonly server?: string
  /** Lines below `connections.acme`, indented by four. Without one of `verify`, nothing is read back by itself at a time of the day. */
  readonly connection?: string
}

/** The store of a workplace before its first command. Without one, the first command makes an embedded store, which takes seconds. */
export type StoreOptions = {
  /** The workplace has the store of a first start: a PostgreSQL database of its own, and in the full form an embedded one. */
  readonly hasStore?: boolean
  /** The store is embedded in either form, because the test is about that. */
  readonly isEmbedded?: boolean
}

/** Opens a workplace in a folder of its own. */
export async function openWorkplace(
  defaults: WorkplaceOptions,
  { hasStore = false, isEmbedded = isFull }: StoreOptions = {},
): Promise<Workplace> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  const configFile = join(folder, 'rollcall.yaml')
  await mkdir(join(folder, 'exports'))
  if (hasStore && isEmbedded) await cp(await storeFolder(), join(folder, 'data', 'store'), { recursive: true })
  const own = hasStore && !isEmbedded ? await createPostgresDatabase() : null
  const started: Running[] = []
  let minute = 0

  const workplace: Workplace = {
    folder,
    configFile,
    async configure(options = {}) {
      const {
        baseUrl,
        key = '',
        target = '{ name: Acme HRIS }',
        database = own?.at,
        queue,
        path,
        requestTimeoutMs,
        source = 'preset: generic',
        extra = '',
        server = '',
        connection = '',
      } = {
        ...defaults,
        ...options,
      }
      await writeFile(join(folder, 'key'), key)
      await writeFile(join(folder, 'database'), database ?? '')
      await writeFile(join(folder, 'queue'), queue ?? '')
      await writeFile(
        configFile,
        `platform:
  baseUrl: ${baseUrl}
  apiKey: \${file:key}
  requestsPerMinute: 100000
${requestTimeoutMs === undefined ? '' : `  timeoutMs: ${requestTimeoutMs}\n`}dataDir: ./data
server: { host: 127.0.0.1, port: 0${server} }
${extra}connections:
  acme:
    target: ${target}
    source: { type: csv, path: '${path ?? 'exports/*.csv'}', mode: snapshot, complete: { quietSeconds: 0 }, ${source} }
${connection}${connection.includes('verify:') ? '' : '\n    verify: never\n'}
${database ? 'database: ${file:database}\n' : ''}${queue ? 'queue: ${file:queue}\n' : ''}`,
      )
    },
    async drop(name, content) {
      // A daemon that reads meanwhile sees an export with its time, or none.
      const draft = join(folder, `${name}.draft`)
      await writeFile(draft, content)
      const modifiedAt = new Date(Date.UTC(2026, 10, 20, 1, minute++))
      await utimes(draft, modifiedAt, modifiedAt)
      await rename(draft, join(folder, 'exports', name))
    },
    run: (...args) => call([...args, '--config', configFile]),
    async json(...args) {
      const { exit, stdout, stderr } = await call([...args, '--config', configFile, '--json'])
      try {
        return { exit, document: JSON.parse(stdout) }
      } catch {
        throw new Error(`no JSON on stdout of rollcall ${args.join(' ')}: ${stdout || stderr}`)
      }
    },
    start(...args) {
      const running = startCommand([...args, '--config', configFile])
      started.push(running)
      return running
    },
    async [Symbol.asyncDispose]() {
      for (const running of started) await running[Symbol.asyncDispose]()
      await own?.[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    },
  }
  await workplace.configure()
  return workplace
}
