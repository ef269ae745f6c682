import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder for one test, removed with everything in it. */
export type ExportFolder = AsyncDisposable & {
  readonly path: string
  /** Writes an export and returns its path. `modifiedAt` makes it as old as the test needs it. */
  write(name: string, content: string | Uint8Array, options?: { readonly modifiedAt?: Date }): Promise<string>
}

export async function exportFolder(): Promise<ExportFolder> {
  const path = await mkdtemp(join(tmpdir(), 'rollcall-exports-'))
  return {
    path,
    async write(name, content, { modifiedAt } = {}) {
      const file = join(path, name)
      await writeFile(file, content)
      if (modifiedAt) await utimes(file, modifiedAt, modifiedAt)
      return file
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  }
}
