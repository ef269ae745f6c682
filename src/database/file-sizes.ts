import { createHash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { replaceFile } from '../system/replace-file.ts'

/**
 * `control` is the digest of PostgreSQL's control file. It changes whenever a database starts, and shows whether these sizes are current.
 */
const FileSizes = z.object({ control: z.string(), sizes: z.record(z.string(), z.number()) })
type FileSizes = z.infer<typeof FileSizes>

/** A file that is shorter than it was when the database was closed. `path` is relative to the data folder. */
type CutFile = { readonly path: string; readonly bytes: number; readonly expectedBytes: number }

/**
 * Records the sizes of the files in a data folder after its database was closed. A table that was cut between two pages looks intact: its
 * pages match their checksums, and queries find fewer rows.
 */
export async function recordFileSizes(folder: string, dataFolder: string): Promise<void> {
  const recorded: FileSizes = { control: await controlDigest(dataFolder), sizes: await sizesIn(dataFolder) }
  await replaceFile(fileIn(folder), async (draft) => {
    await draft.writeFile(`${JSON.stringify(recorded)}\n`)
    await draft.sync()
  })
}

/** The first file that was cut since the database was closed; null if there is none, or if the database was started since. */
export async function findCutFile(folder: string, dataFolder: string): Promise<CutFile | null> {
  const recorded = await readSizes(folder)
  if (recorded === null || recorded.control !== (await controlDigest(dataFolder).catch(() => null))) return null
  const current = await sizesIn(dataFolder)
  for (const [path, expectedBytes] of Object.entries(recorded.sizes)) {
    const bytes = current[path] ?? 0
    if (bytes < expectedBytes) return { path, bytes, expectedBytes }
  }
  return null
}

async function readSizes(folder: string): Promise<FileSizes | null> {
  try {
    return FileSizes.parse(JSON.parse(await readFile(fileIn(folder), 'utf8')))
  } catch {
    return null
  }
}

async function sizesIn(dataFolder: string): Promise<Record<string, number>> {
  const databases = await readdir(join(dataFolder, 'base'))
  const sizes: Record<string, number> = {}
  for (const folder of ['global', ...databases.map((database) => join('base', database))]) {
    const names = (await readdir(join(dataFolder, folder))).filter((name) => /^\d/.test(name))
    const stats = await Promise.all(names.map((name) => stat(join(dataFolder, folder, name))))
    for (const [at, name] of names.entries()) sizes[join(folder, name)] = stats[at]?.size ?? 0
  }
  return sizes
}

async function controlDigest(dataFolder: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(join(dataFolder, 'global', 'pg_control')))
    .digest('hex')
}

function fileIn(folder: string): string {
  return join(folder, 'sizes.json')
}
