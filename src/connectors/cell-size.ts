import type { SourceRow } from './connector.ts'

/** Bytes of letters and digits: 1 each. Signs of ASCII quote, separate and pad; what is beyond ASCII are letters, in UTF-8. */
const counted = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x80 || /[0-9A-Za-z]/.test(String.fromCharCode(byte)) ? 1 : 0,
)

/** The size of the letters and digits of a text in UTF-8, which is the same however its cells are quoted, padded and separated. */
export function letterBytes(text: Uint8Array): number {
  let size = 0
  for (let at = 0; at < text.length; at += 1) size += counted[text[at] ?? 0] ?? 0
  return size
}

/** The same of the cells of rows. */
export function cellBytes(rows: readonly Pick<SourceRow, 'values'>[]): number {
  return rows.reduce((sum, { values }) => sum + letterBytes(Buffer.from(values.join(''))), 0)
}
