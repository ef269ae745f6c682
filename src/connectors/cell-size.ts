import type { SourceRow } from './connector.ts'

/** 1 for each byte of a letter or digit: ASCII punctuation may quote, separate or pad; all bytes beyond ASCII are letters. */
const isLetterByte = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x80 || /[0-9A-Za-z]/.test(String.fromCharCode(byte)) ? 1 : 0,
)

/** The size of the letters and digits of a UTF-8 text. It does not depend on quoting, padding and delimiters. */
export function letterBytes(text: Uint8Array): number {
  let size = 0
  for (let index = 0; index < text.length; index += 1) size += isLetterByte[text[index] ?? 0] ?? 0
  return size
}

/** The size of the letters and digits in the cells of rows. */
export function cellBytes(rows: readonly Pick<SourceRow, 'values'>[]): number {
  return rows.reduce((sum, { values }) => sum + letterBytes(Buffer.from(values.join(''))), 0)
}
