import { mkdtemp, open, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, isAbsolute, join, matchesGlob, relative, resolve } from 'node:path'
import type { ConnectorPlace } from '../../connectors/connector.ts'
import { decodeFile } from '../../connectors/file/decode/decode.ts'
import { type ExportFile, exportFileAt } from '../../connectors/file/export-file.ts'
import { ExportFormat } from '../../connectors/file/format.ts'
import { folderOf, newestExport } from '../../connectors/folder/choice.ts'
import { CsvSource } from '../../connectors/folder/settings.ts'
import { resolveHost } from '../../connectors/http/addresses.ts'
import { openHttpClient } from '../../connectors/http/fetch.ts'
import { HttpSource, namesThisMachine } from '../../connectors/http/settings.ts'
import { chooseExport } from '../../connectors/sftp/choice.ts'
import { readStart } from '../../connectors/sftp/fetch.ts'
import { loadSftp } from '../../connectors/sftp/load.ts'
import type { SftpSession } from '../../connectors/sftp/session.ts'
import { SftpSource } from '../../connectors/sftp/settings.ts'
import { Failure } from '../../errors.ts'
import { readProblem, readRegular } from '../../system/regular-file.ts'
import type { Head } from './table.ts'

/** So much text is looked at, however long the export is; so much of one on a server is fetched for it. */
const headBytes = 32 * 1024 * 1024
const fetchedBytes = headBytes
/** What stands in place of a date: people-archive.csv beside people-2026-10-31.csv is no export. */
const dated = '[0-9]*'
const datedName = /\d{4}[-_.]?\d{2}[-_.]?\d{2}(?:[T_-]?\d{4,6}Z?)?/

/** A source as a person names it. */
type NamedSource = {
  /** A file, a folder, a pattern, or an address that begins with sftp://, https:// or http://. */
  readonly at: string
  /** The file of the password or the private key of an SFTP account, or of a bearer token. */
  readonly secretFile?: string | undefined
  /** The fingerprint of the SFTP server's host key. */
  readonly hostKey?: string | undefined
}

/** Where exports will be that follow a single file without a date in its name. Paths are as the configuration writes them. */
type LaterExports = {
  readonly path: string
  readonly pattern: string
  /** Whether no other file matches the pattern by now. */
  readonly isAlone: boolean
}

/** The beginning of an export, and the settings of the source that it was found with. */
export type Looked = {
  readonly head: Head
  readonly source: Readonly<Record<string, unknown>>
  /** Of a single file whose name says nothing of later ones; null of any other source. */
  readonly later: LaterExports | null
}

type LookOptions = {
  readonly workingDirectory: string
  /** The folder of the configuration that is to be written: its paths are relative to it. */
  readonly folder: string
  readonly signal: AbortSignal
}

/** Reads the beginning of the newest export of a source, and nothing else of it. */
export async function lookAt(named: NamedSource, options: LookOptions): Promise<Looked> {
  const url = /^[a-z]+:\/\//.test(named.at) ? URL.parse(named.at) : null
  switch (url?.protocol) {
    case undefined:
      return await lookAtFolder(named.at, options)
    case 'sftp:':
      return await lookAtSftp(url as URL, named, options)
    case 'https:':
    case 'http:':
      return await lookAtHttp(url as URL, named, options)
    default:
      throw new Failure('usage', `${named.at}: a source is a file, a folder, or an address with sftp:// or https://`)
  }
}

/** No export that a person gives in a browser unpacks to more. */
const unpackedBytes = 1024 ** 3

/** The beginning of an export that was given as a file. With `whole` it is read to its end, which refuses what is cut or unpacks to too much. */
export async function lookAtFile(
  file: ExportFile,
  { whole = false, signal }: { readonly whole?: boolean; readonly signal: AbortSignal },
): Promise<Head> {
  if (whole) {
    const decoded = decodeFile(file, ExportFormat.parse({ unpackedBytes }), { signal, secret: () => null })
    for await (const _ of decoded) signal.throwIfAborted()
  }
  return await headOf(file, signal)
}

