import { gzipSync } from 'node:zlib'
import iconv from 'iconv-lite'

/** A way to write tables, with everything that the reader has to be told about it in `format`. */
export type Dialect = {
  readonly format: {
    readonly delimiter: string
    readonly quote: string
    readonly escape: string
    readonly encoding: string
    readonly lastLine: 'terminated' | 'any'
  }
  readonly lineEnd: '\n' | '\r\n' | '\r'
  readonly mark: boolean
  /** Cells are enclosed also where they need not be. */
  readonly encloseAll: boolean
  readonly wrapped: 'plain' | 'gzip'
}

/** A table as an export of that dialect. */
export function written(rows: readonly (readonly string[])[], dialect: Dialect): Buffer {
  const { delimiter, encoding, lastLine } = dialect.format
  const between = delimiter === 'tab' ? '\t' : delimiter
  const lines = rows.map((row) => row.map((cell) => writtenCell(cell, dialect)).join(between))
  const text = lines.join(dialect.lineEnd) + (lastLine === 'any' ? '' : dialect.lineEnd)
  const bytes = iconv.encode(text, encoding, { addBOM: dialect.mark })
  return dialect.wrapped === 'gzip' ? gzipSync(bytes) : bytes
}

function writtenCell(cell: string, { format, encloseAll }: Dialect): string {
  const { delimiter, quote } = format
  const special = ['\r', '\n', quote, delimiter === 'tab' ? '\t' : delimiter]
  if (!encloseAll && !special.some((character) => cell.includes(character))) return cell
  const behind = format.escape === 'doubled' ? quote : format.escape
  const safe = behind === quote ? cell : cell.replaceAll(behind, behind + behind)
  return quote + safe.replaceAll(quote, behind + quote) + quote
}
