import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { diskFullFailure } from './disk-full.ts'

/**
 * Replaces a file atomically: `write` fills a draft beside `path`, which is then renamed to `path`. If `write` fails, the draft is removed
 * and the old file stays. By default only the owner can read the file. Throws `disk_full` with the file's name if the disk is full.
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
    const result = await writeDraft(draft, write, mode)
    await rename(draft, path)
    return result
  } catch (error) {
    await rm(draft, { force: true })
    throw diskFullFailure(error, path) ?? error
  }
}

async function writeDraft<T>(draft: string, write: (draft: FileHandle) => Promise<T>, mode: number): Promise<T> {
  await using file = await open(draft, 'wx', mode)
  return await write(file)
}
