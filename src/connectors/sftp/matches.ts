import { createHash } from 'node:crypto'
import { escapeText } from '../../text/escape.ts'
import { companionNames } from '../file/completeness.ts'
import type { ExportFile } from '../file/export-file.ts'
import { checkNotEmpty, checkRegularFile, unreadable } from '../file/failures.ts'
import type { RemoteMatches } from '../remote/choice.ts'
import { matchesName } from '../remote/matches-name.ts'
import type { SftpSession } from './session.ts'
import type { RemoteEntry, RemoteStats } from './stats.ts'

// Stands for bytes that are no UTF-8. A name with it cannot be requested.
const replacementCharacter = '\ufffd'

/** A file of a listing. `path` is its path on the server; `version` is made from name, size and time. */
export type RemoteFile = ExportFile & { readonly kind: RemoteStats['kind'] }

/** The parts of a `path` setting. Only the file name may hold * and ?; the folder is literal. */
type RemotePattern = { readonly folder: string; readonly name: string; readonly isWildcard: boolean }

/** Splits a `path` setting into folder and name. */
export function parseRemotePattern(path: string): RemotePattern {
  const slash = path.lastIndexOf('/')
  const name = path.slice(slash + 1)
  return { folder: slash < 0 ? '.' : path.slice(0, slash) || '/', name, isWildcard: /[*?]/.test(name) }
}

/** The path of a file in a folder on the server. */
export function joinRemotePath(folder: string, name: string): string {
  if (folder === '.') return name
  return folder.endsWith('/') ? `${folder}${name}` : `${folder}/${name}`
}

/** The files that match the pattern. A pattern with wildcards skips folders. Files with one of the `suffixes` are companions. */
export async function findMatches(
  session: SftpSession,
  pattern: RemotePattern,
  suffixes: readonly string[],
): Promise<RemoteMatches<RemoteFile, RemoteStats>> {
  const { folder, name, isWildcard } = pattern
  if (!isWildcard) return findOne(session, pattern, suffixes)
  const isCompanion = (entry: string) => suffixes.some((suffix) => entry.endsWith(suffix))
  const entries = await session.list(folder, (entry) => isCompanion(entry) || matchesName(entry, name))
  return {
    files: entries
      .filter((entry) => !isCompanion(entry.name) && entry.kind !== 'folder')
      .map((entry) => toRemoteFile(folder, entry)),
    companions: new Map(
      entries.filter((entry) => isCompanion(entry.name) && entry.kind === 'file').map((entry) => [entry.name, entry]),
    ),
  }
}

/** Refuses a file that is not regular, that is empty, or whose name holds characters that no message can show. */
export function requireRegularFile(file: RemoteFile, server: string): RemoteFile {
  const label = `${file.name} on ${server}`
  if (file.name !== escapeText(file.name) || file.name.includes(replacementCharacter))
    throw unreadable(`${label} has a name with characters that are not shown`, 'give it another name')
  checkRegularFile(label, file.kind)
  checkNotEmpty(label, file.bytes)
  return file
}

/** A file of a listing of `folder`. */
export function toRemoteFile(folder: string, { name, kind, bytes, modifiedAtMs }: RemoteEntry): RemoteFile {
  const version = createHash('sha256')
    .update(JSON.stringify([name, bytes, modifiedAtMs]))
    .digest('hex')
  return { path: joinRemotePath(folder, name), name, kind, bytes, modifiedAtMs, version }
}

async function findOne(
  session: SftpSession,
  { folder, name }: RemotePattern,
  suffixes: readonly string[],
): Promise<RemoteMatches<RemoteFile, RemoteStats>> {
  const stats = await session.stats(joinRemotePath(folder, name))
  const companions = new Map<string, RemoteStats>()
  if (!stats) return { files: [], companions }
  for (const companion of suffixes.flatMap((suffix) => companionNames(name, suffix))) {
    const companionStats = await session.stats(joinRemotePath(folder, companion))
    if (companionStats?.kind === 'file') companions.set(companion, companionStats)
  }
  return { files: [toRemoteFile(folder, { name, ...stats })], companions }
}
