import { open } from 'node:fs/promises'
import { constants, deflateRawSync } from 'node:zlib'

const mebibyte = 1024 * 1024

/** Writes `count` times a mebibyte of one character between two texts. */
export async function writeLong(
  path: string,
  { before, character, count, behind }: { before: string; character: string; count: number; behind: string },
): Promise<void> {
  await using file = await open(path, 'w')
  const piece = Buffer.alloc(mebibyte, character)
  await file.write(before)
  for (let i = 0; i < count; i++) await file.write(piece)
  await file.write(behind)
}

/** A gzip that holds this many zeros, which must be a multiple of 64 MiB. Nobody who reads it gets as far as its checksum. */
export function gzipOfZeros(bytes: number): Buffer {
  const pieceBytes = 64 * mebibyte
  // A piece that is flushed in full refers to nothing before it, so that it can be repeated.
  const piece = deflateRawSync(Buffer.alloc(pieceBytes), { finishFlush: constants.Z_FULL_FLUSH })
  const head = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3])
  const end = Buffer.alloc(10)
  end.writeUInt16LE(3, 0)
  end.writeUInt32LE(bytes % 2 ** 32, 6)
  return Buffer.concat([head, ...Array.from({ length: bytes / pieceBytes }, () => piece), end])
}
