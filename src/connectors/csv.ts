import { z } from 'zod'
import type { Connector } from './connector.ts'
import { AsOf, asOfFile } from './csv-as-of.ts'
import { decodeChunks, Encoding } from './csv-decoder.ts'
import { findExport, readBytes } from './csv-file.ts'
import { readHeader, readRows } from './csv-rows.ts'
import { TimeZone } from './time-zone.ts'

const oneCharacter = z.string().refine((text) => [...text].length === 1 && !/[\r\n]/.test(text), {
  error: 'expected one character that is no line end',
})

const Delimiter = z.union([z.literal('tab'), oneCharacter], { error: 'expected one character, or the word tab' })

const Quote = z.union([z.literal('none'), oneCharacter], { error: 'expected one character, or the word none' })

export const CsvSource = z
  .strictObject({
    type: z.literal('csv'),
    path: z
      .string()
      .min(1)
      .describe(
        'The export: a file, or a pattern such as exports/*.csv of which the newest match is read (by modification time, then by name). ' +
          'Relative to the folder of the configuration file.',
      ),
    mode: z
      .enum(['snapshot'])
      .describe('snapshot: the file lists everybody, so whoever is not in it is absent. Required: nobody guesses.'),
    delimiter: Delimiter.default(',').describe('What stands between two cells: one character, or the word tab.'),
    encoding: Encoding.default('utf-8').describe('How the file encodes text, such as utf-8, utf-16le or windows-1252.'),
    quote: Quote.default('"').describe(
      'What encloses a cell that holds delimiters or line ends, doubled inside it: one character, or the word none.',
    ),
    asOf: AsOf.default({ from: 'modificationTime' }),
    timeZone: TimeZone.default('UTC').describe(
      "The IANA time zone of the source's dates, such as Europe/Berlin: decides which day today is, and when the day of a file name begins.",
    ),
  })
  .refine(({ delimiter, quote }) => delimiter !== quote, {
    path: ['quote'],
    error: 'quote and delimiter must differ',
  })

export type CsvSource = z.infer<typeof CsvSource>

/**
 * Reads the newest file that `path` matches. Its header is read when the source is opened, its rows are streamed afterwards;
 * a file that changes meanwhile is refused.
 */
export function csvConnector(source: CsvSource, { baseDir }: { readonly baseDir: string }): Connector {
  return async ({ now, signal }) => {
    const file = await findExport(source.path, baseDir)
    const asOf = asOfFile(file, { ...source, now: now() })
    const text = () => decodeChunks(readBytes(file, signal), { name: file.name, encoding: source.encoding })
    return {
      mode: source.mode,
      asOf,
      source: { name: file.name, bytes: file.bytes },
      headers: await readHeader(text(), { name: file.name, format: source }),
      rows: readRows(text(), { name: file.name, format: source }),
    }
  }
}
