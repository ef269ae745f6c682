import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { allRows, openFile, readCsv, refusalOf } from '../../helpers/sources/csv.ts'
import { exportFolder } from '../../helpers/sources/exports.ts'
import { rowOf, sheetOf, workbookOf, xlsx } from '../../helpers/sources/workbooks.ts'
import { zipOf } from '../../helpers/sources/zip.ts'

const people = `${rowOf(1, 'id', 'name')}${rowOf(2, '1', 'Ana')}${rowOf(3, '2', 'Ben')}`
const rows = [
  ['1', 'Ana'],
  ['2', 'Ben'],
]
const book = await workbookOf({ sheet: people, strings: ['<t>one</t>'] })
const stored = await workbookOf({ sheet: people, compress: false })
const sheetPart = 'xl/worksheets/sheet1.xml'
const damagedSheet = `people.csv is a workbook whose part ${sheetPart} is damaged`
const centralMark = 'PK\x01\x02'

/** The bytes with a field in the directory entry of a part overwritten. */
function inDirectory(
  bytes: Buffer,
  part: string,
  { at, value }: { readonly at: number; readonly value: number },
): Buffer {
  const changed = Buffer.from(bytes)
  for (
    let entry = changed.indexOf(centralMark, 0, 'latin1');
    entry >= 0;
    entry = changed.indexOf(centralMark, entry + 4, 'latin1')
  ) {
    if (changed.toString('latin1', entry + 46, entry + 46 + part.length) === part)
      changed.writeUInt32LE(value, entry + at)
  }
  return changed
}

describe('a file that is no workbook is refused by what it is', () => {
  const macros = 'application/vnd.ms-excel.sheet.macroEnabled.main+xml'
  const template = 'application/vnd.openxmlformats-officedocument.spreadsheetml.template.main+xml'

  test.for<[string, () => Promise<Buffer> | Buffer, string]>([
    [
      'a CSV',
      () => Buffer.from('id;name\n1;Ana\n'),
      'is text, as a CSV export is, and no workbook: write format: csv, or have it saved as .xlsx',
    ],
    [
      'a CSV in UTF-16',
      () => Buffer.from('\uFEFFid;name\n', 'utf16le'),
      'is text, as a CSV export is, and no workbook',
    ],
    [
      'a CSV in Latin-1',
      () => Buffer.from('id;name\n1;M\xfcller\n', 'latin1'),
      'is text, as a CSV export is, and no workbook',
    ],
    ['a CSV that begins with PK', () => Buffer.from('PKEY;name\n1;Ana\n'), 'is text, as a CSV export is'],
    [
      'an encrypted file',
      () => Buffer.from('-----BEGIN PGP MESSAGE-----\n\nwcBMA\n-----END PGP MESSAGE-----\n'),
      'is encrypted with OpenPGP: configure decrypt',
    ],
    ['a PDF', () => Buffer.from(`%PDF-1.4\n${'x'.repeat(2000)}`), 'is a PDF: have it exported as CSV'],
    ['an archive', () => Buffer.from('7z\xbc\xaf\x27\x1c\0\0\0\0', 'latin1'), 'is a 7-Zip archive'],
    ['a compressed CSV', () => gzipSync('id;name\n1;Ana\n'), 'is text, as a CSV export is, and no workbook'],
    [
      'a page',
      () => Buffer.from('<html><table><tr><td>id</td></tr></table></html>'),
      'is a web page (HTML) that begins with "<html><table><tr><td>" and no workbook',
    ],
    [
      'a sheet in XML of 2003',
      () => Buffer.from('<?xml version="1.0"?><Workbook/>'),
      'is XML and no workbook: have it saved as .xlsx',
    ],
    ['other bytes', () => Buffer.from([1, 0, 2, 0, 3, 255]), 'is no Excel workbook (.xlsx): check what writes it'],
    [
      'a packed CSV',
      () => zipOf({ 'people.csv': 'id\n1\n' }),
      'is a zip, and no workbook itself: write compression: zip',
    ],
    [
      'a workbook with macros, by its type',
      () => workbookOf({ sheet: people, contentType: macros }),
      'is a workbook with macros (.xlsm): have it saved as .xlsx, without macros',
    ],
    [
      'a workbook with macros, by its part',
      () => workbookOf({ sheet: people, parts: { 'xl/vbaProject.bin': 'x' } }),
      'is a workbook with macros (.xlsm)',
    ],
    ['a template', () => workbookOf({ sheet: people, contentType: template }), 'is a template of a workbook (.xltx)'],
    [
      'a binary workbook',
      () => workbookOf({ sheet: people, parts: { 'xl/workbook.xml': null, 'xl/workbook.bin': 'x' } }),
      'is a binary workbook (.xlsb): have it saved as .xlsx',
    ],
    ['a text document', () => workbookOf({ parts: { 'word/document.xml': '<x/>' } }), 'is a Word document'],
    [
      'another document',
      () => workbookOf({ sheet: people, contentType: 'application/x' }),
      'is no Excel workbook (.xlsx) but another document',
    ],
  ])('%s', async ([, make, message]) => {
    expect(await refusalOf(await make(), xlsx)).toContain(`people.csv ${message}`)
  })

  test('a workbook where one in a zip is configured', async () => {
    expect(await refusalOf(book, { ...xlsx, compression: 'zip' })).toBe(
      'people.csv is an Excel workbook: take out compression: zip',
    )
  })

  test('an old workbook, or one with a password, where a CSV is configured', async () => {
    const container = Buffer.from('d0cf11e0a1b11ae1'.repeat(8), 'hex')

    expect(await refusalOf(book)).toBe('people.csv is an Excel workbook: write format: xlsx, or have it saved as CSV')
    expect(await refusalOf(container)).toContain('is an Excel workbook of the old kind, or one with a password')
    expect(await refusalOf(container, xlsx)).toBe(
      'people.csv is a workbook of the old kind (.xls): have it saved as .xlsx',
    )
  })
})

