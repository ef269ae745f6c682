import { randomUUID } from 'node:crypto'
import { posix } from 'node:path'
import { archiveStamp } from '../file/afterwards.ts'
import { companionNames } from '../file/completeness.ts'
import { noFreeName, unreadable } from '../file/failures.ts'
import type { ArchiveRequest } from '../remote/connector.ts'
import { joinRemotePath, parseRemotePattern, type RemoteFile, toRemoteFile } from './matches.ts'
import type { SftpSession } from './session.ts'

const maxNameAttempts = 1000

/**
 * Moves or deletes the export that was read, and its companions. Does nothing if the export no longer exists or has changed since. The
 * export goes last: while it exists, another call completes an interrupted one, companions included.
 */
export async function archiveRemoteExport(
  session: SftpSession,
  request: ArchiveRequest & { readonly path: string },
): Promise<void> {
  const { path, source, target, suffixes, now } = request
  const { folder } = parseRemotePattern(path)
  const file = await fileAt(session, folder, source.name)
  if (file?.version !== source.version) return
  const archive =
    target === null
      ? null
      : await ensureFolder(session, target.startsWith('/') ? target : joinRemotePath(folder, target))
  const companions: RemoteFile[] = []
  for (const name of suffixes.flatMap((suffix) => companionNames(source.name, suffix))) {
    const companion = await fileAt(session, folder, name)
    if (companion) companions.push(companion)
  }
  for (const each of [...companions, file]) {
    if (archive === null) await removeFile(session, folder, each)
    else {
      const to = await findFreeName(session, { archive, name: each.name, stamp: archiveStamp(now) })
      await moveUnchanged(session, { file: each, folder, to })
    }
  }
}

async function fileAt(session: SftpSession, folder: string, name: string): Promise<RemoteFile | undefined> {
  const stats = await session.stats(joinRemotePath(folder, name))
  return stats?.kind === 'file' ? toRemoteFile(folder, { name, ...stats }) : undefined
}

async function ensureFolder(session: SftpSession, path: string): Promise<string> {
  const stats = await session.stats(path)
  if (!stats) {
    const above = posix.dirname(path)
    if (above !== '.' && above !== '/') await ensureFolder(session, above)
    await session.makeFolder(path)
  } else if (stats.kind !== 'folder')
    throw unreadable(`${path} on ${session.server} is no folder`, 'name another in archiveDir or rejectDir')
  return path
}

async function removeFile(session: SftpSession, folder: string, file: RemoteFile): Promise<void> {
  const aside = joinRemotePath(folder, `.rollcall-${randomUUID()}`)
  if (await moveUnchanged(session, { file, folder, to: aside })) await session.remove(aside)
}

type Move = { readonly file: RemoteFile; readonly folder: string; readonly to: string }

/**
 * Renames the file. Returns false if another file had replaced it, which is then renamed back. Throws if the server reports a move that
 * did not happen, so that the operator learns of it.
 */
async function moveUnchanged(session: SftpSession, { file, folder, to }: Move): Promise<boolean> {
  await session.rename({ from: file.path, to })
  const moved = await session.stats(to)
  if (moved && toRemoteFile(folder, { ...moved, name: file.name }).version === file.version) return true
  if (moved) await session.rename({ from: to, to: file.path })
  else if (await session.stats(file.path)) {
    const problem = `${session.server} says that it has moved ${file.path} to ${to}, and it has not`
    throw unreadable(problem, 'have its owner look at it, or leave afterwards out')
  }
  return false
}

type ArchivedName = { readonly archive: string; readonly name: string; readonly stamp: string }

async function findFreeName(session: SftpSession, { archive, name, stamp }: ArchivedName): Promise<string> {
  for (let number = 1; number <= maxNameAttempts; number += 1) {
    const path = joinRemotePath(archive, number === 1 ? `${stamp}-${name}` : `${stamp}-${number}-${name}`)
    if (!(await session.stats(path))) return path
  }
  throw noFreeName(`${archive} on ${session.server}`, { stamp, name, attempts: maxNameAttempts })
}
