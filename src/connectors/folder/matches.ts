import type { BigIntStats } from 'node:fs'
import { glob, opendir } from 'node:fs/promises'
import { basename, dirname, isAbsolute, resolve, sep } from 'node:path'
import { z } from 'zod'
import { type ExportFile, findStats, toExportFile } from '../file/export-file.ts'
import { cannotRead, unreadable } from '../file/failures.ts'
import { lockMark } from '../file/names.ts'

const maxMatches = 100_000
/** path.matchesGlob tries every way to spread a name over the wildcards: with three, a name of 255 letters takes tens of milliseconds. */
const maxWildcards = 3
const wildcard = /[*?[\]{}]|[@+!]\(/

/** The `path` setting: a file or a pattern. */
export const ExportPath = z
  .string()
  .min(1)
  .refine((path) => !path.split('/').slice(firstWildcard(path)).includes('..'), {
    error: 'a wildcard stands before .. here: it could lead anywhere',
  })
  .refine((path) => path.split('/').every(isFast), {
    error: `more than ${maxWildcards} wildcards, or one inside of another, stand in one name here: a long name could take hours`,
  })

/** The parts of a `path` setting: the part before the first wildcard is literal, the rest is searched. */
export type ExportPattern = {
  /** The folder that is searched and watched. */
  readonly folder: string
  /** The pattern that is searched in the folder. */
  readonly pattern: string
  /** The path with its wildcards taken literally. A file of that name is used instead of the matches. */
  readonly literal: string
  /** The path in messages. */
  readonly displayPath: string
}

/** Files in the folder that are no exports. */
export type ExcludedFiles = { readonly suffixes: readonly string[]; readonly folders: readonly string[] }

/** A file or folder that the pattern matches. `link`: the first symbolic link in its path, or itself; null if there is none. */
export type Match = { readonly file: ExportFile; readonly stats: BigIntStats; readonly link: string | null }

/** Splits a `path` setting, which may be relative to `baseDir`. */
export function parseExportPattern(path: string, baseDir: string): ExportPattern {
  const segments = path.split('/')
  const literalCount = Math.min(firstWildcard(path), segments.length - 1)
  const literal = resolve(baseDir, path)
  const displayPath = isAbsolute(path) ? path : `${path} in ${baseDir}`
  if (literalCount === firstWildcard(path)) {
    const folder = resolve(baseDir, `${segments.slice(0, literalCount).join('/')}${literalCount > 0 ? '/' : '.'}`)
    return { folder, pattern: segments.slice(literalCount).join('/'), literal, displayPath }
  }
  return { folder: dirname(literal), pattern: basename(literal), literal, displayPath }
}

/** What the pattern matches now, in no order. Folders behind symbolic links are searched only if the pattern names them. */
export async function findMatches(pattern: ExportPattern, apart: ExcludedFiles): Promise<Match[]> {
  const linkTo = createLinkFinder(pattern.folder)
  const matches: Match[] = []
  for (const path of await pathsOf(pattern)) {
    if (isExcluded(path, apart)) continue
    const stats = await findStats(path)
    if (stats) matches.push({ file: toExportFile(path, stats), stats, link: await linkTo(path, stats) })
  }
  return matches
}

/** Whether the path has an excluded suffix or is in an excluded folder. */
export function isExcluded(path: string, { suffixes, folders }: ExcludedFiles): boolean {
  return suffixes.some((suffix) => path.endsWith(suffix)) || folders.some((folder) => isBelow(path, folder))
}

/** Refuses a folder that is missing or unreadable, in which a pattern would simply match nothing. */
export async function checkFolder({ folder }: ExportPattern): Promise<void> {
  try {
    await using _folder = await opendir(folder)
  } catch (error) {
    throw cannotRead(folder, error)
  }
}

function isFast(segment: string): boolean {
  const wildcards = segment.match(/\*+\(?|[+@!?]\(/g) ?? []
  return wildcards.length <= maxWildcards && !/\([^)]*[*+(]/.test(segment)
}

function firstWildcard(path: string): number {
  const index = path.split('/').findIndex((segment) => wildcard.test(segment))
  return index < 0 ? Number.POSITIVE_INFINITY : index
}

async function pathsOf({ folder, pattern, literal }: ExportPattern): Promise<readonly string[]> {
  if (await findStats(literal)) return [literal]
  const paths: string[] = []
  for await (const path of glob(pattern, { cwd: folder })) {
    if (paths.length === maxMatches)
      throw unreadable(
        `more than ${maxMatches} files in ${folder} match ${pattern}`,
        'archive or delete old exports, or name a narrower pattern',
      )
    if (isLock(path) && !isLock(pattern)) continue
    paths.push(resolve(folder, path))
  }
  return paths
}

/** Whether Excel puts a file of this name beside a workbook that is open. */
function isLock(path: string): boolean {
  return basename(path).startsWith(lockMark)
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}

/** Returns a function that finds the first symbolic link in the path from `folder` to a file. Reads every folder once. */
function createLinkFinder(folder: string): (path: string, stats: BigIntStats) => Promise<string | null> {
  const links = new Map<string, Promise<string | null>>([[folder, Promise.resolve(null)]])
  const linkAt = (path: string): Promise<string | null> => {
    const known = links.get(path)
    if (known) return known
    const link = findLink(path)
    links.set(path, link)
    return link
  }
  const findLink = async (path: string) =>
    (await linkAt(dirname(path))) ?? ((await findStats(path))?.isSymbolicLink() ? path : null)

  return async (path, stats) => (await linkAt(dirname(path))) ?? (stats.isSymbolicLink() ? path : null)
}
