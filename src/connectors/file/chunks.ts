const noBytes: Buffer = Buffer.alloc(0)

/** Joins chunks until each has at least `minBytes`. Only the last one may be shorter. */
export async function* joinChunks(chunks: AsyncIterable<Buffer>, minBytes: number): AsyncGenerator<Buffer> {
  let pending = noBytes
  for await (const chunk of chunks) {
    const joined = pending.length > 0 ? Buffer.concat([pending, chunk]) : chunk
    const isEnough = joined.length >= minBytes
    pending = isEnough ? noBytes : joined
    if (isEnough) yield joined
  }
  if (pending.length > 0) yield pending
}

/** Yields a chunk that was read already, and then the rest. */
export async function* prependChunk(chunk: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield chunk
  yield* rest
}

/** Splits chunks so that each has at most `maxBytes`. */
export async function* splitChunks(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    const buffer = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    for (let start = 0; start < buffer.length; start += maxBytes) yield buffer.subarray(start, start + maxBytes)
  }
}
