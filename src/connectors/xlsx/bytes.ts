import type { ConnectorContext } from '../connector.ts'
import { joinChunks } from '../file/chunks.ts'
import { decodeFile, findOtherFormat, isZip } from '../file/decode/decode.ts'
import { type ExportFile, readBytes } from '../file/export-file.ts'
import { unreadable } from '../file/failures.ts'
import type { ExportFormat } from '../file/format.ts'
import { findOtherText } from '../file/other-text.ts'
import type { ArchiveBytes } from './archive.ts'

const headBytes = 1024
/** A zip is read from its end, so one that was decrypted or unpacked is kept in memory up to this size. */
const maxBufferedBytes = 64 * 1024 * 1024
/** The beginning of old workbooks, and of the container that a workbook with a password is put into. */
const oleMagic = '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'
const utf16Marks = ['\xff\xfe', '\xfe\xff']
const encryptedPart = Buffer.from('EncryptedPackage', 'utf16le')

type BytesOptions = { readonly signal: AbortSignal; readonly secret: ConnectorContext['secret'] }

/**
 * Where the archive of a workbook can be read: in its file, or in memory if the file is encrypted or packed once more. Refuses a file that
 * is something else, by its first bytes. An old workbook, or one with a password, is read to its end before that.
 */
export async function locateArchive(
  file: ExportFile,
  format: ExportFormat,
  options: BytesOptions,
): Promise<ArchiveBytes> {
  const { name } = file
  const { unpackedBytes } = format
  const { signal } = options
  const isAsDelivered = format.decrypt === undefined && format.compression !== 'gzip' && format.compression !== 'zip'
  const pieces: Buffer[] = []
  let total = 0
  let oldWorkbook: ContainerSearch | null = null
  const decoded = decodeFile(file, { ...format, format: 'xlsx' }, options)
  for await (const chunk of joinChunks(decoded, headBytes)) {
    if (total === 0) {
      oldWorkbook = startsWith(chunk, oleMagic) ? new ContainerSearch() : null
      if (!oldWorkbook) requireZip(chunk, name)
      if (isAsDelivered && (await startsAsDelivered(file, chunk, signal))) return { name, file, unpackedBytes, signal }
    }
    total += chunk.length
    if (oldWorkbook) oldWorkbook.add(chunk)
    else if (total <= maxBufferedBytes) pieces.push(chunk)
    else throw tooLarge(name)
  }
  if (oldWorkbook) throw oldWorkbook.refusal(name)
  if (total === 0) throw unreadable(`${name} is empty`, 'check the export')
  return { name, bytes: Buffer.concat(pieces), unpackedBytes, signal }
}

/** Whether the file itself begins with these bytes, and was not unpacked. */
async function startsAsDelivered(file: ExportFile, decoded: Buffer, signal: AbortSignal): Promise<boolean> {
  if (startsWith(decoded, oleMagic)) return false
  for await (const chunk of readBytes(file, signal)) return isZip(chunk)
  return false
}

function requireZip(head: Buffer, name: string): void {
  if (isZip(head)) return
  const packed = findOtherFormat(head)
  if (packed) throw unreadable(`${name} ${packed.problem}`, packed.help)
  const other = findOtherText(head.toString('utf8', 0, headBytes))
  if (other) throw unreadable(`${name} ${other.problem} and no workbook`, 'have it saved as .xlsx')
  if (!head.includes(0) || utf16Marks.some((mark) => startsWith(head, mark)))
    throw unreadable(
      `${name} is text, as a CSV export is, and no workbook`,
      'write format: csv, or have it saved as .xlsx',
    )
  throw unreadable(`${name} is no Excel workbook (.xlsx)`, 'check what writes it, and compression')
}

function tooLarge(name: string) {
  const problem = `${name} is an encrypted or packed workbook of more than 64 MiB`
  return unreadable(problem, 'have it sent as it is, or as CSV')
}

function startsWith(bytes: Buffer, magic: string): boolean {
  return bytes.toString('latin1', 0, magic.length) === magic
}

/** Looks for the sign of a password in a container that passes by. */
class ContainerSearch {
  #isEncrypted = false
  #end: Buffer = Buffer.alloc(0)

  add(chunk: Buffer): void {
    const bytes = Buffer.concat([this.#end, chunk])
    this.#isEncrypted ||= bytes.includes(encryptedPart)
    this.#end = bytes.subarray(Math.max(0, bytes.length - encryptedPart.length))
  }

  refusal(name: string) {
    return this.#isEncrypted
      ? unreadable(`${name} is a workbook with a password`, 'have it saved without one, or encrypted with OpenPGP')
      : unreadable(`${name} is a workbook of the old kind (.xls)`, 'have it saved as .xlsx')
  }
}