describe('a damaged archive is refused', () => {
  const damaged = 'people.csv is a damaged workbook: it was cut off or altered on its way: have it sent again'

  test.for<[string, Buffer, string]>([
    ['cut off in the middle', book.subarray(0, book.length / 2), damaged],
    ['without its last byte', book.subarray(0, -1), damaged],
    ['without its directory', book.subarray(0, book.indexOf(centralMark, 0, 'latin1')), damaged],
    ['with another checksum', inDirectory(book, sheetPart, { at: 16, value: 1 }), damaged],
    ['with another size', inDirectory(book, sheetPart, { at: 24, value: 5000 }), damaged],
    ['with a larger size than the archive', inDirectory(stored, sheetPart, { at: 20, value: 1_000_000 }), damaged],
    [
      'with a password',
      inDirectory(book, sheetPart, { at: 8, value: 0x00080001 }),
      'people.csv is a zip with a password',
    ],
    [
      'with entries that overlap',
      inDirectory(book, sheetPart, { at: 42, value: 10 }),
      'people.csv is a damaged workbook with parts that overlap',
    ],
  ])('%s', async ([, bytes, message]) => {
    expect(await refusalOf(bytes, xlsx)).toContain(message)
  })

  test('with two parts of the same name', async () => {
    const twice = await workbookOf({ sheet: people, parts: { 'xl/Worksheets/Sheet1.xml': sheetOf(people) } })

    expect(await refusalOf(twice, xlsx)).toContain('is a damaged workbook with two parts of the same name')
  })

  test('with more entries than any workbook', async () => {
    const many = Buffer.from(book)
    const directoryEnd = many.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'))
    many.writeUInt16LE(10_001, directoryEnd + 10)

    expect(await refusalOf(many, xlsx)).toContain('is a zip with more than 10000 entries')
  })

  test.for(['xl/workbook.xml', sheetPart, 'xl/styles.xml', 'xl/sharedStrings.xml'])(
    'without its part %s',
    async (part) => {
      const lacking = await workbookOf({ sheet: people, strings: ['<t>one</t>'], parts: { [part]: null } })

      expect(await refusalOf(lacking, xlsx)).toBe(
        `people.csv is a workbook without its part ${part}: have it saved and sent again`,
      )
    },
  )

  test('with a sheet that nothing leads to', async () => {
    const lost = await workbookOf({ sheet: people, parts: { 'xl/_rels/workbook.xml.rels': '<Relationships/>' } })

    expect(await refusalOf(lost, xlsx)).toContain('is a damaged workbook that lacks one of its sheets')
  })

  test('whose sheet is elsewhere', async () => {
    const elsewhere = await workbookOf({
      sheet: people,
      parts: {
        'xl/_rels/workbook.xml.rels':
          '<Relationships><Relationship Id="rId1" Type="x/worksheet" TargetMode="External" Target="http://example.com/sheet1.xml"/></Relationships>',
      },
    })

    expect(await refusalOf(elsewhere, xlsx)).toContain('is a damaged workbook that lacks one of its sheets')
  })
})

