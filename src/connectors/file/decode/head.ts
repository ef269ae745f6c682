import { mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Head, headBytes } from '../../discovery.ts'
import { type ExportFile, exportFileAt } from '../export-file.ts'
import { ExportFormat } from '../format.ts'
import { decodeFile } from './decode.ts'

type FetchedStart = { readonly name: string; readonly isWhole: boolean; readonly signal: AbortSignal }

/** Decodes the beginning of an export whose first bytes were fetched. */
export async function readHeadFromBytes(bytes: Buffer, { name, isWhole, signal }: FetchedStart): Promise<Head> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-init-'))
  try {
    await writeFile(join(folder, 'export'), bytes, { mode: 0o600 })
    const head = await readHead(await exportFileAt(join(folder, 'export'), name), signal)
    return isWhole ? head : { ...head, isWhole: false, hasFinalLineEnd: null }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Decodes the beginning of an export in a file. */
export async function readHead(file: ExportFile, signal: AbortSignal): Promise<Head> {
  const decoded = decodeFile(file, ExportFormat.parse({}), { signal, secret: () => null })
  const { bytes, isWhole } = await readHeadBytes(decoded)
  const hasFinalLineEnd = isWhole ? endsInLineEnd(bytes) : await hasLineEndAtEnd(file, bytes)
  return { name: file.name, bytes, isWhole, hasFinalLineEnd }
}

/** The first bytes, and whether they are all. Reads no more than needed, so that a file that unpacks to much costs little. */
export async function readHeadBytes(chunks: AsyncIterable<Buffer>): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const pieces: Buffer[] = []
  let total = 0
  for await (const chunk of chunks) {
    pieces.push(chunk)
    total += chunk.length
    if (total > headBytes) return { bytes: Buffer.concat(pieces).subarray(0, headBytes), isWhole: false }
  }
  return { bytes: Buffer.concat(pieces), isWhole: true }
}

/** Whether a plain file ends with a line end; null for a packed one, whose first bytes decoding changes. */
async function hasLineEndAtEnd(file: ExportFile, head: Buffer): Promise<boolean | null> {
  await using handle = await open(file.path, 'r')
  const first = await handle.read(Buffer.alloc(4), 0, 4, 0)
  if (!head.subarray(0, 4).equals(first.buffer.subarray(0, first.bytesRead))) return null
  const last = await handle.read(Buffer.alloc(4), 0, 4, Math.max(0, file.bytes - 4))
  return endsInLineEnd(last.buffer.subarray(0, last.bytesRead))
}

function endsInLineEnd(bytes: Buffer): boolean {
  const text = bytes.subarray(-2).filter((byte) => byte !== 0)
  return text.at(-1) === 0x0a || text.at(-1) === 0x0d
}
