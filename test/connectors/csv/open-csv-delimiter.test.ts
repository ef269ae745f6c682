import { describe, expect, test } from 'vitest'
import { ExportFormat } from '../../../src/connectors/file/format.ts'
import { type Format, readCsv, refusalOf } from '../../helpers/sources/csv.ts'

describe('a delimiter that is to be detected', () => {
  test.for<[string, string, Format, string]>([
    ['comma', 'id,name\n1,Ana\n', {}, ','],
    ['semicolon', 'id;name\n1;Ana\n', {}, ';'],
    ['tab', 'id\tname\n1\tAna\n', {}, 'tab'],
    ['pipe', 'id|name\n1|Ana\n', {}, '|'],
    ['semicolon between enclosed cells that hold commas', '"id, no";"name"\n1;Ana\n', {}, ';'],
    ['comma, rows that hold many semicolons', 'id,name\n1,"a;b;c;d"\n', {}, ','],
    ['semicolon below a title with commas', 'A, B, C\nid;name\n1;Ana\n', { headerLine: 2 }, ';'],
    ['semicolon where the pipe is the quote', '|id|;|name|\n|1|;|Ana|\n', { quote: '|' }, ';'],
  ])('is the one that splits the header: %s', async ([, text, format, delimiter]) => {
    const { headers, rows, warnings } = await readCsv(text, { ...format, delimiter: 'auto' })

    expect(headers).toHaveLength(2)
    expect(rows[0]).toHaveLength(2)
    expect(warnings).toEqual([`people.csv: its delimiter was detected in the header: ${delimiter}`])
  })

  test.for<[string, string, string]>([
    [
      'several would do',
      'id;name, first\n1;Ana\n',
      "people.csv:1: the delimiter cannot be detected in the header: ',' (2 columns) and ';' (2 columns) of comma, semicolon, tab and pipe would split it: write delimiter: with the character between two cells",
    ],
    [
      'none would do',
      'id:name\n1:Ana\n',
      'people.csv:1: the delimiter cannot be detected in the header: none of comma, semicolon, tab and pipe would split it: write delimiter: with the character between two cells',
    ],
    ['there is no header', '\n\n', 'people.csv holds no header: its first line must name the columns'],
    ['the header is cut off', 'id;name', 'people.csv: its last line has no line end'],
  ])('is refused where %s', async ([, text, message]) => {
    expect(await refusalOf(text, { delimiter: 'auto' })).toContain(message)
  })
})

describe('a delimiter that is configured', () => {
  test.for<[string, Format, string]>([
    ['id;name\n', {}, "the configured delimiter ',' does not split the header: did you mean delimiter: ';'?"],
    ['id\tname\n', {}, "the configured delimiter ',' does not split the header: did you mean delimiter: tab?"],
    [
      'id,name\n',
      { delimiter: ';' },
      "the configured delimiter ';' does not split the header: did you mean delimiter: ','?",
    ],
    ['"id";"name"\n', {}, "the configured delimiter ',' does not split the header: did you mean delimiter: ';'?"],
  ])('is refused where another would split the header (%j)', async ([text, format, message]) => {
    expect(await refusalOf(text, format)).toBe(`people.csv:1: ${message}`)
  })

  test('may leave one column', async () => {
    const { headers, rows, warnings } = await readCsv('id\n1\n')

    expect(headers).toEqual(['id'])
    expect(rows).toEqual([['1']])
    expect(warnings).toEqual([])
  })

  test('may leave one column that several others would split', async () => {
    const { headers } = await readCsv('a;b|c\n')

    expect(headers).toEqual(['a;b|c'])
  })

  test('may be any character', async () => {
    const { rows } = await readCsv('a§b\n"x§y"§🦊\n', { delimiter: '§' })

    expect(rows).toEqual([['x§y', '🦊']])
  })
})

describe('quotes', () => {
  test('stand behind a backslash where that is configured', async () => {
    const { rows } = await readCsv('a,b\n"the \\"boss\\", \\\\ here","x\\\ny"\n', { escape: '\\' })

    expect(rows).toEqual([['the "boss", \\ here', 'x\ny']])
  })

  test('that are doubled are misplaced there', async () => {
    const { faults } = await readCsv('a,b\n"the ""boss""",x\n', { escape: '\\' })

    expect(faults).toHaveLength(1)
  })
})

describe('the settings of a format', () => {
  test('have defaults', () => {
    expect(ExportFormat.parse({})).toEqual({
      format: 'csv',
      records: '',
      delimiter: ',',
      encoding: 'utf-8',
      quote: '"',
      escape: 'doubled',
      headerLine: 1,
      linesAfterHeader: 0,
      lastLine: 'terminated',
      compression: 'auto',
      unpackedBytes: 4 * 1024 ** 3,
    })
  })

  test.for<[object, string]>([
    [{ delimiter: '||' }, 'delimiter'],
    [{ delimiter: '\n' }, 'delimiter'],
    [{ delimiter: '' }, 'delimiter'],
    [{ delimiter: '"' }, 'quote'],
    [{ delimiter: '\\', escape: '\\' }, 'escape'],
    [{ quote: '' }, 'quote'],
    [{ escape: 'twice' }, 'escape'],
    [{ encoding: 'klingon' }, 'encoding'],
    [{ encoding: 'base64' }, 'encoding'],
    [{ headerLine: 0 }, 'headerLine'],
    [{ linesAfterHeader: -1 }, 'linesAfterHeader'],
    [{ footer: {} }, 'footer'],
    [{ footer: { rows: 1, startsWith: 'Total' } }, 'footer'],
    [{ footer: { rows: 0 } }, 'footer.rows'],
    [{ footer: { startsWith: '' } }, 'footer.startsWith'],
    [{ trailer: { startsWith: 'TRL' } }, 'trailer.rowsAt'],
    [{ lastLine: 'cut' }, 'lastLine'],
    [{ compression: 'rar' }, 'compression'],
    [{ unpackedBytes: 0 }, 'unpackedBytes'],
    [{ decrypt: {} }, 'decrypt.privateKey'],
    [{ colour: 'blue' }, ''],
  ])('refuse %o', ([settings, setting]) => {
    const { error } = ExportFormat.safeParse(settings)

    expect(error?.issues.map(({ path }) => path.join('.'))).toEqual([setting])
  })
})
