import { dirname } from 'node:path'

const { lstat, stat } = process.getBuiltinModule('node:fs/promises')

// Commands load this before anything else, so it imports nothing of ours.

/** Why commands must not talk to whoever listens at this path, as what follows the path; null if only their account can. */
export async function distrust(
  path: string,
  dataDir: string,
  uid: number | undefined = process.getuid?.(),
): Promise<string | null> {
  const [socket, folder] = await Promise.all([lstat(path), lstat(dirname(path))])
  // Root may write anywhere, and asks the daemon of the account whose data folder it is.
  const owners = new Set([uid, ...(uid === 0 ? [(await stat(dataDir)).uid] : [])])
  if (!owners.has(socket.uid) || !owners.has(folder.uid)) return 'belongs to another account'
  if (!socket.isSocket()) return 'is no socket'
  if (!folder.isDirectory() || (folder.mode & 0o022) !== 0) return 'lies in a folder that others can write'
  return null
}
