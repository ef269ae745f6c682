import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { SourceRow } from '../../../src/connectors/connector.ts'
import { fromLine } from '../../../src/connectors/csv/open-csv.ts'
import { readRows } from '../../../src/connectors/csv/rows.ts'
import { toUtf8 } from '../../../src/connectors/file/encoding.ts'
import { ExportFormat } from '../../../src/connectors/file/format.ts'
import { Failure } from '../../../src/errors.ts'
import { allRows, type Format, openFile } from '../../helpers/sources/csv.ts'
import { type Dialect, written } from '../../helpers/sources/csv-writer.ts'
import { type ExportFolder, exportFolder } from '../../helpers/sources/exports.ts'

const delimiters = [',', ';', 'tab', '|', '§', '🦊']
const quotes = ['"', "'", '»', '🦝']
const escapes = ['doubled', '\\', '^']
const encodings = ['utf-8', 'utf-16le', 'utf-16be', 'gb18030']

/** Characters that mean something to a reader, and some of every length that encodings have. */
const loaded = [
  ',',
  ';',
  '\t',
  '|',
  '§',
  '"',
  "'",
  '\\',
  '^',
  '\n',
  '\r',
  '\r\n',
  ' ',
  '\uFEFF',
  'a',
  'ü',
  '語',
  '🦊',
  '🦝',
  '»',
]

const dialects: fc.Arbitrary<Dialect> = fc.record({
  format: fc.record({
    delimiter: fc.constantFrom(...delimiters),
    quote: fc.constantFrom(...quotes),
    escape: fc.constantFrom(...escapes),
    encoding: fc.constantFrom(...encodings),
    lastLine: fc.constantFrom('terminated', 'any'),
  }),
  lineEnd: fc.constantFrom('\n', '\r\n', '\r'),
  mark: fc.boolean(),
  encloseAll: fc.boolean(),
  wrapped: fc.constantFrom('plain', 'gzip'),
})

const cells = fc.oneof(
  fc.string({ unit: fc.constantFrom(...loaded), maxLength: 8 }),
  fc.string({ unit: 'binary', maxLength: 12 }).map((text) => text.replaceAll(/[\0\uFFFD]/g, '')),
)

/** Every row has a number, so that none is blank. */
const tables = fc
  .integer({ min: 1, max: 5 })
  .chain((width) => fc.array(fc.array(cells, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 12 }))
  .map((rows) => rows.map((row, index) => [`${index}`, ...row]))

