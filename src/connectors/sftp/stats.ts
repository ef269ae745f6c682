import type { Stats } from 'ssh2'
import { unreadable } from '../file/failures.ts'

const nameLimitBytes = 1024

/** What the server says about a file, a folder or something else. Symbolic links are not followed. */
export type RemoteStats = {
  readonly kind: 'file' | 'folder' | 'link' | 'other'
  readonly bytes: number
  readonly modifiedAtMs: number
}

export type RemoteEntry = RemoteStats & { readonly name: string }

/** Parses what a server says about `name`. A server that leaves out what we need is refused. */
export function toStats(
  stats: Stats | undefined,
  { name, server }: { readonly name: string; readonly server: string },
): RemoteStats {
  const { mode, size, mtime } = stats ?? {}
  if (!stats || mode === undefined || mtime === undefined || !Number.isSafeInteger(size) || Number(size) < 0)
    throw unreadable(
      `${server} does not tell the kind, the size and the modification time of ${name}`,
      'a server that speaks SFTP version 3 in full is needed; ask its owner',
    )
  return { kind: kindOf(stats), bytes: stats.size, modifiedAtMs: mtime * 1000 }
}

/** Whether a name is possible in a folder. */
export function isPlainName(name: unknown): name is string {
  if (typeof name !== 'string' || name === '' || name === '.' || name === '..') return false
  return !/[/\0]/.test(name) && name.length <= nameLimitBytes && Buffer.byteLength(name) <= nameLimitBytes
}

function kindOf(stats: Stats): RemoteStats['kind'] {
  if (stats.isSymbolicLink()) return 'link'
  if (stats.isDirectory()) return 'folder'
  return stats.isFile() ? 'file' : 'other'
}