describe('a damaged sheet is refused, and nothing of it is used', () => {
  const cut = sheetOf(people)

  test.for<[string, string, string]>([
    ['that ends within its rows', cut.slice(0, cut.indexOf('<row r="3"')), damagedSheet],
    ['that ends before its last tag', cut.slice(0, cut.indexOf('</worksheet>')), damagedSheet],
    ['with something behind its end', `${cut}<x/>`, damagedSheet],
    ['without rows', cut.replace(/<sheetData>.*<\/sheetData>/s, ''), '(no sheetData)'],
    ['with two tables', cut.replace('</sheetData>', '</sheetData><sheetData/>'), '(two times sheetData)'],
    ['of another kind', '<?xml version="1.0"?><chartsheet><sheetData/></chartsheet>', '(no worksheet)'],
    ['with a row twice', cut.replace('<row r="3"', '<row r="2"'), '(rows out of order after row 2)'],
    ['with a row that no sheet has', cut.replace('<row r="3"', '<row r="1048577"'), '(rows out of order after row 2)'],
    ['with a cell of another row', cut.replace('r="A3"', 'r="A4"'), '(cells out of order in row 3)'],
    ['with a cell twice', cut.replace('r="B3"', 'r="A3"'), '(cells out of order in row 3)'],
    ['with two strings in a cell', cut.replace('</is>', '</is><is/>'), '(a cell with two values in row 1)'],
    [
      'with two values in a cell',
      sheetOf(`${people}<row r="4"><c><v>1</v><v>2</v></c></row>`),
      '(a cell with two values in row 4)',
    ],
    [
      'with a string in a cell of a number',
      sheetOf(`${people}<row r="4"><c><v>1</v><is><t>2</t></is></c></row>`),
      '(a cell with two values in row 4)',
    ],
    [
      'with something else among its rows',
      cut.replace('<row r="3"', '<x/><row r="3"'),
      '(an element in place of the row after 2)',
    ],
    [
      'with something else among its cells',
      cut.replace('<c r="B3"', '<x/><c r="B3"'),
      '(an element in place of a cell in row 3)',
    ],
    [
      'with a text that is missing',
      sheetOf(`${people}<row r="4"><c t="s"><v>1</v></c></row>`),
      '(a cell in row 4 refers to a text that is missing)',
    ],
    [
      'with a document type',
      cut.replace('<worksheet', '<!DOCTYPE worksheet [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><worksheet'),
      `whose part ${sheetPart} declares a document type`,
    ],
    ['with an entity', cut.replace('Ben', '&b;'), damagedSheet],
    ['with a character that XML lacks', cut.replace('Ben', '&#0;'), damagedSheet],
    [
      'in another encoding',
      cut.replace('encoding="UTF-8"', 'encoding="windows-1252"'),
      'is a workbook that is not in UTF-8',
    ],
    [
      'with tags within tags within tags',
      cut.replace('</sheetData>', `</sheetData>${'<a>'.repeat(70)}${'</a>'.repeat(70)}`),
      damagedSheet,
    ],
  ])('%s', async ([, sheet, message]) => {
    const text = sheet.startsWith('<?xml') ? sheet : `<?xml version="1.0"?>${sheet}`

    expect(await refusalOf(await workbookOf({ sheet: text, strings: ['<t>one</t>'] }), xlsx)).toContain(message)
  })

  test('with bytes that are no UTF-8', async () => {
    const bytes = Buffer.from(cut.replace('Ben', 'B\xfcn'), 'latin1')

    expect(await refusalOf(await workbookOf({ parts: { [sheetPart]: bytes } }), xlsx)).toContain(damagedSheet)
  })
})

