import { access, constants } from 'node:fs/promises'
import { join } from 'node:path'
import { launch, serverAccount, temporaryFolder, writeOwned } from './binaries.ts'
import { freePort } from './free-port.ts'
import { findProgram, install, whyNotInstall } from './programs.ts'

const name = 'pgbouncer'
/** Where Debian puts it, which is in PATH for root alone. */
const debianProgram = '/usr/sbin/pgbouncer'

export type PoolMode = 'session' | 'transaction' | 'statement'

export type PgBouncer = AsyncDisposable & {
  /** The address of the same database over the pooler. */
  readonly at: string
}

/** Starts a PgBouncer before a database. It logs in there as the user of the address, whoever comes. */
export async function startPgBouncer(
  database: string,
  mode: PoolMode,
  settings: Readonly<Record<string, string | number>> = {},
): Promise<PgBouncer> {
  const program = await providePgBouncer()
  await using opening = new AsyncDisposableStack()
  const account = await serverAccount()
  const folder = await temporaryFolder(opening, account)
  const { hostname, port, username, password, pathname } = new URL(database)
  const login = { host: hostname, port: port || 5432, user: username, ...(password && { password }) }
  const own = {
    listen_addr: '127.0.0.1',
    listen_port: await freePort(),
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: mode,
    ...settings,
  }
  const file = join(folder, 'pgbouncer.ini')
  await writeOwned(file, `[databases]\n* = ${lines(login, ' ')}\n[pgbouncer]\n${lines(own, '\n')}\n`, account)
  const how = { program, args: [file], log: 'stderr', sign: 'process up', ending: 'SIGKILL' } as const
  // It takes over what was opened so far.
  const handled = await launch({ ...how, options: { ...account, cwd: folder } }, opening)
  return {
    at: `postgres://${username}@127.0.0.1:${own.listen_port}${pathname}`,
    [Symbol.asyncDispose]: () => handled[Symbol.asyncDispose](),
  }
}

/** Where the tests will take it from. */
export async function foreseePgBouncer(): Promise<string> {
  const program = await findPgBouncer()
  if (program !== null) return `PgBouncer at ${program}`
  const reason = await whyNotInstall()
  return reason === null ? `PgBouncer, which apt will install (${name})` : `no PgBouncer (${reason})`
}

/** The PgBouncer of this machine, installed where that is possible and it is missing. */
async function providePgBouncer(): Promise<string> {
  const program = await findPgBouncer()
  if (program !== null) return program
  const reason = await install(name)
  const installed = reason === null ? await findPgBouncer() : null
  if (installed !== null) return installed
  throw new Error(
    `there is no ${name} in PATH or at ${debianProgram}, and ${reason ?? 'installing brought none'}; install one (apt-get install ${name})`,
  )
}

async function findPgBouncer(): Promise<string | null> {
  const inPath = await findProgram(name)
  if (inPath !== null) return inPath
  return access(debianProgram, constants.X_OK).then(
    () => debianProgram,
    () => null,
  )
}

function lines(settings: Readonly<Record<string, string | number>>, separator: string): string {
  return Object.entries(settings)
    .map(([setting, value]) => `${setting}=${value}`)
    .join(separator)
}
