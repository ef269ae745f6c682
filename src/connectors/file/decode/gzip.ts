import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { errorCode, Failure } from '../../../errors.ts'
import { unreadable } from '../failures.ts'

const chunkSize = 128 * 1024

/**
 * Decompresses gzip, also of several members, as tools write it that append to a file or compress its parts side by side. Ends
 * normally only if the data is complete: checksum and length of each member are right, and nothing else follows.
 */
export async function* gunzipChunks(chunks: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  const gunzip = createGunzip({ chunkSize })
  let fedBytes = 0
  async function* fed() {
    for await (const chunk of chunks) {
      fedBytes += chunk.length
      yield chunk
    }
  }
  // An error in the source also ends the decompression, and is caught there, even an error after the last byte.
  const feeding = pipeline(fed, gunzip).catch(() => {})
  try {
    for await (const chunk of gunzip) yield chunk
    // NUL bytes behind a member end the data for zlib, though they may stand where another member was.
    if (gunzip.bytesWritten < fedBytes)
      throw unreadable(
        `${name} is a damaged file with NUL bytes behind its gzip data`,
        'a part of it may be lost: have it sent again',
      )
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
  if (error instanceof Error && error.message === 'incorrect header check')
    return unreadable(`${name} goes on behind the end of its gzip data`, 'have it written as gzip, and nothing else')
  if (code?.startsWith('Z_'))
    return unreadable(`${name} is a damaged gzip file`, 'have it sent again', { cause: error })
  return error
}