/** A path as the configuration in `folder` writes it. */
export function pathFrom(folder: string, path: string): string {
  const short = relative(folder, path)
  return short.startsWith('..') || isAbsolute(short) ? path : `./${short}`.replace(/^\.\/(?=.)/, '')
}

async function lookAtFolder(at: string, { workingDirectory, folder, signal }: LookOptions): Promise<Looked> {
  const whole = resolve(workingDirectory, at)
  const isFolder = await stat(whole).then(
    (stats) => stats.isDirectory(),
    () => false,
  )
  const pattern = isFolder ? join(whole, '*.csv') : whole
  const settings = CsvSource.parse({ type: 'csv', path: pattern, mode: 'snapshot' })
  const { file } = await newestExport(folderOf(settings, workingDirectory))
  const exported = await exportFileAt(file.path)
  const name = basename(pattern)
  const path = isFolder ? pattern : join(dirname(pattern), datedName.test(name) ? name.replace(datedName, dated) : name)
  const later = path === whole && !/[*?[\]{}]/.test(name) ? await laterExports(whole, folder) : null
  return { head: await headOf(exported, signal), source: { type: 'csv', path: pathFrom(folder, path) }, later }
}

/** The name of a file, or the same with a date or a number before its endings. What else has such a name is no export. */
async function laterExports(path: string, folder: string): Promise<LaterExports> {
  const [, stem = '', endings = ''] = /^(.[^.]*)(.*)$/s.exec(basename(path)) ?? []
  const pattern = `${stem}{,${dated},[-_. ]${dated}}${endings}`
  const beside = await readdir(dirname(path))
  const matching = beside.filter((name) => matchesGlob(name, pattern))
  return {
    path: pathFrom(folder, path),
    pattern: pathFrom(folder, join(dirname(path), pattern)),
    isAlone: matching.length === 1,
  }
}

async function lookAtSftp(url: URL, { secretFile, hostKey }: NamedSource, options: LookOptions): Promise<Looked> {
  if (url.password !== '')
    throw new Failure('usage', 'others can read a password on the command line: name its file with --secret-file')
  if (secretFile === undefined || hostKey === undefined)
    throw new Failure(
      'usage',
      'an SFTP source needs --secret-file (the password or the private key) and --host-key (as ssh-keyscan HOST | ssh-keygen -lf - prints it)',
    )
  const secret = await secretIn(secretFile, options)
  const setting = /PRIVATE KEY|PuTTY-User-Key/.test(secret) ? 'privateKey' : 'password'
  const at = {
    type: 'sftp',
    host: url.hostname,
    ...(url.port !== '' && { port: Number(url.port) }),
    username: decodeURIComponent(url.username),
    hostKeys: [hostKey],
    path: remotePath(url),
  }
  const quiet = { quietSeconds: 0 }
  const source = checked(SftpSource.safeParse({ ...at, [setting]: secret, mode: 'snapshot', complete: quiet }))
  const { signal } = options
  const { connectSftp } = await loadSftp()
  await using session = await connectSftp(source, { secret: only(setting, secret), signal })
  const path = await exportsIn(session, source.path)
  const chosen = await chooseExport(session, { ...source, path }, { taken: async () => new Set(), signal })
  if (chosen === null) throw new Error('the newest export is always chosen')
  const bytes = await readStart(session, chosen.file.path, fetchedBytes)
  const isWhole = bytes.length === chosen.file.bytes
  const head = await headOfBytes(bytes, { name: chosen.file.name, isWhole, signal })
  return { head, source: { ...at, path, [setting]: reference(secretFile, options) }, later: null }
}

/** What a path on the server names: its exports where it is a folder, written with or without a / at its end. */
async function exportsIn(session: Pick<SftpSession, 'stats'>, path: string): Promise<string> {
  const stats = await session.stats(path)
  return stats?.kind === 'folder' ? `${path}/*.csv` : path
}