describe('whatever table is written', () => {
  test('in whatever dialect, it is read as it was', async () => {
    await using folder = await exportFolder()
    await fc.assert(
      fc.asyncProperty(tables, dialects, async (table, dialect) => {
        const read = await readIn(folder, written(table, dialect), dialect.format)

        expect([read.headers, ...read.rows.map(({ values }) => values)]).toEqual(table)
        expect(read.rows.filter(({ fault }) => fault)).toEqual([])
      }),
      { numRuns: 300 },
    )
  })

  test('in whatever pieces it arrives, lines and cells are the same', async () => {
    await fc.assert(
      fc.asyncProperty(tables, dialects, fc.integer({ min: 1, max: 9 }), async (table, dialect, pieceBytes) => {
        const bytes = written(table, { ...dialect, wrapped: 'plain' })
        const format = ExportFormat.parse(dialect.format)

        const whole = await rowsOf([bytes], format)
        const pieces = await rowsOf(cut(bytes, pieceBytes), format)

        expect(pieces).toEqual(whole)
      }),
      { numRuns: 200 },
    )
  })

  test('lines are the ones that an editor shows, below whatever titles', async () => {
    const titles = fc.array(fc.string({ unit: fc.constantFrom('x', '"', ',', 'ü'), maxLength: 5 }), { maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(
        tables,
        dialects,
        titles,
        fc.integer({ min: 1, max: 9 }),
        async (table, any, title, pieceBytes) => {
          const dialect: Dialect = {
            ...any,
            format: { ...any.format, encoding: 'utf-8' },
            mark: false,
            wrapped: 'plain',
          }
          const above = Buffer.from(title.map((line) => line + dialect.lineEnd).join(''))
          const format = ExportFormat.parse({ ...dialect.format, headerLine: title.length + 1 })

          const rows = await rowsOf(cut(Buffer.concat([above, written(table, dialect)]), pieceBytes), format)

          expect(rows.map(({ origin }) => origin.line)).toEqual(linesOf(table, title.length))
        },
      ),
      { numRuns: 200 },
    )
  })
})

describe('whatever bytes arrive', () => {
  const formats: fc.Arbitrary<Format> = fc.record({
    delimiter: fc.constantFrom(',', ';', 'auto'),
    quote: fc.constantFrom('"', 'none'),
    escape: fc.constantFrom(...escapes),
    encoding: fc.constantFrom('utf-8', 'utf-16le', 'utf-16be', 'windows-1252', 'shift_jis'),
    lastLine: fc.constantFrom('terminated', 'any'),
    headerLine: fc.integer({ min: 1, max: 3 }),
    linesAfterHeader: fc.integer({ min: 0, max: 2 }),
    footer: fc.constantFrom(undefined, { rows: 1 }, { startsWith: 'a' }),
    trailer: fc.constantFrom(undefined, { startsWith: '1', rowsAt: 1 }),
  })
  const sense = fc
    .array(fc.constantFrom(...loaded, '\0', '\uFFFD', '1'), { minLength: 1, maxLength: 60 })
    .map((text) => Buffer.from(text.join('')))
  const nonsense = fc.uint8Array({ minLength: 1, maxLength: 200 })
  const altered = fc.tuple(sense, fc.nat(), fc.nat(255)).map(([text, at, byte]) => {
    const packed = gzipSync(text)
    packed[at % packed.length] = byte
    return packed
  })
  const marked = fc
    .tuple(
      fc.constantFrom('PK\x03\x04', 'PK\x05\x06', '\x1f\x8b\x08', '\xff\xfe', '\xfe\xff', '\xef\xbb\xbf'),
      nonsense,
    )
    .map(([mark, rest]) => Buffer.concat([Buffer.from(mark, 'latin1'), rest]))

  test('the answer is rows that fit the header, faults, or a refusal', async () => {
    await using folder = await exportFolder()
    await fc.assert(
      fc.asyncProperty(fc.oneof(sense, nonsense, altered, marked), formats, async (bytes, format) => {
        const answer = await readIn(folder, bytes, format).catch((error: unknown) => error)

        const refused = answer instanceof Failure && answer.code === 'source_unreadable'
        expect(refused || unfit(answer as Read)).toEqual(refused || [])
      }),
      { numRuns: 300 },
    )
  })
})

type Read = { readonly headers: readonly string[]; readonly rows: readonly SourceRow[] }

/** The rows that have neither a fault nor a text for every column. */
function unfit({ headers, rows }: Read): SourceRow[] {
  return rows.filter(
    ({ values, fault }) => !fault && (values.length !== headers.length || values.join().match(/[\0\uFFFD]/)),
  )
}

async function readIn(folder: ExportFolder, bytes: Uint8Array, format: Format): Promise<Read> {
  await folder.write('people.csv', bytes)
  const opened = await openFile(folder, 'people.csv', format)
  return { headers: opened.headers, rows: await allRows(opened) }
}

async function rowsOf(chunks: readonly Uint8Array[], format: ExportFormat): Promise<SourceRow[]> {
  const name = 'people.csv'
  const text = toUtf8(stream(chunks), { name, encoding: format.encoding })
  const rows: SourceRow[] = []
  const slices = readRows(fromLine(text, { name, line: format.headerLine }), { name, format, width: 0, warn: () => {} })
  for await (const slice of slices) rows.push(...slice)
  return rows
}

async function* stream(chunks: readonly Uint8Array[]): AsyncGenerator<Buffer> {
  for (const chunk of chunks) yield Buffer.from(chunk)
}

function cut(bytes: Uint8Array, pieceBytes: number): Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, index) =>
    bytes.subarray(index * pieceBytes, (index + 1) * pieceBytes),
  )
}

/** Where the rows below the header begin, below that many lines of titles. */
function linesOf(table: readonly (readonly string[])[], titles: number): number[] {
  let line = titles + 1
  const starts = table.map((row) => {
    const start = line
    line += 1 + (row.join('x').match(/\r\n|\r|\n/g)?.length ?? 0)
    return start
  })
  return starts.slice(1)
}
