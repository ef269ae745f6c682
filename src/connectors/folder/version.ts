import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import { type ExportFile, openAtOnce, statsOf } from '../file/export-file.ts'
import { unreadable } from '../file/failures.ts'

const sampleBytes = 64 * 1024

/**
 * A digest of an export's name, size, modification time and of its first and last 64 KiB. It stays the same when the file moves to
 * another folder or the machine starts anew, and tells apart what a writer delivers. Whoever changes bytes in the middle of a large
 * file and sets the clock of the file back makes no new version; reading the whole file twice for that would be the alternative. null: the file has gone.
 */
export async function versionIfThere(file: ExportFile): Promise<string | null> {
  try {
    return await contentVersion(file)
  } catch (error) {
    if (await statsOf(file.path)) throw error
    return null
  }
}

async function contentVersion({ path }: ExportFile): Promise<string> {
  await using handle = await openAtOnce(path)
  const stats = await handle.stat({ bigint: true })
  if (!stats.isFile()) throw unreadable(`${path} is no regular file`, 'write the export to a file first')
  const { size, mtimeNs } = stats
  const tailAt = Math.max(sampleBytes, Number(size) - sampleBytes)
  const hash = createHash('sha256').update(JSON.stringify([basename(path), String(size), String(mtimeNs)]))
  for (const position of [0, tailAt]) {
    const { bytesRead, buffer } = await handle.read({ buffer: Buffer.alloc(sampleBytes), position })
    hash.update(buffer.subarray(0, bytesRead))
  }
  return hash.digest('hex')
}
