import { lstat, readdir, unlink } from 'node:fs/promises'
import { basename, join, matchesGlob } from 'node:path'
import { errorCode } from '../../errors.ts'
import type { Decision, SourceIdentity } from '../connector.ts'
import type { ExportFile } from '../file/export-file.ts'
import { unreadable } from '../file/failures.ts'
import { findCompanions, type Folder, findVersion } from './choice.ts'
import { findMatches } from './matches.ts'
import { moveInto, remove } from './move.ts'

const dayMs = 24 * 60 * 60 * 1000
const stamped =
  /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)T(?<hour>\d\d)(?<minute>\d\d)(?<second>\d\d)Z-(?:\d+-)?(?<name>.+)$/

/**
 * Moves or deletes the export that was read, and its companions, as the configuration says. An export that is gone or has changed
 * since is left alone, so a second call does no harm. The export goes last: as long as it is there, a call that was broken off is made
 * up for by the next one, companions included.
 */
export async function archiveExport(
  folder: Folder,
  source: SourceIdentity,
  decision: Decision,
  now = new Date(),
): Promise<void> {
  const fate = folder.settings.afterwards[decision]
  const file = fate === 'keep' ? undefined : await findUnchanged(folder, source)
  if (file) {
    const companions = await findCompanions(file, folder.excluded.suffixes)
    const settle =
      fate === 'delete' ? remove : (each: ExportFile) => moveInto(targetOf(folder, decision), each, stamp(now))
    for (const each of [...companions.map((companion) => companion.file), file]) await settle(each)
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

function targetOf({ archiveDir, rejectDir }: Folder, decision: Decision): string {
  return decision === 'accepted' ? archiveDir : rejectDir
}

function stamp(now: Date): string {
  return `${now.toISOString().slice(0, 19).replaceAll(':', '')}Z`
}

/** Deletes exports that were moved more than `keepDays` days ago. The time at the beginning of the name tells when that was. */
async function prune(folder: Folder, now: Date): Promise<void> {
  const { keepDays } = folder.settings.afterwards
  if (keepDays === undefined) return
  for (const dir of [folder.archiveDir, folder.rejectDir]) {
    for (const name of await namesIn(dir)) {
      const movedAtMs = movedAt(name, folder)
      if (movedAtMs !== null && now.getTime() - movedAtMs > keepDays * dayMs) await removeOld(join(dir, name))
    }
  }
}

/** When Rollcall moved a file of that name here; null for any other file. */
function movedAt(fileName: string, { pattern, excluded }: Folder): number | null {
  const groups = stamped.exec(fileName)?.groups
  if (!groups) return null
  const { year, month, day, hour, minute, second, name = '' } = groups
  const ours =
    matchesGlob(name, basename(pattern.pattern)) ||
    name === basename(pattern.literal) ||
    excluded.suffixes.some((suffix) => name.endsWith(suffix))
  return ours ? Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`) : null
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
