const nothing: Buffer = Buffer.alloc(0)

/** The same bytes in chunks of at least `minBytes`, the last one excepted. */
export async function* atLeast(chunks: AsyncIterable<Buffer>, minBytes: number): AsyncGenerator<Buffer> {
  let held = nothing
  for await (const chunk of chunks) {
    const whole = held.length > 0 ? Buffer.concat([held, chunk]) : chunk
    const enough = whole.length >= minBytes
    held = enough ? nothing : whole
    if (enough) yield whole
  }
  if (held.length > 0) yield held
}

/** A chunk that was taken already, and then the others. */
export async function* prepended(chunk: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield chunk
  yield* rest
}

/** The same bytes in chunks of at most `maxBytes`. */
export async function* inPieces(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    const buffer = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    for (let start = 0; start < buffer.length; start += maxBytes) yield buffer.subarray(start, start + maxBytes)
  }
}
