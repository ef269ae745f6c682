import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { errorCode, Failure } from '../../../errors.ts'
import { unreadable } from '../failures.ts'

const chunkSize = 128 * 1024

/** What a gzip holds. Ends normally only where it is whole: checksum and length are right, and nothing stands behind it. */
export async function* gunzipped(chunks: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  const gunzip = createGunzip({ chunkSize, rejectGarbageAfterEnd: true })
  // What ends the feeding ends the unpacking with the same error, which is where it is seen; also an error behind the last byte.
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
