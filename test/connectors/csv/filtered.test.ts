import { readdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import naughtyStrings from 'big-list-of-naughty-strings/blns.json' with { type: 'json' }
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RecordFilter, SourceRow } from '../../../src/connectors/connector.ts'
import { canFilter, readFilteredRows, readRows } from '../../../src/connectors/csv/rows.ts'
import { ExportFormat } from '../../../src/connectors/file/format.ts'
import { Failure } from '../../../src/errors.ts'
import { type Dialect, written } from '../../helpers/sources/csv-writer.ts'

class GivenUp extends Error {}

/** A filter that skips these records, and records what it was offered. `stretches`: how many lines without quotes to skip together from a line on. */
function filterOf(leavesOut: (line: number, text: string) => boolean, stretches = (_line: number) => 0) {
  const offered: { readonly line: number; readonly text: string; readonly isLeftOut: boolean }[] = []
  let isGivenUp = false
  const filter: RecordFilter = {
    skipRange(text, start, line) {
      const records = text.toString('latin1', start).split('\n').slice(0, -1).slice(0, stretches(line))
      if (records.length === 0 || records.some((record) => /["']|\r./.test(record))) return null
      for (const [at, record] of records.entries()) offered.push({ line: line + at, text: record, isLeftOut: true })
      return { records: records.length, bytes: Buffer.byteLength(`${records.join('\n')}\n`, 'latin1') }
    },
    shouldSkip({ text, start, end, line }) {
      const record = text.toString('utf8', start, end)
      const isLeftOut = leavesOut(line, record)
      offered.push({ line, text: record, isLeftOut })
      return isLeftOut
    },
    stop() {
      if (offered.some(({ isLeftOut }) => isLeftOut)) throw new GivenUp()
      isGivenUp = true
    },
    fail() {
      throw new GivenUp()
    },
  }
  return { asked: offered, filter, isGivenUp: () => isGivenUp }
}

const quotes = ['"', "'", 'none']
const formats = fc.record({
  delimiter: fc.constantFrom(',', ';', 'tab', '|'),
  quote: fc.constantFrom(...quotes),
  escape: fc.constant('doubled'),
  encoding: fc.constant('utf-8'),
  lastLine: fc.constantFrom('terminated', 'any'),
})
const loaded = [',', ';', '\t', '|', '"', "'", '\n', '\r\n', '\r', ' ', 'a', 'b', 'ü', '語', '🦊']
// A line end of CR alone is told apart by no one, so few of the tables hold one.
const plainCells = fc.oneof(
  {
    weight: 40,
    arbitrary: fc.string({ unit: fc.constantFrom(...loaded.filter((each) => each !== '\r')), maxLength: 6 }),
  },
  { weight: 1, arbitrary: fc.constant('a\rb') },
)
const tables = fc
  .integer({ min: 1, max: 4 })
  .chain((width) =>
    fc.array(fc.array(plainCells, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 14 }),
  )
  .map((rows) => rows.map((row, index) => [`${index}`, ...row]))
// Text without any quote is taken apart in another way, so some tables hold none.
const dialects: fc.Arbitrary<Dialect> = fc.record({
  format: formats.filter(({ quote }) => quote !== 'none') as fc.Arbitrary<Dialect['format']>,
  lineEnd: fc.constantFrom('\n', '\r\n'),
  mark: fc.constant(false),
  encloseAll: fc.boolean(),
  wrapped: fc.constant('plain' as const),
})
const pieces = fc.integer({ min: 1, max: 40 })

describe('rows that no filter leaves out', () => {
  test('are the ones that are read without it, whatever table is written', async () => {
    let rowCount = 0
    await fc.assert(
      fc.asyncProperty(tables, dialects, pieces, async (table, dialect, pieceBytes) => {
        const bytes = written(table, dialect)
        const format = ExportFormat.parse(dialect.format)

        const { asked: offered, filter, isGivenUp } = filterOf(() => false)
        const filtered = await outcomeOf(filteredRows(cut(bytes, pieceBytes), format, filter))

        expect(filtered).toEqual(await outcomeOf(rowsOf([bytes], format)))
        if (!isGivenUp()) rowCount += offered.length
      }),
      { numRuns: 300 },
    )
    expect(rowCount).toBeGreaterThan(300)
  })

  test('are the ones that are read without it, whatever bytes arrive', async () => {
    const sense = fc
      .array(fc.constantFrom(...loaded, '\0', '\uFFFD', '\uFEFF', '""', 'x"', '"\n', '\n\n', ',,\n'), { maxLength: 60 })
      .map((text) => Buffer.from(text.join('')))
    const bytes = fc.oneof(sense, fc.uint8Array({ maxLength: 60 }).map(Buffer.from))
    await fc.assert(
      fc.asyncProperty(bytes, formats, pieces, async (text, settings, pieceBytes) => {
        const format = ExportFormat.parse(settings)

        const { filter } = filterOf(() => false)
        const filtered = await outcomeOf(filteredRows(cut(text, pieceBytes), format, filter))

        expect(filtered).toEqual(await outcomeOf(rowsOf([text], format)))
      }),
      { numRuns: 1000 },
    )
  })
})

describe('rows beside those that a filter leaves out', () => {
  test('are the ones that are read without it, or it is told to give up', async () => {
    let remaining = 0
    await fc.assert(
      fc.asyncProperty(
        tables,
        dialects,
        pieces,
        fc.array(fc.boolean(), { minLength: 3 }),
        async (table, dialect, pieceBytes, pattern) => {
          const bytes = written(table, dialect)
          const format = ExportFormat.parse(dialect.format)
          const whole = await rowsOf([bytes], format)

          const isLeftOut = (line: number) => line > 1 && (pattern[line % pattern.length] ?? false)
          const { asked: offered, filter } = filterOf(isLeftOut, (line) => (line > 1 && isLeftOut(line) ? line % 4 : 0))
          const filtered = await outcomeOf(filteredRows(cut(bytes, pieceBytes), format, filter))

          if (filtered === 'given up') return
          // The last line may have no line end, and then it is read in any case.
          const skippedLines = new Set(offered.flatMap((each) => (each.isLeftOut ? [each.line] : [])))
          expect(filtered).toEqual(whole.filter(({ origin }) => !skippedLines.has(origin.line)))
          remaining += whole.length - filtered.length
        },
      ),
      { numRuns: 300 },
    )
    expect(remaining).toBeGreaterThan(200)
  })

  test('a record is the text between its line ends, however it is cut into pieces', async () => {
    const text = 'id,note\n1,"a\nb"\n2,"say ""x"""\n\n3,\n'

    const results = await Promise.all(
      [1, 2, 3, 5, 100].map(async (pieceBytes) => {
        const { asked: offered, filter } = filterOf(() => false)
        await filteredRows(cut(Buffer.from(text), pieceBytes), ExportFormat.parse({}), filter)
        return offered.map(({ line, text: record }) => [line, record])
      }),
    )

    const records = [
      [1, 'id,note'],
      [2, '1,"a\nb"'],
      [4, '2,"say ""x"""'],
      [5, ''],
      [6, '3,'],
    ]
    expect(results).toEqual(results.map(() => records))
  })

  test.each([
    ['lines that end in two ways', 'id\n1\n2\r\n'],
    ['a quote within a cell', 'id\n1\n2"\n3\n'],
    ['text behind a quoted cell', 'id\n1\n"2"x\n3\n'],
    ['a line end of CR alone', 'id\n1\n2\r3\n'],
    ['a quote that is not closed', 'id\n1\n"2\n3\n'],
  ])('%s: nothing may be left out', async (_, text) => {
    const { filter } = filterOf((line) => line === 2)

    expect(await outcomeOf(filteredRows([Buffer.from(text)], ExportFormat.parse({}), filter))).toBe('given up')
  })
})

test('the corpora are read as they are without a filter', async () => {
  const spectrum = dirname(createRequire(import.meta.url).resolve('csv-spectrum/package.json'))
  const files = await Promise.all(
    (await readdir(join(spectrum, 'csvs'))).map((name) => readFile(join(spectrum, 'csvs', name))),
  )
  const naughty = naughtyStrings.map((text, index) => [`${index}`, text, `${text}${text}`])
  const format = { delimiter: ',', quote: '"', escape: 'doubled', encoding: 'utf-8', lastLine: 'any' } as const
  const dialect: Dialect = { format, lineEnd: '\r\n', mark: false, encloseAll: true, wrapped: 'plain' }

  for (const file of [...files, written([['id', 'text', 'twice'], ...naughty], dialect)]) {
    const { filter } = filterOf(() => false)
    const filtered = await outcomeOf(filteredRows(cut(file, 1000), ExportFormat.parse(format), filter))
    expect(filtered).toEqual(await outcomeOf(rowsOf([file], ExportFormat.parse(format))))
  }
})

test.each([
  { delimiter: '§' },
  { quote: '»' },
  { escape: '\\' },
  { footer: { rows: 1 } },
  { trailer: { startsWith: 'T', rowsAt: 2 } },
])('records of %j cannot be told apart before they are read', (settings) => {
  expect(canFilter(ExportFormat.parse(settings))).toBe(false)
})

async function rowsOf(chunks: readonly Buffer[], format: ExportFormat): Promise<SourceRow[]> {
  return await all(readRows(streamOf(chunks), optionsOf(format)))
}

async function filteredRows(
  chunks: readonly Buffer[],
  format: ExportFormat,
  filter: RecordFilter,
): Promise<SourceRow[]> {
  return await all(readFilteredRows(streamOf(chunks), optionsOf(format), filter))
}

function optionsOf(format: ExportFormat) {
  return { name: 'people.csv', format, width: 2, warn: () => undefined }
}

async function all(slices: AsyncIterable<readonly SourceRow[]>): Promise<SourceRow[]> {
  const rows: SourceRow[] = []
  for await (const slice of slices) rows.push(...slice)
  return rows
}

async function outcomeOf(reading: Promise<SourceRow[]>) {
  return await reading.catch((error: unknown) => {
    if (error instanceof GivenUp) return 'given up' as const
    if (error instanceof Failure) return error.message
    throw error
  })
}

async function* streamOf(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks
}

function cut(bytes: Buffer, pieceBytes: number): Buffer[] {
  const count = Math.ceil(bytes.length / pieceBytes)
  return Array.from({ length: count }, (_, at) => bytes.subarray(at * pieceBytes, (at + 1) * pieceBytes))
}
