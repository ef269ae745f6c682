import type { DiscoveryOptions, Head, NamedSource, SourcePreview } from '../../connectors/discovery.ts'
import { decodeFile } from '../../connectors/file/decode/decode.ts'
import { readHead } from '../../connectors/file/decode/head.ts'
import type { ExportFile } from '../../connectors/file/export-file.ts'
import { ExportFormat } from '../../connectors/file/format.ts'
import { connectorKinds } from '../../connectors/registry/registry.ts'
import { Failure } from '../../errors.ts'

export type { SourcePreview }

/** Reads only the beginning of the newest export of a source, or of a list. */
export async function previewSource(named: NamedSource, options: DiscoveryOptions): Promise<SourcePreview> {
  const url = /^[a-z][a-z0-9+.-]*:\/\//.test(named.location) ? URL.parse(named.location) : null
  const kind = connectorKinds.find(({ discovery: { schemes } }) =>
    url === null ? schemes.length === 0 : schemes.includes(url.protocol),
  )
  if (kind !== undefined) return await kind.discovery.preview(named, options)
  const forms = alternatives(addressForms())
  throw new Failure('usage', `${named.location}: a source is a file, a folder, or an address with ${forms}`)
}

/** What a source can be, in words: a file, a folder, sftp:// or https://. */
export function sourceForms(): string {
  return alternatives(['a file', 'a folder', ...addressForms()])
}

function addressForms(): string[] {
  const schemes = connectorKinds.flatMap(({ discovery }) => discovery.schemes)
  return schemes.filter((scheme) => scheme !== 'http:').map((scheme) => `${scheme}//`)
}

function alternatives(words: readonly string[]): string {
  return new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(words)
}

/** Maximum unpacked size of an uploaded export. */
const unpackedBytes = 1024 ** 3

/** The beginning of an uploaded export. With `whole` it is read to its end, which refuses a cut file or one that unpacks to too much. */
export async function previewFile(
  file: ExportFile,
  { whole = false, signal }: { readonly whole?: boolean; readonly signal: AbortSignal },
): Promise<Head> {
  const head = await readHead(file, signal)
  if (whole && !head.isWorkbook) {
    const decoded = decodeFile(file, ExportFormat.parse({ unpackedBytes }), { signal, secret: () => null })
    for await (const _ of decoded) signal.throwIfAborted()
  }
  return head
}
