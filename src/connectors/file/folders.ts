import type { Dirent } from 'node:fs'
import { join } from 'node:path'

/**
 * Takes a step in each of the folders among `entries` of `parent`. A folder that fails, as one that another account made, does not keep the
 * step from the others. Throws the first error at the end.
 */
export async function forEachFolder(
  parent: string,
  entries: readonly Pick<Dirent, 'name' | 'isDirectory'>[],
  step: (folder: string) => Promise<void>,
): Promise<void> {
  const errors: unknown[] = []
  for (const entry of entries) {
    if (!entry.isDirectory()) continue
    await step(join(parent, entry.name)).catch((error: unknown) => errors.push(error))
  }
  if (errors.length > 0) throw errors[0]
}
