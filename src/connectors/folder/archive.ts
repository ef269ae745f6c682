import { lstat, readdir, unlink } from 'node:fs/promises'
import { basename, join, matchesGlob } from 'node:path'
import { errorCode } from '../../errors.ts'
import type { Decision, SourceIdentity } from '../connector.ts'
import { archiveStamp } from '../file/afterwards.ts'
import type { ExportFile } from '../file/export-file.ts'
import { unreadable } from '../file/failures.ts'
import { type Folder, findCompanions, findVersion } from './choice.ts'
import { findMatches } from './matches.ts'
import { moveInto, remove } from './move.ts'

const dayMs = 24 * 60 * 60 * 1000
const archivedName =
  /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)T(?<hour>\d\d)(?<minute>\d\d)(?<second>\d\d)Z-(?:\d+-)?(?<name>.+)$/

type ReadExport = { readonly source: SourceIdentity; readonly decision: Decision }

/**
 * Moves or deletes the export that was read, and its companions, as `afterwards` says; then deletes old archived files. Does nothing to
 * an export that no longer exists or has changed since. The export goes last: while it exists, another call completes an interrupted
 * one, companions included.
 */
export async function archiveExport(folder: Folder, { source, decision }: ReadExport, now = new Date()): Promise<void> {
  const action = folder.settings.afterwards[decision]
  const file = action === 'keep' ? undefined : await findUnchanged(folder, source)
  if (file) {
    const companions = await findCompanions(file, folder.excluded.suffixes)
    const target = decision === 'accepted' ? folder.archiveDir : folder.rejectDir
    for (const each of [...companions.map((companion) => companion.file), file]) {
      if (action === 'delete') await remove(each)
      else await moveInto(target, each, archiveStamp(now))
    }
  }
  await prune(folder, now)
}

async function findUnchanged(folder: Folder, { name, version }: SourceIdentity): Promise<ExportFile | undefined> {
  for (const { file, stats, link } of await findMatches(folder.pattern, folder.excluded)) {
    if (file.name !== name || link !== null || !stats.isFile()) continue
    if ((await findVersion(file)) === version) return file
  }
  return undefined
}

/** Deletes files that were archived more than `keepDays` days ago, by the time at the beginning of their names. */
async function prune(folder: Folder, now: Date): Promise<void> {
  const { keepDays } = folder.settings.afterwards
  if (keepDays === undefined) return
  for (const dir of [folder.archiveDir, folder.rejectDir]) {
    for (const name of await namesIn(dir)) {
      const archivedMs = archivedAtMs(name, folder)
      if (archivedMs !== null && now.getTime() - archivedMs > keepDays * dayMs) await removeOld(join(dir, name))
    }
  }
}

/** When Rollcall archived a file of that name, in milliseconds since 1970; null for any other file. */
function archivedAtMs(fileName: string, { pattern, excluded }: Folder): number | null {
  const groups = archivedName.exec(fileName)?.groups
  if (!groups) return null
  const { year, month, day, hour, minute, second, name = '' } = groups
  const isOurs =
    matchesGlob(name, basename(pattern.pattern)) ||
    name === basename(pattern.literal) ||
    excluded.suffixes.some((suffix) => name.endsWith(suffix))
  return isOurs ? Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`) : null
}

async function namesIn(dir: string): Promise<readonly string[]> {
  try {
    return await readdir(dir)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return []
    throw cannotPrune(dir, error)
  }
}

async function removeOld(path: string): Promise<void> {
  try {
    if ((await lstat(path)).isFile()) await unlink(path)
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw cannotPrune(path, error)
  }
}

function cannotPrune(path: string, error: unknown) {
  const help = 'let the account that runs Rollcall write to the folder, or leave keepDays out'
  return unreadable(`cannot delete old exports at ${path} (${errorCode(error) ?? 'an unknown error'})`, help, {
    cause: error,
  })
}
