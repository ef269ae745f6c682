import { Writable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { escapeJson } from './escape.ts'

/** A stream to the standard output that escapes JSON, for documents too large for memory. */
export function jsonOutput(): Writable {
  const decoder = new StringDecoder('utf8')
  return new Writable({
    decodeStrings: false,
    write: (piece: string | Buffer, _encoding, done) => {
      const text = typeof piece === 'string' ? piece : decoder.write(piece)
      process.stdout.write(escapeJson(text), done)
    },
  })
}
