import { randomUUID } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import { chmod, link, lstat, mkdir, open, readdir, readlink, rename, rm, symlink, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { errorCode, Failure } from '../../errors.ts'
import { replaceFile } from '../../system/replace-file.ts'
import { type ExportFile, findStats, readBytes, toExportFile } from '../file/export-file.ts'
import { noFreeName, symbolicLink, unreadable } from '../file/failures.ts'

const maxNameAttempts = 1000

/** The target of the link that reserves a name. It leads nowhere. */
const reservation = '.rollcall-reserved'
/** The errors of file systems without symbolic links. */
const noLinkCodes: readonly string[] = ['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP']

/**
 * Moves a file into `folder` under a free name, made from `stamp` and its own name. Only this account can then read it. Does nothing
 * if another file has replaced it, and never overwrites a file.
 */
export async function moveInto(folder: string, file: ExportFile, stamp: string): Promise<void> {
  await withMoveFailure(`cannot move ${file.name} to ${folder}`, async () => {
    await makeFolder(folder)
    await freeReserved(folder, file.name)
    const target = await reserve(folder, file.name, stamp)
    try {
      if (!(await moveUnchanged(file, target))) await rm(target, { force: true })
    } catch (error) {
      if (errorCode(error) === 'EXDEV') return await copyAcross(file, target)
      await rm(target, { force: true })
      throw error
    }
  })
}

/** Deletes a file, unless another one has replaced it. */
export async function remove(file: ExportFile): Promise<void> {
  const aside = join(dirname(file.path), `.rollcall-${randomUUID()}`)
  await withMoveFailure(`cannot delete ${file.name}`, async () => {
    if (await moveUnchanged(file, aside)) await unlink(aside)
  })
}

/**
 * Renames the file to `target`. Returns false if another file had replaced it, which is then renamed back. The check follows the rename,
 * because then no writer can replace the file any more.
 */
async function moveUnchanged(file: ExportFile, target: string): Promise<boolean> {
  await rename(file.path, target)
  if (!isSame(file, await findStats(target))) {
    await putBack(target, file.path)
    return false
  }
  await restrictToOwner(target)
  return true
}

function isSame(file: ExportFile, stats: BigIntStats | undefined): boolean {
  return stats !== undefined && toExportFile(file.path, stats).version === file.version
}

async function putBack(from: string, path: string): Promise<void> {
  try {
    // Unlike a rename, a link never overwrites a file that arrived meanwhile.
    await link(from, path)
    await unlink(from)
  } catch (error) {
    // An even newer export is there: its writer has replaced this one.
    if (errorCode(error) === 'EEXIST') return await unlink(from)
    await rename(from, path)
  }
}

async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  if ((await lstat(folder)).isSymbolicLink()) throw symbolicLink(folder)
}

/** Frees the names that a killed process had reserved for this file. */
async function freeReserved(folder: string, name: string): Promise<void> {
  for (const entry of await readdir(folder)) {
    const path = join(folder, entry)
    if (entry.endsWith(`-${name}`) && (await isReserved(path))) await rm(path, { force: true })
  }
}

async function isReserved(path: string): Promise<boolean> {
  return await readlink(path).then(
    (target) => target === reservation,
    () => false,
  )
}

/** Reserves a free name, so that the later rename replaces nothing else. */
async function reserve(folder: string, name: string, stamp: string): Promise<string> {
  for (let number = 1; number <= maxNameAttempts; number += 1) {
    const path = join(folder, number === 1 ? `${stamp}-${name}` : `${stamp}-${number}-${name}`)
    try {
      await createReservation(path)
      return path
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error
    }
  }
  throw noFreeName(folder, { stamp, name, attempts: maxNameAttempts })
}

/** Reserves a name with a link: an empty file would look like an export after a kill. */
async function createReservation(path: string): Promise<void> {
  try {
    await symlink(reservation, path)
  } catch (error) {
    if (!noLinkCodes.includes(errorCode(error) ?? '')) throw error
    await using _empty = await open(path, 'wx', 0o600)
  }
}

/** Moves a file to another file system. The whole copy is on the disk before the file is deleted. */
async function copyAcross(file: ExportFile, target: string): Promise<void> {
  try {
    await replaceFile(target, async (draft) => {
      for await (const chunk of readBytes(file, new AbortController().signal)) await draft.appendFile(chunk)
      await draft.utimes(new Date(file.modifiedAtMs), new Date(file.modifiedAtMs))
      await draft.sync()
    })
  } catch (error) {
    await rm(target, { force: true })
    if (!isSame(file, await findStats(file.path))) return
    throw error
  }
  await using folder = await open(dirname(target), 'r')
  await folder.sync()
  await remove(file)
}

async function restrictToOwner(path: string): Promise<void> {
  try {
    await chmod(path, 0o600)
  } catch (error) {
    // A file of another account keeps its mode. Others cannot read the folder.
    if (errorCode(error) !== 'EPERM') throw error
  }
}

const helpByCode: Readonly<Record<string, string>> = {
  EACCES: 'permission denied; let the account that runs Rollcall write to both folders',
  EPERM: 'permission denied; let the account that runs Rollcall write to both folders',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of the disk is used up',
  EEXIST: 'a file stands where the folder should be',
  ENOTDIR: 'a part of the path is no folder',
  ENAMETOOLONG: 'the name is too long',
}

async function withMoveFailure(action: string, step: () => Promise<void>): Promise<void> {
  try {
    await step()
  } catch (error) {
    const code = errorCode(error)
    // A file that no longer exists needs no move.
    if (code === 'ENOENT') return
    if (error instanceof Failure) throw error
    throw unreadable(action, helpByCode[code ?? ''] ?? `the system answered ${code ?? 'an unknown error'}`, {
      cause: error,
    })
  }
}
