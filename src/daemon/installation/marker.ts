import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { errorCode, Failure } from '../../errors.ts'
import { replaceFile } from '../../system/replace-file.ts'

/** The file of a data folder that says which store it belongs to, so that a store that is gone is not taken for a new one. */
export const markerFile = 'store.json'

const Marker = z.object({ installation: z.uuid() })
export type Marker = z.infer<typeof Marker>

/** null: no store was ever opened with this data folder. */
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

export async function writeMarker(dataDir: string, marker: Marker): Promise<void> {
  await replaceFile(join(dataDir, markerFile), async (draft) => {
    await draft.writeFile(`${JSON.stringify(marker)}\n`)
    await draft.sync()
  })
}
