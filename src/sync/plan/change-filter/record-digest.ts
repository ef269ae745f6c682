import { hash } from 'node:crypto'

/** The digest of the bytes of a text from `start` to `end`. */
export type DigestOf = (text: Buffer, start: number, end: number) => string

/** Makes keyed digests. Without the key, they cannot be compared with a text. */
export function digestsWith(key: Buffer): DigestOf {
  // The key is copied once into a buffer that all digests share, which is much faster than a new buffer for each of them.
  let hashed = Buffer.concat([key], key.length + 1024)
  return (text, start, end) => {
    const length = key.length + end - start
    if (length > hashed.length) hashed = Buffer.concat([key], 2 * length)
    text.copy(hashed, key.length, start, end)
    return hash('sha256', hashed.subarray(0, length), 'latin1')
  }
}
