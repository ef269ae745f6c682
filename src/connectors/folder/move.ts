import { randomUUID } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import { chmod, link, lstat, mkdir, open, readdir, readlink, rename, rm, symlink, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { errorCode, Failure } from '../../errors.ts'
import { replaceFile } from '../../system/replace-file.ts'
import { type ExportFile, readBytes, findStats, toExportFile } from '../file/export-file.ts'
import { symbolicLink, unreadable } from '../file/failures.ts'

const nameAttempts = 1000

/** What a reserved name leads to until the file comes there: nothing. */
const reservation = '.rollcall-reserved'
/** How file systems without symbolic links refuse to make one. */
const noLinks: readonly string[] = ['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP']

/**
 * Moves a file into `folder` under a free name, made of `stamp` and its own name. Only this account can then read it. A file that is
 * no longer the one that was found stays where it is, and no other file is ever overwritten.
 */
export async function moveInto(folder: string, file: ExportFile, stamp: string): Promise<void> {
  await telling(`cannot move ${file.name} to ${folder}`, async () => {
    await makeFolder(folder)
    await freeReserved(folder, file.name)
    const target = await reserve(folder, { name: file.name, stamp })
    try {
      if (!(await take(file, target))) await rm(target, { force: true })
    } catch (error) {
      if (errorCode(error) === 'EXDEV') return await copyAcross(file, target)
      await rm(target, { force: true })
      throw error
    }
  })
}

/** Deletes a file, unless it is no longer the one that was found. */
export async function remove(file: ExportFile): Promise<void> {
  const aside = join(dirname(file.path), `.rollcall-${randomUUID()}`)
  await telling(`cannot delete ${file.name}`, async () => {
    if (await take(file, aside)) await unlink(aside)
  })
}

/**
 * Renames the file to `target` and tells whether it was the one that was found. The check comes after the rename, because then no
 * writer can replace the file any more. A newer export that had taken its place is put back.
 */
async function take(file: ExportFile, target: string): Promise<boolean> {
  await rename(file.path, target)
  if (!isSame(file, await findStats(target))) {
    await putBack(target, file.path)
    return false
  }
  await ownOnly(target)
  return true
}

function isSame(file: ExportFile, stats: BigIntStats | undefined): boolean {
  return stats !== undefined && toExportFile(file.path, stats).version === file.version
}

async function putBack(from: string, path: string): Promise<void> {
  try {
    // Unlike a rename, a link never replaces a file that arrived meanwhile.
    await link(from, path)
    await unlink(from)
  } catch (error) {
    // An even newer export stands there, so its writer has replaced this one.
    if (errorCode(error) === 'EEXIST') return await unlink(from)
    await rename(from, path)
  }
}

async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  if ((await lstat(folder)).isSymbolicLink()) throw symbolicLink(folder)
}

/** Frees the names that a process had reserved for this file when it was killed. The file is still where it was. */
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
async function reserve(
  folder: string,
  { name, stamp }: { readonly name: string; readonly stamp: string },
): Promise<string> {
  for (let number = 1; number <= nameAttempts; number += 1) {
    const path = join(folder, number === 1 ? `${stamp}-${name}` : `${stamp}-${number}-${name}`)
    try {
      await hold(path)
      return path
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error
    }
  }
  throw unreadable(`${folder} holds ${nameAttempts} files named ${stamp}-…-${name}`, 'move them elsewhere')
}

/** A link is made in one step. A file would be empty at first, and after a kill it would look like an export. */
async function hold(path: string): Promise<void> {
  try {
    await symlink(reservation, path)
  } catch (error) {
    if (!noLinks.includes(errorCode(error) ?? '')) throw error
    await using _empty = await open(path, 'wx', 0o600)
  }
}

/** For a folder on another file system: the whole copy is on the disk before the file is deleted. */
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

async function ownOnly(path: string): Promise<void> {
  try {
    await chmod(path, 0o600)
  } catch (error) {
    // A file of another account keeps its mode. The folder around it is closed to others.
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

async function telling(what: string, act: () => Promise<void>): Promise<void> {
  try {
    await act()
  } catch (error) {
    const code = errorCode(error)
    // A file that is gone needs no move.
    if (code === 'ENOENT') return
    if (error instanceof Failure) throw error
    throw unreadable(what, helpByCode[code ?? ''] ?? `the system answered ${code ?? 'an unknown error'}`, {
      cause: error,
    })
  }
}
