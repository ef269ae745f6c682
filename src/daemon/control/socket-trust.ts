import { lstatSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** Why commands must not talk to whoever listens at this path, to append to the path; null if only their account can. */
export function distrust(path: string, dataDir: string, uid: number | undefined = process.getuid?.()): string | null {
  const [socket, folder] = [lstatSync(path), lstatSync(dirname(path))]
  // Root may write anywhere, and calls the daemon of the account that owns the data folder.
  const owners = new Set([uid, ...(uid === 0 ? [statSync(dataDir).uid] : [])])
  if (!owners.has(socket.uid) || !owners.has(folder.uid)) return 'belongs to another account'
  if (!socket.isSocket()) return 'is no socket'
  if (!folder.isDirectory() || (folder.mode & 0o022) !== 0) return 'lies in a folder that others can write'
  return null
}
