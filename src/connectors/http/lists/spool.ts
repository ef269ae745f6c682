import { randomUUID } from 'node:crypto'
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type ExportFile, exportFileAt } from '../../file/export-file.ts'
import { writingTo } from '../../file/failures.ts'

const staleMs = 24 * 60 * 60 * 1000
const ownName = /^http-[0-9a-f-]{36}\.part$/

/** A file for fetched content. Only this account can read it, and disposing removes it. */
export type Spool = AsyncDisposable & {
  readonly append: (content: Buffer | string) => Promise<void>
  /** Removes what was written so far. */
  readonly clear: () => Promise<void>
  /** Closes the file, to be read under the given name. Refuses an empty file. */
  readonly finish: (name: string) => Promise<ExportFile>
}

/** Makes a new file in `folder`, and the folder if it is missing. Files of processes that died are removed after a day. */
export async function openSpool(folder: string): Promise<Spool> {
  await writingTo(folder, () => mkdir(folder, { recursive: true, mode: 0o700 }))
  await removeStale(folder)
  const path = join(folder, `http-${randomUUID()}.part`)
  const handle = await writingTo(folder, () => open(path, 'ax', 0o600))
  return {
    clear: () => writingTo(folder, () => handle.truncate()),
    append: (content) => writingTo(folder, () => handle.appendFile(content)),
    finish: async (name) => {
      await handle.close()
      return exportFileAt(path, name)
    },
    [Symbol.asyncDispose]: async () => {
      try {
        await handle.close()
      } finally {
        await rm(path, { force: true })
      }
    },
  }
}

async function removeStale(folder: string): Promise<void> {
  for (const name of await writingTo(folder, () => readdir(folder))) {
    if (!ownName.test(name)) continue
    const stats = await stat(join(folder, name)).catch(() => null)
    if (stats && Date.now() - stats.mtimeMs > staleMs) await rm(join(folder, name), { force: true })
  }
}
