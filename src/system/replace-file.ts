import { type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { diskFullFailure } from './disk-full.ts'

/** How the names of drafts end. Files that people put beside the file do not end so. */
const draftEnding = '.draft'

/**
 * Replaces a file atomically: `write` fills a draft beside `path`, which is then renamed to `path`. If `write` fails, the draft is removed
 * and the old file stays. By default only the owner can read the file. Throws `disk_full` with the file's name if the disk is full.
 */
export async function replaceFile<T>(
  path: string,
  write: (draft: FileHandle) => Promise<T>,
  { mode = 0o600 }: { readonly mode?: number } = {},
): Promise<T> {
  const draft = `${path}.${process.pid}${draftEnding}`
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

/** The drafts of this file that were written before an instant. None in a folder that cannot be listed. */
export async function findDrafts(path: string, before: Date): Promise<string[]> {
  const name = basename(path)
  const isDraft = (other: string) =>
    other.startsWith(`${name}.`) &&
    other.endsWith(draftEnding) &&
    /^\d+$/.test(other.slice(name.length + 1, -draftEnding.length))
  const drafts = (await readdir(dirname(path)).catch(() => []))
    .filter(isDraft)
    .map((draft) => join(dirname(path), draft))
  const left = await Promise.all(drafts.map(async (draft) => ((await changedAt(draft)) < before ? [draft] : [])))
  return left.flat()
}

/** Removes drafts of this file that killed processes left before an instant. One that cannot be removed does no harm and stays. */
export async function removeDrafts(path: string, before: Date): Promise<void> {
  for (const draft of await findDrafts(path, before)) await rm(draft, { force: true }).catch(() => {})
}

/** A draft that is gone by now is taken for a new one. */
async function changedAt(path: string): Promise<Date> {
  return (await stat(path).catch(() => null))?.mtime ?? new Date(8.64e15)
}

async function writeDraft<T>(draft: string, write: (draft: FileHandle) => Promise<T>, mode: number): Promise<T> {
  await using file = await open(draft, 'wx', mode)
  return await write(file)
}