describe('a workbook that was made to fill memory or disk is refused', () => {
  test('of more than unpackedBytes', async () => {
    const sheet = sheetOf(`${people}<row r="4">${' '.repeat(100_000)}</row>`)

    expect(await refusalOf(await workbookOf({ sheet }), { ...xlsx, unpackedBytes: 50_000 })).toBe(
      'people.csv unpacks to more than 50000 bytes: raise unpackedBytes if that is right',
    )
  })

  test('that unpacks to more than 200 times its size', async () => {
    const blanks = sheetOf(`${people}${'<row></row>'.repeat(1_000_000)}`)

    expect(await refusalOf(await workbookOf({ sheet: blanks }), xlsx)).toContain(
      'people.csv unpacks to more than 200 times its size',
    )
  })

  test.for<[string, string]>([
    ['a text', `<row r="4"><c t="inlineStr"><is><t>${'a'.repeat(5 * 1024 * 1024)}</t></is></c></row>`],
    ['a comment', `<!--${'a'.repeat(5 * 1024 * 1024)}-->`],
    ['an attribute', `<row r="4" a="${'a'.repeat(5 * 1024 * 1024)}"/>`],
  ])('with %s of several MiB', async ([, xml]) => {
    expect(await refusalOf(await workbookOf({ sheet: sheetOf(people + xml), compress: false }), xlsx)).toContain(
      damagedSheet,
    )
  })

  const longText = '<r><t>aaaaaaaaaaaaaaaa</t></r>'.repeat(2_100)
  const cellOf = (content: string) => `<c t="inlineStr"><is>${content}</is></c>`
  const tooLong = 'people.csv: a cell in row 4 holds more than 32767 characters'

  test.for<[string, string, string]>([
    ['a row of several MiB in many cells', cellOf(`<t>${'a'.repeat(30_000)}</t>`).repeat(36), 'row 4 is longer than 1'],
    ['a cell of many runs', cellOf(longText), tooLong],
    ['a value in many pieces', `<c t="str"><v>${`${'a'.repeat(60_000)}<x/>`.repeat(4)}</v></c>`, tooLong],
  ])('with %s', async ([, row, message]) => {
    const sheet = `${rowOf(1, ...'abcdefghijklmnopqrstuvwxyz')}${people.slice(people.indexOf('<row r="2"'))}<row r="4">${row}</row>`

    expect(await refusalOf(await workbookOf({ sheet, compress: false }), xlsx)).toContain(message)
  })

  test('with a shared string that no cell can hold', async () => {
    expect(await refusalOf(await workbookOf({ sheet: people, strings: [longText], compress: false }), xlsx)).toBe(
      'people.csv is a workbook with a text of more than 32767 characters: no cell of Excel holds one; check what writes it',
    )
  })

  test('whose cells share one long text, and no slice of others is large', async () => {
    const strings = [`<t>${'a'.repeat(32_767)}</t>`]
    const sharing = (count: number) => people + '<row><c t="s"><v>0</v></c></row>'.repeat(count)
    await using folder = await exportFolder()
    await folder.write('people.xlsx', await workbookOf({ sheet: sharing(100), strings }))
    const slices = await Array.fromAsync((await openFile(folder, 'people.xlsx', xlsx)).rows)

    expect(slices.length).toBeGreaterThan(2)
    expect(slices.flat()).toHaveLength(102)
    expect(await refusalOf(await workbookOf({ sheet: sharing(400), strings }), xlsx)).toContain(
      'people.csv unpacks to more than 200 times its size',
    )
  })

  test('whose one formula without its result fills many cells', async () => {
    const header = `<row r="1">${'<c><v>1</v></c>'.repeat(5000)}</row>`
    const formula = '<row r="2"><c><v>1</v></c><c><f t="array" ref="B2:GJH1048576">x</f></c></row>'
    const sheet = header + formula + '<row><c><v>1</v></c></row>'.repeat(3000)

    expect(await refusalOf(await workbookOf({ sheet }), xlsx)).toContain(
      'people.csv unpacks to more than 200 times its size',
    )
  })

  test('whose formula without its result fills no range that there is', async () => {
    const sheet = `${people}<row r="4"><c><f t="array" ref="of somebody">x</f></c></row>`

    expect(await refusalOf(await workbookOf({ sheet }), xlsx)).toBe(
      `${damagedSheet} (a range that is no address): have it saved and sent again`,
    )
  })

  test.for<[string, object]>([
    ['a number format of many signs', { formats: ['#'.repeat(256)] }],
    [
      'more styles than any workbook',
      { parts: { 'xl/styles.xml': `<styleSheet><cellXfs>${'<xf/>'.repeat(100_002)}</cellXfs></styleSheet>` } },
    ],
  ])('with %s', async ([, content]) => {
    expect(await refusalOf(await workbookOf({ sheet: people, compress: false, ...content }), xlsx)).toContain(
      'part xl/styles.xml is damaged (too many or too long number formats): have it saved and sent again',
    )
  })

  test('with more columns than are read', async () => {
    const wide = `<row r="1">${'<c><v>1</v></c>'.repeat(10_001)}</row>`

    expect(await refusalOf(await workbookOf({ sheet: wide, compress: false }), xlsx)).toContain(
      'the sheet has 10001 columns: at most 10000',
    )
  })
})

