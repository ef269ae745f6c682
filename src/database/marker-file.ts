import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { errorCode } from '../errors.ts'
import { replaceFile } from '../system/replace-file.ts'

/**
 * What is known of an embedded database outside it. `database` is the number that PostgreSQL gives each one; `position` is the end of its
 * log when this was written.
 */
const DatabaseMarker = z.object({ database: z.string(), position: z.string() })
/** Identifies an embedded database and its state. */
export type DatabaseMarker = z.infer<typeof DatabaseMarker>

/** Reads the marker of a folder. Null: nothing was ever stored there. `unreadable`: the marker is damaged. */
export async function readDatabaseMarker(folder: string): Promise<DatabaseMarker | 'unreadable' | null> {
  try {
    return DatabaseMarker.parse(JSON.parse(await readFile(fileIn(folder), 'utf8')))
  } catch (error) {
    const isMissing = errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR'
    return isMissing ? null : 'unreadable'
  }
}

/** Replaces the marker in a folder. */
export async function writeDatabaseMarker(folder: string, marker: DatabaseMarker): Promise<void> {
  await replaceFile(fileIn(folder), async (draft) => {
    await draft.writeFile(`${JSON.stringify(marker)}\n`)
    await draft.sync()
  })
}

/** Whether one position of a log, such as `0/1A2B3C`, lies before another. */
export function isBefore(position: string, other: string): boolean {
  return toNumber(position) < toNumber(other)
}

function toNumber(position: string): bigint {
  const [high = '0', low = '0'] = position.split('/')
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`)
}

function fileIn(folder: string): string {
  return join(folder, 'database.json')
}
