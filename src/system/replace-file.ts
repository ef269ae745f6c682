import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { diskFullFailure } from './disk-full.ts'

/**
 * Writes a file as a whole: `write` fills a draft beside `path`, which is renamed to `path` at the end, so that no reader ever sees
 * half a file. If `write` fails, the draft is removed and what stood at `path` stays. By default only the
 * owner can read the file. A full disk is a `disk_full` failure that names it.
 */
export async function replaceFile<T>(
  path: string,
  write: (draft: FileHandle) => Promise<T>,
  { mode = 0o600 }: { readonly mode?: number } = {},
): Promise<T> {
  const draft = `${path}.${process.pid}`
  // A process with the same id may have left a draft when it was killed.
  await rm(draft, { force: true })
  try {
    const result = await written(draft, write, mode)
    await rename(draft, path)
    return result
  } catch (error) {
    await rm(draft, { force: true })
    throw diskFullFailure(error, path) ?? error
  }
}

async function written<T>(draft: string, write: (draft: FileHandle) => Promise<T>, mode: number): Promise<T> {
  await using file = await open(draft, 'wx', mode)
  return await write(file)
}
