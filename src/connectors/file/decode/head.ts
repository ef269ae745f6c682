import { mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Head, headBytes } from '../../discovery.ts'
import { type ExportFile, exportFileAt, readBytes } from '../export-file.ts'
import { unreadable } from '../failures.ts'

import { ExportFormat } from '../format.ts'
import { decodeFile, isZip } from './decode.ts'

import { isWorkbookFile } from './zip.ts'

/** Maximum size of a workbook that a preview reads. It is read from its end, and as a whole. */
const maxWorkbookBytes = 64 * 1024 * 1024

type FetchedStart = { readonly name: string; readonly isWhole: boolean; readonly signal: AbortSignal }

/** Decodes the beginning of an export whose first bytes were fetched. */
export async function readHeadFromBytes(bytes: Buffer, { name, isWhole, signal }: FetchedStart): Promise<Head> {
  if (!isWhole && isZip(bytes))
    throw unreadable(
      `${name} is a zip or a workbook of more than ${headBytes / 1024 / 1024} MiB, which is read from its end`,
      'look at a copy on this machine, or at a smaller export',
    )
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-init-'))
  try {
    await writeFile(join(folder, 'export'), bytes, { mode: 0o600 })
    const head = await readHead(await exportFileAt(join(folder, 'export'), name), signal)
    return isWhole ? head : { ...head, isWhole: false, hasFinalLineEnd: null }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Decodes the beginning of an export in a file, or reads a workbook as a whole. */
export async function readHead(file: ExportFile, signal: AbortSignal): Promise<Head> {
  if (await isWorkbookFile(file)) return await readWorkbookBytes(file, signal)
  const decoded = decodeFile(file, ExportFormat.parse({}), { signal, secret: () => null })
  const { bytes, isWhole } = await readHeadBytes(decoded)
  if (isZip(bytes))
    throw unreadable(
      `${file.name} is a packed zip or workbook`,
      'unpack it to look at it here; a run reads a packed workbook with format: xlsx',
    )
  const hasFinalLineEnd = isWhole ? endsInLineEnd(bytes) : await hasLineEndAtEnd(file, bytes)
  return { name: file.name, bytes, isWhole, hasFinalLineEnd }
}

async function readWorkbookBytes(file: ExportFile, signal: AbortSignal): Promise<Head> {
  const { name } = file
  if (file.bytes > maxWorkbookBytes)
    throw unreadable(
      `${name} is a workbook of more than ${maxWorkbookBytes / 1024 / 1024} MiB`,
      'look at a smaller one of the same form, or have it saved as CSV',
    )
  const bytes = Buffer.concat(await Array.fromAsync(readBytes(file, signal)))
  return { name, bytes, isWhole: true, hasFinalLineEnd: null, isWorkbook: true }
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
