import { crc32 } from 'node:zlib'
import { type Entry, fromBufferPromise, fromFdPromise, type ZipFile } from 'yauzl'
import { Failure } from '../../../errors.ts'
import { type ExportFile, openWithoutWaiting, readBytes } from '../export-file.ts'
import { unreadable } from '../failures.ts'

/** A zip is read from its end, so a decrypted zip is buffered in memory up to this size. */
const maxBufferedBytes = 64 * 1024 * 1024
/** The main part of a workbook is among the first ones. */
const maxEntriesLookedAt = 1000

/** Decompresses the only entry of a zip file. Ends normally only if its size and checksum are right. `help`: advice if it is a workbook. */
export async function* unzipFile(file: ExportFile, signal: AbortSignal, help: string): AsyncGenerator<Buffer> {
  await checkUnchanged(file, signal)
  await using handle = await openWithoutWaiting(file.path)
  yield* onlyEntry(() => fromFdPromise(handle.fd, { autoClose: false, lazyEntries: true }), file.name, help)
  await checkUnchanged(file, signal)
}

/** Decompresses the only entry of a zip that arrives as a stream. */
export async function* unzipChunks(chunks: AsyncIterable<Buffer>, name: string, help: string): AsyncGenerator<Buffer> {
  const chunksSoFar: Buffer[] = []
  let totalBytes = 0
  for await (const chunk of chunks) {
    totalBytes += chunk.length
    if (totalBytes > maxBufferedBytes)
      throw unreadable(
        `${name} is an encrypted zip of more than 64 MiB`,
        'have it compressed with gzip before it is encrypted',
      )
    chunksSoFar.push(chunk)
  }
  yield* onlyEntry(() => fromBufferPromise(Buffer.concat(chunksSoFar), { lazyEntries: true }), name, help)
}

/** Whether a file is an Excel workbook. A damaged one is none. */
export async function isWorkbookFile(file: ExportFile): Promise<boolean> {
  await using handle = await openWithoutWaiting(file.path)
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0)
  if (buffer.toString('latin1', 0, bytesRead) !== 'PK') return false
  try {
    return await isWorkbook(await fromFdPromise(handle.fd, { autoClose: false, lazyEntries: true }))
  } catch {
    return false
  }
}

async function* onlyEntry(open: () => Promise<ZipFile>, name: string, help: string): AsyncGenerator<Buffer> {
  try {
    const zip = await open()
    const entry = await entryOf(zip, name, help)
    const content = await zip.openReadStreamPromise(entry)
    let checksum = 0
    for await (const chunk of content) {
      checksum = crc32(chunk, checksum)
      yield chunk
    }
    if (checksum !== entry.crc32) throw toFailure(new Error('the checksum differs'), name)
  } catch (error) {
    throw error instanceof Failure ? error : toFailure(error, name)
  }
}

async function entryOf(zip: ZipFile, name: string, help: string): Promise<Entry> {
  if (zip.entryCount !== 1) {
    if (await isWorkbook(zip)) throw unreadable(`${name} is an Excel workbook`, help)
    throw unreadable(`${name} is a zip with ${zip.entryCount} entries`, 'have exactly one file packed, without folders')
  }
  const entry = await firstEntry(zip)
  if (!entry || entry.fileName.endsWith('/'))
    throw unreadable(`${name} is a zip that holds a folder only`, 'have exactly one file packed, without folders')
  if (entry.isEncrypted())
    throw unreadable(`${name} is a zip with a password`, 'have it packed without one, or encrypted with OpenPGP')
  if (!entry.canDecodeFileData())
    throw unreadable(
      `${name} is a zip with compression method ${entry.compressionMethod}, which is not read`,
      'have it packed with the usual one, deflate',
    )
  return entry
}

async function isWorkbook(zip: ZipFile): Promise<boolean> {
  let entries = 0
  for await (const { fileName } of zip.eachEntry()) {
    if (/^xl\/workbook\.(?:xml|bin)$/.test(fileName)) return true
    entries += 1
    if (entries === maxEntriesLookedAt) return false
  }
  return false
}

async function firstEntry(zip: ZipFile): Promise<Entry | undefined> {
  const { value, done } = await zip.eachEntry().next()
  return done ? undefined : value
}

/** Refuses a file that changed since it was found: reading its first bytes checks that. */
export async function checkUnchanged(file: ExportFile, signal: AbortSignal): Promise<void> {
  for await (const _ of readBytes(file, signal)) return
}

function toFailure(error: unknown, name: string): Failure {
  // The message of the library quotes the path in the zip, which may hold any text.
  if (
    error instanceof Error &&
    /^(absolute path|invalid relative path|invalid characters in fileName)/.test(error.message)
  )
    return unreadable(`${name} is a zip whose file has a path that leads elsewhere`, 'have it packed without folders')
  return unreadable(`${name} is a damaged zip file`, 'the export was cut off or altered: have it sent again', {
    cause: error,
  })
}
