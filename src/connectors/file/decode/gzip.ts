import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { errorCode, Failure } from '../../../errors.ts'
import { unreadable } from '../failures.ts'

const chunkSize = 128 * 1024

/**
 * Decompresses gzip, also of several members, as tools write it that append to a file or compress in parallel. Ends normally only if
 * checksum and length of each member are right and nothing follows.
 */
export async function* gunzipChunks(chunks: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  const gunzip = createGunzip({ chunkSize })
  let inputBytes = 0
  async function* countedInput() {
    for await (const chunk of chunks) {
      inputBytes += chunk.length
      yield chunk
    }
  }
  // An error in the source also ends the decompression, where it is thrown, even after the last byte.
  const writing = pipeline(countedInput, gunzip).catch(() => {})
  try {
    for await (const chunk of gunzip) yield chunk
    // For zlib, NUL bytes after a member end the data. They may have replaced another member.
    if (gunzip.bytesWritten < inputBytes)
      throw unreadable(
        `${name} is a damaged file with NUL bytes behind its gzip data`,
        'a part of it may be lost: have it sent again',
      )
  } catch (error) {
    throw toFailure(error, name)
  } finally {
    gunzip.destroy()
    await writing
  }
}

function toFailure(error: unknown, name: string): unknown {
  if (error instanceof Failure) return error
  const code = errorCode(error)
  if (code === 'Z_BUF_ERROR') return unreadable(`${name} ends in the middle of its gzip data`, 'the export was cut off')
  if (error instanceof Error && error.message === 'incorrect header check')
    return unreadable(
      `${name} has other data after the end of its gzip data`,
      'have it written as gzip, and nothing else',
    )
  if (code?.startsWith('Z_'))
    return unreadable(`${name} is a damaged gzip file`, 'have it sent again', { cause: error })
  return error
}