async function lookAtHttp(url: URL, { secretFile }: NamedSource, options: LookOptions): Promise<Looked> {
  const bearer = secretFile === undefined ? undefined : await secretIn(secretFile, options)
  const own = namesThisMachine(url) ? { allowPrivate: true } : {}
  const at = { type: 'http', url: url.href, format: 'csv', ...own }
  const source = checked(HttpSource.safeParse({ ...at, mode: 'snapshot', ...(bearer !== undefined && { bearer }) }))
  const { signal } = options
  const place = { baseDir: options.folder, spoolDir: options.folder, secret: only('bearer', bearer ?? null) }
  await using client = await openHttpClient(source, { place, resolve: resolveHost, signal })
  const { body } = await client.get(url, { where: `${url.origin}${url.pathname}` })
  const { bytes, isWhole } = await startOf(body, fetchedBytes)
  const name = url.pathname.split('/').findLast((part) => part !== '') ?? url.hostname
  const head = await headOfBytes(bytes, { name, isWhole, signal })
  const bearerOf = secretFile === undefined ? {} : { bearer: reference(secretFile, options) }
  return { head, source: { ...at, ...bearerOf }, later: null }
}

function remotePath({ pathname }: URL): string {
  const path = decodeURIComponent(pathname)
  return path.endsWith('/') ? `${path}*.csv` : path
}

function only(setting: string, secret: string | null): ConnectorPlace['secret'] {
  return (path) => (path === setting && secret !== null ? { read: async () => secret } : null)
}

function reference(file: string, { workingDirectory, folder }: LookOptions): string {
  return `\${file:${pathFrom(folder, resolve(workingDirectory, file))}}`
}

async function secretIn(file: string, { workingDirectory }: LookOptions): Promise<string> {
  try {
    return (await readRegular(resolve(workingDirectory, file))).trim()
  } catch (error) {
    const problem = readProblem(error, 'name the file of the secret with --secret-file')
    throw new Failure('usage', `cannot read ${file}${problem}`, { cause: error })
  }
}

type Parsed<T> = {
  readonly data?: T
  readonly error?: { readonly issues: readonly { readonly message: string }[] } | undefined
}

function checked<T>({ data, error }: Parsed<T>): T {
  if (data !== undefined) return data
  throw new Failure('usage', `the source cannot be used: ${error?.issues.map(({ message }) => message).join('; ')}`)
}

async function headOfBytes(
  bytes: Buffer,
  { name, isWhole, signal }: { readonly name: string; readonly isWhole: boolean; readonly signal: AbortSignal },
): Promise<Head> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-init-'))
  try {
    await writeFile(join(folder, 'export'), bytes, { mode: 0o600 })
    const head = await headOf(await exportFileAt(join(folder, 'export'), name), signal)
    return isWhole ? head : { ...head, isWhole: false, endsLine: null }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function headOf(file: ExportFile, signal: AbortSignal): Promise<Head> {
  const decoded = decodeFile(file, ExportFormat.parse({}), { signal, secret: () => null })
  const { bytes, isWhole } = await startOf(decoded, headBytes)
  const endsLine = isWhole ? endsInLineEnd(bytes) : await endOf(file, bytes)
  return { name: file.name, bytes, isWhole, endsLine }
}

/** The first bytes, and whether they are all. No more is asked for than needed, so that what unpacks to much costs little. */
async function startOf(chunks: AsyncIterable<Buffer>, mostBytes: number): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const pieces: Buffer[] = []
  let total = 0
  for await (const chunk of chunks) {
    pieces.push(chunk)
    total += chunk.length
    if (total > mostBytes) return { bytes: Buffer.concat(pieces).subarray(0, mostBytes), isWhole: false }
  }
  return { bytes: Buffer.concat(pieces), isWhole: true }
}

/** Whether a plain file ends with a line end; null for a packed one, whose end is not looked at. */
async function endOf(file: ExportFile, head: Buffer): Promise<boolean | null> {
  await using handle = await open(file.path, 'r')
  const first = await handle.read(Buffer.alloc(4), 0, 4, 0)
  if (!head.subarray(0, 4).equals(first.buffer.subarray(0, first.bytesRead))) return null
  const last = await handle.read(Buffer.alloc(4), 0, 4, Math.max(0, file.bytes - 4))
  return endsInLineEnd(last.buffer.subarray(0, last.bytesRead))
}

function endsInLineEnd(bytes: Buffer): boolean {
  const text = bytes.subarray(-2).filter((byte) => byte !== 0)
  return text.at(-1) === 0x0a || text.at(-1) === 0x0d
}
