import type { Stats } from 'ssh2'
import { type FileKind, unreadable } from '../file/failures.ts'

const maxNameBytes = 1024

/** The stats of a file, a folder or something else on the server. Symbolic links are not followed. */
export type RemoteStats = {
  readonly kind: FileKind
  readonly bytes: number
  readonly modifiedAtMs: number
}

/** An entry of a folder on the server. */
export type RemoteEntry = RemoteStats & { readonly name: string }

/** Converts the stats that `server` states about `name`. Refuses stats without kind, size or modification time. */
export function toStats(stats: Stats | undefined, name: string, server: string): RemoteStats {
  const { mode, size, mtime } = stats ?? {}
  if (!stats || mode === undefined || mtime === undefined || !Number.isSafeInteger(size) || Number(size) < 0)
    throw unreadable(
      `${server} does not tell the kind, the size and the modification time of ${name}`,
      'a server that speaks SFTP version 3 in full is needed; ask its owner',
    )
  return { kind: kindOf(stats), bytes: stats.size, modifiedAtMs: mtime * 1000 }
}

/** Whether a folder can hold an entry of this name. */
export function isPlainName(name: unknown): name is string {
  if (typeof name !== 'string' || name === '' || name === '.' || name === '..') return false
  return !/[/\0]/.test(name) && name.length <= maxNameBytes && Buffer.byteLength(name) <= maxNameBytes
}

function kindOf(stats: Stats): FileKind {
  if (stats.isSymbolicLink()) return 'link'
  if (stats.isDirectory()) return 'folder'
  return stats.isFile() ? 'file' : 'other'
}
