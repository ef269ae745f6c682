const nothing: Buffer = Buffer.alloc(0)

/** Joins chunks until each has at least `minBytes`. Only the last one may be shorter. */
export async function* joinChunks(chunks: AsyncIterable<Buffer>, minBytes: number): AsyncGenerator<Buffer> {
  let held = nothing
  for await (const chunk of chunks) {
    const whole = held.length > 0 ? Buffer.concat([held, chunk]) : chunk
    const enough = whole.length >= minBytes
    held = enough ? nothing : whole
    if (enough) yield whole
  }
  if (held.length > 0) yield held
}

/** Puts a chunk that was already read back in front of the others. */
export async function* prepend(chunk: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
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
