import { createHash } from 'node:crypto'
import { basename, dirname, join, resolve } from 'node:path'
import type { Afterwards } from '../file/afterwards.ts'
import { type AsOf, timeOfFile } from '../file/as-of.ts'
import { type Completeness, companionNames, companionSuffixes } from '../file/completeness.ts'
import { checkRegular, type ExportFile, findStats, openWithoutWaiting, toExportFile } from '../file/export-file.ts'
import { noMarker, noMatch, symbolicLink, unreadable } from '../file/failures.ts'
import { compareNames } from '../file/names.ts'
import {
  checkFolder,
  type ExcludedFiles,
  type ExportPattern,
  findMatches,
  type Match,
  parseExportPattern,
} from './matches.ts'

const sampleBytes = 64 * 1024
/** The resolution of change times is up to two seconds, so newer files are not cached. */
const minCachedAgeMs = 10_000

/** The settings that decide which export is read and what happens to it. */
export type FolderSettings = {
  readonly path: string
  readonly complete: Completeness
  readonly afterwards: Afterwards
  readonly asOf: AsOf
  readonly timeZone: string
}

/** The folder in which the exports of a source arrive. */
export type Folder = {
  readonly settings: FolderSettings
  readonly pattern: ExportPattern
  readonly excluded: ExcludedFiles
  readonly archiveDir: string
  readonly rejectDir: string
}

/** The export that is read next. */
export type ChosenExport = Match & {
  /** The version of its content, if it was needed to choose. */
  readonly version: string | null
  /** More exports wait to be read after this one. */
  readonly more: boolean
}

type Companion = { readonly file: ExportFile; readonly modifiedAtNs: bigint }

/** The folder of a source, with paths relative to `baseDir`. */
export function resolveFolder(settings: FolderSettings, baseDir: string): Folder {
  const pattern = parseExportPattern(settings.path, baseDir)
  const archiveDir = resolve(pattern.folder, settings.afterwards.archiveDir)
  const rejectDir = resolve(pattern.folder, settings.afterwards.rejectDir)
  const excluded = { suffixes: companionSuffixes(settings.complete), folders: [archiveDir, rejectDir] }
  return { settings, pattern, excluded, archiveDir, rejectDir }
}

/** The newest export, by modification time and then by name. Refuses a folder without any. */
export async function findNewestExport(folder: Folder): Promise<ChosenExport> {
  return await firstExport(folder, newestFirst)
}

/** The export that `findNextExport` finds last. Refuses a folder without any. */
export async function findLastExport(folder: Folder): Promise<ChosenExport> {
  const inTurn = oldestFirst(folder)
  return await firstExport(folder, (a, b) => inTurn(b, a))
}

type Order = (a: Match, b: Match) => number

async function firstExport(folder: Folder, order: Order): Promise<ChosenExport> {
  const [newest] = (await exportsIn(folder)).sort(order)
  if (newest) return { ...newest, version: null, more: false }
  const hint = folder.pattern.pattern.includes('/') ? '; folders behind symbolic links are not searched' : ''
  throw noMatch(folder.pattern.displayPath, hint)
}

/** The oldest undecided export, by its as-of time and then by name; null if there is none. */
export async function findNextExport(
  folder: Folder,
  findDecided: (versions: readonly string[]) => Promise<ReadonlySet<string>>,
  findVersions: FindVersions,
): Promise<ChosenExport | null> {
  const candidates = await findVersions(await exportsIn(folder))
  const decided = await findDecided(candidates.map(({ version }) => version))
  const fresh = candidates.filter(({ version }) => !decided.has(version))
  const [next] = fresh.sort(oldestFirst(folder))
  return next ? { ...next, more: fresh.length > 1 } : null
}

type VersionedMatch = Match & { readonly version: string }

/** Adds the version of each match, without matches that no longer exist. */
export type FindVersions = (matches: readonly Match[]) => Promise<VersionedMatch[]>

/**
 * Returns a function that finds versions and caches those of its last call, so that old exports are not read again. Every change of a
 * file changes its change time, which nobody can set. Its resolution may miss an immediate change, so new files are not cached.
 */
