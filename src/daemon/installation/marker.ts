import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { errorCode, Failure } from '../../errors.ts'
import { replaceFile } from '../../system/replace-file.ts'

/** The file of a data folder with the ID of its store, so that a lost store is not mistaken for a new one. */
export const markerFile = 'store.json'

const Marker = z.object({ installation: z.uuid() })
/** The content of the marker file. */
export type Marker = z.infer<typeof Marker>

/** The marker of a data folder; null if it never had a store. Throws `store_lost` for a damaged file. */
export async function readMarker(dataDir: string): Promise<Marker | null> {
  const path = join(dataDir, markerFile)
  try {
    return Marker.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    const why = code === undefined ? 'cannot be understood' : `cannot be read (${code})`
    throw new Failure(
      'store_lost',
      `${path}, which says to which store this data folder belongs, ${why}; remove it if the store is the right one`,
      { cause: error },
    )
  }
}

/** Stores which store a data folder belongs to. */
export async function writeMarker(dataDir: string, marker: Marker): Promise<void> {
  await replaceFile(join(dataDir, markerFile), async (draft) => {
    await draft.writeFile(`${JSON.stringify(marker)}\n`)
    await draft.sync()
  })
}
