import { randomUUID } from 'node:crypto'
import { posix } from 'node:path'
import type { SourceIdentity } from '../connector.ts'
import { companionNames } from '../file/completeness.ts'
import { unreadable } from '../file/failures.ts'
import { joinRemotePath, type RemoteFile, parseRemotePattern, toRemoteFile } from './matches.ts'
import type { SftpSession } from './session.ts'

const nameAttempts = 1000

export type ArchiveRequest = {
  readonly path: string
  readonly source: SourceIdentity
  /** The folder it is moved to, relative to the folder of the export; null deletes it. */
  readonly target: string | null
  /** The suffixes of the companions. */
  readonly suffixes: readonly string[]
  readonly now: Date
}

/**
 * Moves or deletes the export that was read, and its companions. An export that is gone or has changed since is left alone. It goes last:
 * as long as it is there, a call that was broken off is made up for by the next one, companions included.
 */
export async function archiveRemoteExport(session: SftpSession, settlement: ArchiveRequest): Promise<void> {
  const { path, source, target, suffixes, now } = settlement
  const { folder } = parseRemotePattern(path)
  const file = await fileAt(session, folder, source.name)
  if (file?.version !== source.version) return
  const archive =
    target === null ? null : await madeFolder(session, target.startsWith('/') ? target : joinRemotePath(folder, target))
  const companions: RemoteFile[] = []
  for (const name of suffixes.flatMap((suffix) => companionNames(source.name, suffix))) {
    const companion = await fileAt(session, folder, name)
    if (companion) companions.push(companion)
  }
  for (const each of [...companions, file]) {
    if (archive === null) await removeAside(session, folder, each)
    else
      await take(session, {
        file: each,
        folder,
        to: await freeName(session, { archive, name: each.name, stamp: timeStamp(now) }),
      })
  }
}

async function fileAt(session: SftpSession, folder: string, name: string): Promise<RemoteFile | undefined> {
  const stats = await session.stats(joinRemotePath(folder, name))
  return stats?.kind === 'file' ? toRemoteFile(folder, { name, ...stats }) : undefined
}

async function madeFolder(session: SftpSession, path: string): Promise<string> {
  const stats = await session.stats(path)
  if (!stats) {
    const above = posix.dirname(path)
    if (above !== '.' && above !== '/') await madeFolder(session, above)
    await session.makeFolder(path)
  } else if (stats.kind !== 'folder')
    throw unreadable(`${path} on ${session.server} is no folder`, 'name another in archiveDir or rejectDir')
  return path
}

async function removeAside(session: SftpSession, folder: string, file: RemoteFile): Promise<void> {
  const aside = joinRemotePath(folder, `.rollcall-${randomUUID()}`)
  if (await take(session, { file, folder, to: aside })) await session.remove(aside)
}

/**
 * Renames the file, and tells whether it was still the one that was found. A file that replaced it at the last moment is put back. A
 * server that says that it has moved the file, and has not, is refused, so that the operator learns of it.
 */
async function take(
  session: SftpSession,
  { file, folder, to }: { readonly file: RemoteFile; readonly folder: string; readonly to: string },
): Promise<boolean> {
  await session.rename({ from: file.path, to })
  const moved = await session.stats(to)
  if (moved && toRemoteFile(folder, { ...moved, name: file.name }).version === file.version) return true
  if (moved) await session.rename({ from: to, to: file.path })
  else if (await session.stats(file.path)) {
    const what = `${session.server} says that it has moved ${file.path} to ${to}, and it has not`
    throw unreadable(what, 'have its owner look at it, or leave afterwards out')
  }
  return false
}

async function freeName(
  session: SftpSession,
  { archive, name, stamp }: { readonly archive: string; readonly name: string; readonly stamp: string },
): Promise<string> {
  for (let number = 1; number <= nameAttempts; number += 1) {
    const path = joinRemotePath(archive, number === 1 ? `${stamp}-${name}` : `${stamp}-${number}-${name}`)
    if (!(await session.stats(path))) return path
  }
  const what = `${archive} on ${session.server} holds ${nameAttempts} files named ${stamp}-…-${name}`
  throw unreadable(what, 'move them elsewhere')
}

function timeStamp(now: Date): string {
  return `${now.toISOString().slice(0, 19).replaceAll(':', '')}Z`
}
