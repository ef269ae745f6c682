import { crc32 } from 'node:zlib'
import { type Entry, fromBufferPromise, fromFdPromise, type ZipFile } from 'yauzl'
import { Failure } from '../../errors.ts'
import { checkUnpackedSize, limitSize } from '../file/decode/decode.ts'
import { checkUnchanged } from '../file/decode/zip.ts'
import { type ExportFile, openWithoutWaiting } from '../file/export-file.ts'
import { unreadable } from '../file/failures.ts'

/** A workbook has about ten parts, and one more for each sheet and picture. */
const maxEntries = 10_000
/** The size of the header in front of the data of an entry, without its name and its extra fields. */
const localHeaderBytes = 30

/** Where the bytes of an archive are: in a file, or in memory if they were decrypted or unpacked. */
export type ArchiveBytes = {
  readonly name: string
  readonly unpackedBytes: number
  readonly signal: AbortSignal
} & ({ readonly file: ExportFile } | { readonly bytes: Buffer })

/** An opened zip archive. */
export type Archive = AsyncDisposable & {
  readonly name: string
  /** The names of the parts as the archive writes them. */
  readonly parts: readonly string[]
  /** Names are compared without regard to case, as the format of workbooks says. */
  readonly has: (part: string) => boolean
  /** The bytes of a part. Ends normally only if its size and its checksum are right. Refuses a part that is missing. */
  readonly read: (part: string) => AsyncGenerator<Buffer>
  /** Refuses an archive whose content, counted in bytes or characters, is larger than allowed, or than its file by far. */
  readonly checkUnpacked: (size: number) => void
  /** Refuses an archive whose file changed since it was found. */
  readonly checkUnchanged: () => Promise<void>
}

/**
 * Reads the directory at the end of an archive. Refuses an archive that was cut off or has a password, and one with too many entries, with
 * two of the same name, or with entries that share bytes: no program writes such an archive by accident.
 */
export async function openArchive(source: ArchiveBytes): Promise<Archive> {
  const { name, signal } = source
  await using opening = new AsyncDisposableStack()
  const check = async () => ('file' in source ? await checkUnchanged(source.file, signal) : undefined)
  await check()
  const zip = await openZip(source, opening)
  const entries = await readEntries(zip, name)
  const opened = opening.move()
  const fileBytes = 'file' in source ? source.file.bytes : source.bytes.length
  return {
    name,
    parts: [...entries.values()].map(({ fileName }) => fileName),
    has: (part) => entries.has(part.toLowerCase()),
    read: (part) => readPart(zip, entries.get(part.toLowerCase()), { ...source, part }),
    checkUnpacked: (size) => checkUnpackedSize(size, { ...source, compressedBytes: () => fileBytes }),
    checkUnchanged: check,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

async function openZip(source: ArchiveBytes, opening: AsyncDisposableStack): Promise<ZipFile> {
  const handle = 'file' in source ? opening.use(await openWithoutWaiting(source.file.path)) : null
  try {
    if ('bytes' in source) return await fromBufferPromise(source.bytes, { lazyEntries: true })
    if (handle === null) throw new Error('the file is not open')
    return await fromFdPromise(handle.fd, { autoClose: false, lazyEntries: true })
  } catch (error) {
    throw toFailure(error, source.name)
  }
}

async function readEntries(zip: ZipFile, name: string): Promise<ReadonlyMap<string, Entry>> {
  if (zip.entryCount > maxEntries)
    throw unreadable(`${name} is a zip with more than ${maxEntries} entries`, 'no workbook has as many; check the file')
  const entries = new Map<string, Entry>()
  try {
    for await (const entry of zip.eachEntry()) {
      const key = entry.fileName.toLowerCase()
      if (entries.has(key)) throw ambiguousFailure(name, 'two parts of the same name')
      entries.set(key, entry)
    }
  } catch (error) {
    throw toFailure(error, name)
  }
  checkOverlaps([...entries.values()], name)
  return entries
}

/** Entries that share bytes are how a small archive unpacks to a huge one. */
function checkOverlaps(entries: readonly Entry[], name: string): void {
  let end = 0
  for (const entry of entries.toSorted((a, b) => a.relativeOffsetOfLocalHeader - b.relativeOffsetOfLocalHeader)) {
    if (entry.relativeOffsetOfLocalHeader < end) throw ambiguousFailure(name, 'parts that overlap')
    end = entry.relativeOffsetOfLocalHeader + localHeaderBytes + entry.fileNameLength + entry.compressedSize
  }
}

function ambiguousFailure(name: string, fault: string): Failure {
  return unreadable(`${name} is a damaged workbook with ${fault}`, 'have it sent again')
}

type PartOptions = Pick<ArchiveBytes, 'name' | 'unpackedBytes' | 'signal'> & { readonly part: string }

async function* readPart(zip: ZipFile, entry: Entry | undefined, options: PartOptions): AsyncGenerator<Buffer> {
  const { name, unpackedBytes, signal, part } = options
  if (!entry) throw unreadable(`${name} is a workbook without its part ${part}`, 'have it saved and sent again')
  if (entry.isEncrypted()) throw unreadable(`${name} is a zip with a password`, 'have the workbook saved without one')
  if (!entry.canDecodeFileData())
    throw unreadable(
      `${name} is packed with compression method ${entry.compressionMethod}, which is not read`,
      'have it saved by Excel or LibreOffice',
    )
  const compressedBytes = () => entry.compressedSize
  try {
    yield* limitSize(checkedContent(zip, entry), { name, unpackedBytes, compressedBytes, signal })
  } catch (error) {
    signal.throwIfAborted()
    throw error instanceof Failure ? error : toFailure(error, name)
  }
}

async function* checkedContent(zip: ZipFile, entry: Entry): AsyncGenerator<Buffer> {
  const content = await zip.openReadStreamPromise(entry)
  let checksum = 0
  for await (const chunk of content) {
    checksum = crc32(chunk, checksum)
    yield chunk
  }
  if (checksum !== entry.crc32) throw new Error('the checksum differs')
}

/** The messages of the library quote paths and offsets, which help nobody. */
function toFailure(error: unknown, name: string): Failure {
  if (error instanceof Failure) return error
  return unreadable(`${name} is a damaged workbook`, 'it was cut off or altered on its way: have it sent again', {
    cause: error,
  })
}
