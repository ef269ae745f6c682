import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fromBufferPromise } from 'yauzl'

/** Writes what a zip holds into a folder, and answers it as text by name. */
export async function unpack(file: string, folder: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {}
  const zip = await fromBufferPromise(await readFile(file), { lazyEntries: true })
  for await (const entry of zip.eachEntry()) {
    const chunks = await Array.fromAsync(await zip.openReadStreamPromise(entry))
    const content = Buffer.concat(chunks)
    await mkdir(dirname(join(folder, entry.fileName)), { recursive: true })
    await writeFile(join(folder, entry.fileName), content)
    files[entry.fileName] = content.toString()
  }
  return files
}
