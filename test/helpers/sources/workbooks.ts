import type { Format } from './csv.ts'
import { zipOf } from './zip.ts'

const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const relations = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const packages = 'http://schemas.openxmlformats.org/package/2006'
const declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'

/** The settings with which a workbook is read. */
export const xlsx: Format = { format: 'xlsx' }

/** The content of a workbook. Texts of sheets and strings are XML, so that a test can write whatever it likes. */
type WorkbookContent = {
  /** The rows of the only sheet, or its whole part; or several sheets by their names. */
  readonly sheet?: string
  readonly sheets?: Readonly<Record<string, string>>
  /** The shared strings, each without its `si`. */
  readonly strings?: readonly string[]
  /** The number formats of the styles 1, 2, and so on. */
  readonly formats?: readonly string[]
  readonly isFrom1904?: boolean
  readonly contentType?: string
  /** Parts that are added or replaced; null: the part is missing. */
  readonly parts?: Readonly<Record<string, string | Uint8Array | null>>
  readonly compress?: boolean
}

/** A row of inline strings: `rowOf(3, 'a', 'b')`. A blank text has no cell. */
export function rowOf(line: number, ...texts: readonly string[]): string {
  const cells = texts.map((text, column) => (text === '' ? '' : textCell(`${letter(column)}${line}`, text)))
  return `<row r="${line}">${cells.join('')}</row>`
}

/** A cell with an inline string. */
export function textCell(address: string, text: string): string {
  return `<c r="${address}" t="inlineStr"><is><t xml:space="preserve">${escaped(text)}</t></is></c>`
}

/** A whole sheet around its rows, with what follows them. */
export function sheetOf(rows: string, after = ''): string {
  return `${declaration}<worksheet xmlns="${main}"><dimension ref="A1"/><sheetData>${rows}</sheetData>${after}</worksheet>`
}

/** The bytes of a workbook, part by part as Excel writes them. */
export function workbookOf(content: WorkbookContent): Promise<Buffer> {
  const parts = Object.entries({ ...workbookParts(content), ...content.parts })
  const present = parts.flatMap(([name, text]) => (text === null ? [] : [[name, text] as const]))
  return zipOf(Object.fromEntries(present), { compress: content.compress ?? true })
}

/** The parts of a workbook by their names. */
export function workbookParts({
  sheet = '',
  sheets = { People: sheet },
  strings,
  formats = [],
  isFrom1904,
  contentType,
}: WorkbookContent) {
  const names = Object.keys(sheets)
  const type = contentType ?? 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml'
  const toRelation = (id: string, kind: string, target: string) =>
    `<Relationship Id="${id}" Type="${relations}/${kind}" Target="${target}"/>`
  const relationsOf = (...all: readonly string[]) =>
    `${declaration}<Relationships xmlns="${packages}/relationships">${all.join('')}</Relationships>`
  return {
    '[Content_Types].xml': `${declaration}<Types xmlns="${packages}/content-types"><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${type}"/></Types>`,
    '_rels/.rels': relationsOf(toRelation('rId1', 'officeDocument', 'xl/workbook.xml')),
    'xl/workbook.xml': `${declaration}<workbook xmlns="${main}" xmlns:r="${relations}"><workbookPr${isFrom1904 ? ' date1904="1"' : ''}/><sheets>${names
      .map((name, index) => `<sheet name="${escaped(name)}" sheetId="${index + 1}" r:id="rId${index + 1}"/>`)
      .join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relationsOf(
      ...names.map((_, index) => toRelation(`rId${index + 1}`, 'worksheet', `worksheets/sheet${index + 1}.xml`)),
      toRelation('rId100', 'styles', 'styles.xml'),
      ...(strings ? [toRelation('rId101', 'sharedStrings', '/xl/sharedStrings.xml')] : []),
    ),
    'xl/styles.xml': `${declaration}<styleSheet xmlns="${main}"><numFmts>${formats
      .map((code, index) => `<numFmt numFmtId="${200 + index}" formatCode="${escaped(code)}"/>`)
      .join('')}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>${formats
      .map((_, index) => `<xf numFmtId="${200 + index}"/>`)
      .join('')}</cellXfs></styleSheet>`,
    ...(strings && {
      'xl/sharedStrings.xml': `${declaration}<sst xmlns="${main}">${strings.map((text) => `<si>${text}</si>`).join('')}</sst>`,
    }),
    ...Object.fromEntries(
      Object.values(sheets).map((text, index) => [
        `xl/worksheets/sheet${index + 1}.xml`,
        text.startsWith('<?xml') ? text : sheetOf(text),
      ]),
    ),
  }
}

function letter(column: number): string {
  return String.fromCharCode('A'.charCodeAt(0) + column)
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
