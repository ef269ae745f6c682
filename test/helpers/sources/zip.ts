import { buffer } from 'node:stream/consumers'
import { ZipFile } from 'yazl'

/** A zip of these files, by name; a name that ends in a slash is a folder. */
export async function zipOf(
  files: Readonly<Record<string, string | Uint8Array>>,
  { compress = true } = {},
): Promise<Buffer> {
  const zip = new ZipFile()
  for (const [name, content] of Object.entries(files)) {
    if (name.endsWith('/')) zip.addEmptyDirectory(name)
    else zip.addBuffer(Buffer.from(content), name, { compress })
  }
  zip.end()
  return buffer(zip.outputStream)
}
