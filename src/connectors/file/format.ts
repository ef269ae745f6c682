import { z } from 'zod'
import { JsonPointer } from '../json-pointer.ts'
import { Encoding, isUtf8Name } from './encoding.ts'

const gibibyte = 1024 ** 3

const oneCharacter = z.string().refine((text) => [...text].length === 1 && !/[\r\n\0\uFEFF\uFFFD]/.test(text), {
  error: 'expected one character that is no line end',
})

const Delimiter = z.union([z.literal(['tab', 'auto']), oneCharacter], {
  error: 'expected one character, or the word tab or auto',
})

const Quote = z.union([z.literal('none'), oneCharacter], { error: 'expected one character, or the word none' })

const Escape = z.union([z.literal('doubled'), oneCharacter], { error: 'expected one character, or the word doubled' })

const Sheet = z.union([z.string().min(1).max(100), z.int().min(1).max(10_000)], {
  error: 'expected the name of a sheet, or its number',
})

const RowStart = z.string().min(1)

const Footer = z
  .strictObject({
    rows: z
      .int()
      .min(1)
      .max(1000)
      .optional()
      .describe('The number of rows at the end that are not people. Blank lines do not count.'),
    startsWith: z
      .union([RowStart, z.array(RowStart).min(1).max(20)], { error: 'expected a text, or a list of texts' })
      .optional()
      .describe(
        'The export ends with rows whose first cell begins with this text, or with one of these. An export without such a row, or with ' +
          'other rows after it, is refused.',
      ),
  })
  .refine(({ rows, startsWith }) => (rows === undefined) !== (startsWith === undefined), {
    error: 'write either rows or startsWith',
  })

const Trailer = z.strictObject({
  startsWith: RowStart.describe('How the first cell of the last row begins.'),
  rowsAt: z
    .int()
    .min(1)
    .max(10_000)
    .describe(
      'Which cell of the last row, counted from 1, holds the number of rows between header and trailer, without the footer.',
    ),
})

const Decrypt = z.strictObject({
  privateKey: z
    .string()
    .min(1)
    .describe(`The armored OpenPGP private key that the export is encrypted for, as \${env:NAME} or \${file:PATH}.`),
  passphrase: z
    .string()
    .min(1)
    .optional()
    .describe(`The passphrase of the private key, if it has one, as \${env:NAME} or \${file:PATH}.`),
  verifyWith: z
    .string()
    .min(1)
    .optional()
    .describe('The armored OpenPGP public key of the sender. An export without a signature of this key is refused.'),
})

/** The setting for what an export is. */
export const FileFormat = z
  .enum(['csv', 'xlsx', 'json'])
  .default('csv')
  .describe(
    'csv, xlsx for Excel workbooks, or json for a list of records. Only csv has a delimiter, encoding, quote, escape and lastLine.',
  )

