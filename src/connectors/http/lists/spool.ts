import { randomUUID } from 'node:crypto'
import { mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from '../../../errors.ts'
import { takeFileLock, takeNewFileLock } from '../../../system/file-lock.ts'
import { type ExportFile, exportFileAt } from '../../file/export-file.ts'
import { writingTo } from '../../file/failures.ts'
import { forEachFolder } from '../../file/folders.ts'

const lockEnding = '.lock'
const ownName = /^(http-[0-9a-f-]{36})\.(?:part|lock)$/

/** A file for fetched content. Only this account can read it, and disposing removes it. */
export type Spool = AsyncDisposable & {
  readonly append: (content: Buffer | string) => Promise<void>
  /** Removes what was written so far. */
  readonly clear: () => Promise<void>
  /** Closes the file, to be read under the given name. Refuses an empty file. */
  readonly finish: (name: string) => Promise<ExportFile>
}

/** Makes a new file in `folder`, and the folder if it is missing. Files of processes that died are removed. */
export async function openSpool(folder: string, takeLock = takeFileLock): Promise<Spool> {
  await writingTo(folder, () => mkdir(folder, { recursive: true, mode: 0o700 }))
  await writingTo(folder, () => removeAbandoned(folder))
  await using opening = new AsyncDisposableStack()
  const newLock = () => lockOf(join(folder, `http-${randomUUID()}`))
  const lock = await writingTo(folder, async () => takeNewFileLock(newLock, takeLock))
  opening.defer(() => rm(lock.path, { force: true }))
  opening.use(lock)
  const path = partOf(lock.path.slice(0, -lockEnding.length))
  const handle = await writingTo(folder, () => open(path, 'ax', 0o600))
  opening.defer(() => rm(path, { force: true }))
  opening.defer(() => handle.close())
  const opened = opening.move()
  return {
    clear: () => writingTo(folder, () => handle.truncate()),
    append: (content) => writingTo(folder, () => handle.appendFile(content)),
    finish: async (name) => {
      await handle.close()
      return exportFileAt(path, name)
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** Removes the files that processes left that died, in the folders of all connections below `folder`. */
export async function removeAbandonedSpools(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return []
    throw error
  })
  await forEachFolder(folder, entries, removeAbandoned)
}

async function removeAbandoned(folder: string): Promise<void> {
  const stems = new Set((await readdir(folder)).flatMap((name) => ownName.exec(name)?.[1] ?? []))
  for (const stem of stems) {
    const path = join(folder, stem)
    using lock = takeFileLock(lockOf(path), { timeoutMs: 0 })
    if (lock === null) continue
    await rm(partOf(path), { force: true })
    await rm(lockOf(path), { force: true })
  }
}

function partOf(stem: string): string {
  return `${stem}.part`
}

function lockOf(stem: string): string {
  return `${stem}${lockEnding}`
}
