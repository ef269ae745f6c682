import { createHash } from 'node:crypto'
import { escapeText } from '../../text/escape.ts'
import { companionNames } from '../file/completeness.ts'
import type { ExportFile } from '../file/export-file.ts'
import { unreadable } from '../file/failures.ts'
import type { SftpSession } from './session.ts'
import type { RemoteEntry, RemoteStats } from './stats.ts'

// As which bytes appear that are no UTF-8: no such name could be asked for.
const undecodable = '\ufffd'

/** A file on the server, as a listing shows it. `path` is the path on the server, and the version is made of name, size and time. */
export type RemoteFile = ExportFile & { readonly kind: RemoteStats['kind'] }

/** The parts of a `path` setting. * and ? stand for characters of the file's name; everything before the last / is taken as it is. */
type RemotePattern = { readonly folder: string; readonly name: string; readonly isWildcard: boolean }

export type RemoteMatches = {
  readonly files: readonly RemoteFile[]
  /** The files that belong to them, such as markers, by name. */
  readonly companions: ReadonlyMap<string, RemoteStats>
}

export function parseRemotePattern(path: string): RemotePattern {
  const slash = path.lastIndexOf('/')
  const name = path.slice(slash + 1)
  return { folder: slash < 0 ? '.' : path.slice(0, slash) || '/', name, isWildcard: /[*?]/.test(name) }
}

export function joinRemotePath(folder: string, name: string): string {
  if (folder === '.') return name
  return folder.endsWith('/') ? `${folder}${name}` : `${folder}/${name}`
}

/** What the pattern matches on the server. A pattern finds no folders. Files with one of the `suffixes` are companions and no exports. */
export async function findMatches(
  session: SftpSession,
  { folder, name, isWildcard: searched }: RemotePattern,
  suffixes: readonly string[],
): Promise<RemoteMatches> {
  if (!searched) return findExactly(session, { folder, name }, suffixes)
  const isCompanion = (entry: string) => suffixes.some((suffix) => entry.endsWith(suffix))
  const entries = await session.list(folder, (entry) => isCompanion(entry) || matchesName(entry, name))
  return {
    files: entries
      .filter((entry) => !isCompanion(entry.name) && entry.kind !== 'folder')
      .map((entry) => toRemoteFile(folder, entry)),
    companions: new Map(entries.filter((entry) => isCompanion(entry.name)).map((entry) => [entry.name, entry])),
  }
}

/** Refuses a file that is not regular, that is empty, or whose name would garble messages. */
export function requireRegularFile(file: RemoteFile, server: string): RemoteFile {
  const what = `${file.name} on ${server}`
  if (file.name !== escapeText(file.name) || file.name.includes(undecodable))
    throw unreadable(`${what} has a name with characters that are not shown`, 'give it another name')
  if (file.kind === 'link')
    throw unreadable(
      `${what} is a symbolic link`,
      'links are not followed, since they can lead anywhere: name the file that it points to, or a pattern that leaves it out',
    )
  if (file.kind === 'folder') throw unreadable(`${what} is a folder`, 'name a file in it, or a pattern such as *.csv')
  if (file.kind !== 'file') throw unreadable(`${what} is no regular file`, 'write the export to a file first')
  if (file.bytes === 0)
    throw unreadable(`${what} is empty (0 bytes)`, 'check the export; an empty file says nothing about anybody')
  return file
}

export function toRemoteFile(folder: string, { name, kind, bytes, modifiedAtMs }: RemoteEntry): RemoteFile {
  const version = createHash('sha256')
    .update(JSON.stringify([name, bytes, modifiedAtMs]))
    .digest('hex')
  return { path: joinRemotePath(folder, name), name, kind, bytes, modifiedAtMs, version }
}

/**
 * Whether the whole name matches the pattern. Only a dot matches a leading dot. The names are the server's, so the time must stay
 * bounded by the product of both lengths: path.matchesGlob needs minutes for a long name and a pattern with five stars.
 */
export function matchesName(name: string, pattern: string): boolean {
  if (name.startsWith('.') && !pattern.startsWith('.')) return false
  const text = [...name]
  const desired = [...pattern]
  let at = 0
  let next = 0
  let star = -1
  let starAt = 0
  while (at < text.length) {
    if (desired[next] === '*') {
      star = next++
      starAt = at
    } else if (next < desired.length && (desired[next] === '?' || desired[next] === text[at])) {
      next += 1
      at += 1
    } else if (star >= 0) {
      next = star + 1
      at = ++starAt
    } else return false
  }
  return desired.slice(next).every((character) => character === '*')
}

async function findExactly(
  session: SftpSession,
  { folder, name }: { readonly folder: string; readonly name: string },
  suffixes: readonly string[],
): Promise<RemoteMatches> {
  const stats = await session.stats(joinRemotePath(folder, name))
  const companions = new Map<string, RemoteStats>()
  if (!stats) return { files: [], companions }
  for (const companion of suffixes.flatMap((suffix) => companionNames(name, suffix))) {
    const found = await session.stats(joinRemotePath(folder, companion))
    if (found) companions.set(companion, found)
  }
  return { files: [toRemoteFile(folder, { name, ...stats })], companions }
}