/** The settings for the form of an export. All sources of files share them. */
export const exportFormat = {
  records: JsonPointer.default('').describe(
    'json: a pointer to the list of records in the file, such as /data/items. Default: the file is that list.',
  ),
  ignoredStatements: z
    .array(JsonPointer.min(1))
    .min(1)
    .max(100)
    .optional()
    .describe(
      'json: pointers to members such as /statistics/total that look as if they stated how many records there are, and do not.',
    ),
  sheet: Sheet.optional().describe('xlsx: the name of the sheet, or its number from 1. Required if there are several.'),
  delimiter: Delimiter.default(',').describe(
    'The text between two cells: one character, the word tab, or auto. auto is the one of comma, semicolon, tab and pipe that ' +
      'splits the header. If several do, or none does, the export is refused.',
  ),
  encoding: Encoding.default('utf-8').describe('How the file encodes text, such as utf-8, utf-16le or windows-1252.'),
  quote: Quote.default('"').describe(
    'The character around a cell that holds delimiters or line ends, or the word none.',
  ),
  escape: Escape.default('doubled').describe(
    'How a quoted cell holds the quote itself: doubled, or after this character, such as a backslash.',
  ),
  headerLine: z
    .int()
    .min(1)
    .max(1000)
    .default(1)
    .describe(
      'The line or row that names the columns, counted from 1. Lines above it, such as the title of a report, are skipped.',
    ),
  linesAfterHeader: z
    .int()
    .min(0)
    .max(100)
    .default(0)
    .describe('How many rows below the header are not people, such as a second header. Blank rows count.'),
  footer: Footer.optional().describe('The rows at the end that are not people, such as totals.'),
  trailer: Trailer.optional().describe(
    'A last row, after any footer, that says how many rows the export has. If it is missing, or the number is different, the ' +
      'export was cut off and is refused.',
  ),
  lastLine: z
    .enum(['terminated', 'any'])
    .default('terminated')
    .describe(
      'terminated: an export whose last line has no line end counts as cut off, and is refused. any: the last line may lack its line end.',
    ),
  compression: z
    .enum(['auto', 'none', 'gzip', 'zip'])
    .default('auto')
    .describe(
      'How the file is compressed. auto decides by its first bytes. A zip holds exactly one file, of any name.',
    ),
  unpackedBytes: z
    .int()
    .min(1)
    .default(4 * gibibyte)
    .describe('How large the export may become when it is decrypted and unpacked, in bytes.'),
  decrypt: Decrypt.optional().describe(
    'For exports that are encrypted with OpenPGP (PGP, GnuPG). They may be compressed too.',
  ),
}

type CheckedFormat = Pick<ExportFormat, 'delimiter' | 'quote' | 'escape' | 'sheet'> & { readonly format: string }

/** Adds an issue for a character with two meanings, and for a sheet of what has none. */
export function checkExportFormat(format: CheckedFormat, context: z.RefinementCtx): void {
  if (format.sheet !== undefined && format.format !== 'xlsx')
    context.addIssue({ code: 'custom', path: ['sheet'], message: 'is for format: xlsx' })
  const addIssue = (path: string) =>
    context.addIssue({ code: 'custom', path: [path], message: `${path} and delimiter must differ` })
  if (format.quote === format.delimiter) addIssue('quote')
  if (format.escape === format.delimiter) addIssue('escape')
}

/** Adds an issue as `checkExportFormat` does, and for a setting that does nothing in a file of this format. */
export function checkFileFormat(format: ExportFormat, context: z.RefinementCtx): void {
  checkExportFormat(format, context)
  const { records, ignoredStatements, footer, trailer, headerLine, linesAfterHeader, encoding } = format
  const ofJson = { records: records !== '', ignoredStatements: ignoredStatements !== undefined }
  const ofText = {
    ...{ delimiter: format.delimiter !== ',', quote: format.quote !== '"', escape: format.escape !== 'doubled' },
    ...{ lastLine: format.lastLine !== 'terminated', encoding: !isUtf8Name(encoding) },
  }
  const ofTables = {
    ...{ footer: footer !== undefined, trailer: trailer !== undefined },
    ...{ headerLine: headerLine !== 1, linesAfterHeader: linesAfterHeader !== 0 },
  }
  const addIssues = (settings: Readonly<Record<string, boolean>>, message: string) => {
    for (const [path, isSet] of Object.entries(settings))
      if (isSet) context.addIssue({ code: 'custom', path: [path], message })
  }
  if (format.format !== 'csv') addIssues(ofText, `is not for format: ${format.format}`)
  if (format.format === 'json') addIssues(ofTables, 'is not for format: json')
  else addIssues(ofJson, 'is for format: json')
}

const PlainExportFormat = z.strictObject({ format: FileFormat, ...exportFormat })

/** The form of an export. */
export const ExportFormat = PlainExportFormat.superRefine(checkExportFormat)

/** The parsed form of an export. */
export type ExportFormat = z.infer<typeof PlainExportFormat>
