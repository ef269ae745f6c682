import { type BigIntStats, constants } from 'node:fs'
import { glob, open, opendir, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, resolve } from 'node:path'
import { Failure } from '../errors.ts'

const chunkBytes = 128 * 1024

/** A file as it was when it was found; reading it later refuses any other state. */
export type ExportFile = {
  readonly path: string
  readonly name: string
  readonly bytes: number
  readonly modifiedAtMs: number
  readonly version: string
}

/** The newest regular file that `pattern` matches below `baseDir`: by modification time, then by name. */
export async function findExport(pattern: string, baseDir: string): Promise<ExportFile> {
  const path = resolve(baseDir, pattern)
  const exact = await statOf(path)
  if (exact) return described(path, exact)

  const matches = await matching(pattern, baseDir)
  const newest = matches.filter(({ stats }) => stats.isFile()).sort(newestFirst)[0] ?? matches[0]
  if (newest) return described(newest.path, newest.stats)

  await checkFolder(pattern, baseDir)
  throw unreadable(
    `no file matches ${isAbsolute(pattern) ? pattern : `${pattern} in ${baseDir}`}`,
    'check the path, and whether the export has arrived',
  )
}

/** The file's bytes from start to end. Ends normally only when all of them were read and the file is still the one that was found. */
export async function* readBytes(file: ExportFile, signal: AbortSignal): AsyncGenerator<Buffer> {
  await using handle = await openAtOnce(file)
  checkUnchanged(file, await handle.stat({ bigint: true }))
  let totalBytes = 0
  for (;;) {
    signal.throwIfAborted()
    const { bytesRead, buffer } = await handle.read({ buffer: Buffer.allocUnsafe(chunkBytes) })
    if (bytesRead === 0) break
    totalBytes += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
  checkUnchanged(file, await handle.stat({ bigint: true }))
  if (totalBytes !== file.bytes) throw changed(file)
}

export function unreadable(what: string, help: string, options?: ErrorOptions): Failure {
  return new Failure('source_unreadable', `${what}: ${help}`, options)
}

type Match = { readonly path: string; readonly stats: BigIntStats }

async function matching(pattern: string, baseDir: string): Promise<Match[]> {
  const matches: Match[] = []
  for await (const relative of glob(pattern, { cwd: baseDir })) {
    const path = resolve(baseDir, relative)
    const stats = await statOf(path)
    if (stats) matches.push({ path, stats })
  }
  return matches
}

function newestFirst(a: Match, b: Match): number {
  if (a.stats.mtimeNs !== b.stats.mtimeNs) return a.stats.mtimeNs > b.stats.mtimeNs ? -1 : 1
  return a.path > b.path ? -1 : 1
}

function described(path: string, stats: BigIntStats): ExportFile {
  const name = basename(path)
  if (stats.isDirectory()) throw unreadable(`${path} is a folder`, 'name a file in it, or a pattern such as *.csv')
  if (!stats.isFile()) throw unreadable(`${path} is no regular file`, 'write the export to a file first')
  if (stats.size === 0n)
    throw unreadable(`${name} is empty (0 bytes)`, 'check the export; an empty file says nothing about anybody')
  return {
    path,
    name,
    bytes: Number(stats.size),
    modifiedAtMs: Number(stats.mtimeNs / 1_000_000n),
    version: versionOf(stats),
  }
}

function versionOf({ dev, ino, size, mtimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs].join(':')
}

function checkUnchanged(file: ExportFile, stats: BigIntStats): void {
  if (versionOf(stats) !== file.version) throw changed(file)
}

function changed({ name }: ExportFile): Failure {
  return unreadable(
    `${name} changed while it was read`,
    'write an export under another name and rename it when it is complete',
  )
}

async function openAtOnce({ path }: ExportFile) {
  try {
    // Without O_NONBLOCK, a FIFO that was put in the file's place would hold the opening until somebody writes to it.
    return await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    throw cannotRead(path, error)
  }
}

async function statOf(path: string): Promise<BigIntStats | undefined> {
  try {
    return await stat(path, { bigint: true })
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw cannotRead(path, error)
  }
}

/** A pattern over a folder that is missing or closed to us matches nothing; say which folder it was. */
async function checkFolder(pattern: string, baseDir: string): Promise<void> {
  const folder = dirname(resolve(baseDir, pattern))
  if (/[*?[\]{}]/.test(folder)) return
  try {
    await using _folder = await opendir(folder)
  } catch (error) {
    throw cannotRead(folder, error)
  }
}

const helpByCode: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder; check the path',
  EACCES: 'permission denied; let the account that runs Rollcall read it',
  EPERM: 'permission denied; let the account that runs Rollcall read it',
  ENOTDIR: 'a part of the path is no folder; check the path',
  ELOOP: 'its symbolic links run in a circle',
  ENAMETOOLONG: 'the path is too long',
}

function cannotRead(path: string, error: unknown): Failure {
  const code = codeOf(error)
  return unreadable(`cannot read ${path}`, helpByCode[code] ?? `the system answered ${code}`, { cause: error })
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'an unknown error'
}