export function createVersionFinder({ read = findVersion, nowMs = Date.now } = {}): FindVersions {
  let cache = new Map<string, { readonly state: string; readonly version: string }>()
  return async (matches) => {
    const versioned: VersionedMatch[] = []
    const nextCache: typeof cache = new Map()
    for (const match of matches) {
      const { file, stats } = match
      const state = `${file.version} ${stats.ctimeNs}`
      const cached = cache.get(file.path)
      const version = cached?.state === state ? cached.version : await read(file)
      if (version === null) continue
      versioned.push({ ...match, version })
      if (nowMs() - Number(stats.ctimeMs) > minCachedAgeMs) nextCache.set(file.path, { state, version })
    }
    cache = nextCache
    return versioned
  }
}

/** The regular files that are companions of an export with these suffixes. */
export async function findCompanions(file: ExportFile, suffixes: readonly string[]): Promise<readonly Companion[]> {
  const companions: Companion[] = []
  for (const name of suffixes.flatMap((suffix) => companionNames(file.name, suffix))) {
    const path = join(dirname(file.path), name)
    const stats = await findStats(path)
    if (stats?.isFile()) companions.push({ file: toExportFile(path, stats), modifiedAtNs: stats.mtimeNs })
  }
  return companions
}

/**
 * A digest of the name, the size, the modification time and the first and last 64 KiB of an export; null if the file no longer exists.
 * It stays the same when the file moves to another folder or the machine restarts, and differs between two deliveries. It misses a
 * change in the middle of a large file that also resets the modification time: detecting it would mean reading every file twice.
 */
export async function findVersion(file: ExportFile): Promise<string | null> {
  try {
    return await contentVersion(file)
  } catch (error) {
    if (await findStats(file.path)) throw error
    return null
  }
}

async function contentVersion({ path }: ExportFile): Promise<string> {
  await using handle = await openWithoutWaiting(path)
  const stats = await handle.stat({ bigint: true })
  if (!stats.isFile()) throw unreadable(`${path} is no regular file`, 'write the export to a file first')
  const { size, mtimeNs } = stats
  const tailAt = Math.max(sampleBytes, Number(size) - sampleBytes)
  const hash = createHash('sha256').update(JSON.stringify([basename(path), String(size), String(mtimeNs)]))
  for (const position of [0, tailAt]) {
    const { bytesRead, buffer } = await handle.read({ buffer: Buffer.alloc(sampleBytes), position })
    hash.update(buffer.subarray(0, bytesRead))
  }
  return hash.digest('hex')
}

/** The regular files that match and have their marker, if one is configured. */
async function exportsIn(folder: Folder): Promise<Match[]> {
  const matches = await findMatches(folder.pattern, folder.excluded)
  if (matches.length === 0) await checkFolder(folder.pattern)
  const link = matches.find((match) => match.link !== null)?.link
  if (link) throw symbolicLink(link)
  const files = matches.filter(({ stats }) => stats.isFile())
  if (files.length === 0 && matches[0]) checkRegular(matches[0].file, matches[0].stats)
  return withMarker(files, folder)
}

async function withMarker(files: Match[], { settings, pattern }: Folder): Promise<Match[]> {
  const { marker } = settings.complete
  if (marker === undefined || files.length === 0) return files
  const complete: Match[] = []
  for (const match of files) {
    const markers = await findCompanions(match.file, [marker])
    // A marker that is older than the export belongs to an earlier export of the same name.
    if (markers.some(({ modifiedAtNs }) => modifiedAtNs >= match.stats.mtimeNs)) complete.push(match)
  }
  if (complete.length > 0) return complete
  throw noMarker(pattern.displayPath, marker)
}

function timeOf({ file }: Match, { settings }: Folder): number {
  return timeOfFile(file, settings) ?? file.modifiedAtMs
}

/** The order in which each export is read. */
function oldestFirst(folder: Folder): Order {
  return (a, b) => timeOf(a, folder) - timeOf(b, folder) || compareNames(a.file.path, b.file.path)
}

function newestFirst(a: Match, b: Match): number {
  if (a.stats.mtimeNs !== b.stats.mtimeNs) return a.stats.mtimeNs > b.stats.mtimeNs ? -1 : 1
  return compareNames(b.file.path, a.file.path)
}