describe('a workbook', () => {
  test('that changes between header and rows is refused', async () => {
    await using folder = await exportFolder()
    await folder.write('people.xlsx', book)
    const opened = await openFile(folder, 'people.xlsx', xlsx)
    await appendFile(join(folder.path, 'people.xlsx'), 'x')

    await expect(allRows(opened)).rejects.toThrow('people.xlsx changed while it was read')
  })

  test('that changes while its rows are read is refused', async () => {
    await using folder = await exportFolder()
    const many = Array.from({ length: 5000 }, (_, index) => rowOf(index + 2, String(index), `Ana ${index * 7919}`))
    await folder.write('people.xlsx', await workbookOf({ sheet: rowOf(1, 'id', 'name') + many.join('') }))
    const opened = await openFile(folder, 'people.xlsx', xlsx)
    const reading = opened.rows[Symbol.asyncIterator]()
    await reading.next()
    await appendFile(join(folder.path, 'people.xlsx'), 'x')

    await expect(async () => {
      while (!(await reading.next()).done);
    }).rejects.toThrow('people.xlsx changed while it was read')
  })

  test.for<[string, () => Promise<Buffer> | Buffer, 'auto' | 'gzip' | 'zip']>([
    ['compressed with gzip', () => gzipSync(book), 'auto'],
    ['compressed with gzip, as configured', () => gzipSync(book), 'gzip'],
    ['packed in a zip', () => zipOf({ 'people.xlsx': book }), 'zip'],
    ['whose parts are not compressed', () => stored, 'auto'],
  ])('%s is read', async ([, make, compression]) => {
    expect((await readCsv(await make(), { ...xlsx, compression })).rows).toEqual(rows)
  })

  test('that is cancelled ends with the reason of the cancellation', async () => {
    await using folder = await exportFolder()
    await folder.write('people.xlsx', book)
    const stop = new AbortController()
    const opened = await openFile(folder, 'people.xlsx', xlsx, { signal: stop.signal })
    stop.abort(new Error('stopped'))

    await expect(allRows(opened)).rejects.toThrow('stopped')
  })
})
