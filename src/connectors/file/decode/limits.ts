import { unreadable } from '../failures.ts'

/** Text as dull as exports are packs to a tenth; what packs to less than a two-hundredth was made to fill a disk. */
const ratioLimit = 200
const ratioFromBytes = 10 * 1024 * 1024

type Limits = {
  readonly name: string
  readonly unpackedBytes: number
  /** How many packed bytes were read so far. */
  readonly packedBytes: () => number
  readonly signal: AbortSignal
}

/** The same bytes, refused as soon as they are more than configured or far more than what they were packed in. */
export async function* withinLimits(
  chunks: AsyncIterable<Buffer>,
  { name, unpackedBytes, packedBytes, signal }: Limits,
): AsyncGenerator<Buffer> {
  let totalBytes = 0
  for await (const chunk of chunks) {
    signal.throwIfAborted()
    totalBytes += chunk.length
    if (totalBytes > unpackedBytes)
      throw unreadable(`${name} unpacks to more than ${unpackedBytes} bytes`, 'raise unpackedBytes if that is right')
    if (totalBytes > ratioFromBytes && totalBytes > ratioLimit * packedBytes()) {
      const what = `${name} unpacks to more than ${ratioLimit} times its size`
      throw unreadable(what, 'no export does; have it sent without compression if it is one after all')
    }
    yield chunk
  }
}
