import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { errorCode, Failure } from '../../../errors.ts'
import { unreadable } from '../failures.ts'

const chunkSize = 128 * 1024

/** Decompresses gzip. Ends normally only if the data is complete: checksum and length are right, and nothing follows. */
export async function* gunzipChunks(chunks: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  const gunzip = createGunzip({ chunkSize, rejectGarbageAfterEnd: true })
  // An error in the source also ends the decompression, and is caught there, even an error after the last byte.
  const feeding = pipeline(chunks, gunzip).catch(() => {})
  try {
    for await (const chunk of gunzip) yield chunk
  } catch (error) {
    throw refusalOf(error, name)
  } finally {
    gunzip.destroy()
    await feeding
  }
}

function refusalOf(error: unknown, name: string): unknown {
  if (error instanceof Failure) return error
  const code = errorCode(error)
  if (code === 'Z_BUF_ERROR') return unreadable(`${name} ends in the middle of its gzip data`, 'the export was cut off')
  if (code === 'ERR_TRAILING_JUNK_AFTER_STREAM_END')
    return unreadable(
      `${name} goes on behind the end of its gzip data`,
      'have it written as one gzip, and nothing else',
    )
  if (code?.startsWith('Z_'))
    return unreadable(`${name} is a damaged gzip file`, 'have it sent again', { cause: error })
  return error
}
