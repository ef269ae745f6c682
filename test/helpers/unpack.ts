import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fromBufferPromise } from 'yauzl'

/** Writes what a zip holds into a folder, and answers it as text by name. */
export async function unpack(file: string, folder: string): Promise<Record<string, string>> {
  const contents = await contentsOf(await readFile(file))
  for (const [name, content] of Object.entries(contents)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), content)
  }
  return asTexts(contents)
}

/** What a zip holds, as text by name. */
export async function unpacked(zip: Buffer): Promise<Record<string, string>> {
  return asTexts(await contentsOf(zip))
}

async function contentsOf(content: Buffer): Promise<Record<string, Buffer>> {
  const files: Record<string, Buffer> = {}
  const zip = await fromBufferPromise(content, { lazyEntries: true })
  for await (const entry of zip.eachEntry()) {
    const chunks = await Array.fromAsync(await zip.openReadStreamPromise(entry))
    files[entry.fileName] = Buffer.concat(chunks)
  }
  return files
}

function asTexts(files: Readonly<Record<string, Buffer>>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([name, content]) => [name, content.toString()]))
}
