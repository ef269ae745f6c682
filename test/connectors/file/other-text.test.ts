import { describe, expect, test } from 'vitest'
import { type Format, readCsv, refusalOf } from '../../helpers/sources/csv.ts'

const table = 'id,name,email\n1,Ana,a@example.com\n2,Ben,b@example.com\n'
const page = 'it may be a sign-in page that was saved in place of the export; check how the export is fetched'

const helpForJson = 'write format: json, or have it exported as CSV'

describe('a text that is no table is called what it is', () => {
  test.for<[string, string]>([
    [
      '<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>\n',
      `people.csv is a web page (HTML) that begins with "<!DOCTYPE html> <html><head><title>": ${page}`,
    ],
    [
      '\n\n  <HTML lang="en"><body>Please sign in, or leave</body></HTML>\n',
      `people.csv is a web page (HTML) that begins with "<HTML lang="en"><body>": ${page}`,
    ],
    [
      '<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN"><html></html>\n',
      `people.csv is a web page (HTML) that begins with "<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN"><h…": ${page}`,
    ],
    [
      '<table><tr><td>1</td><td>Ana</td></tr></table>\n',
      `people.csv is a web page (HTML) that begins with "<table><tr><td>": ${page}`,
    ],
    ['<?xml version="1.0"?>\n<Workbook><Row>Ana</Row></Workbook>\n', 'people.csv is XML: have it exported as CSV'],
    ['{"error":"unauthorized"}\n', `people.csv is JSON: ${helpForJson}`],
    ['[\n  {"id": 1, "name": "Ana"}\n]\n', `people.csv is JSON: ${helpForJson}`],
    ['[]\n', `people.csv is JSON: ${helpForJson}`],
    ['{\\rtf1\\ansi id,name}\n', 'people.csv is a text document (RTF): have it exported as CSV'],
  ])('%j', async ([text, message]) => {
    expect(await refusalOf(text)).toBe(message)
    expect(await refusalOf(`\uFEFF${text}`, { delimiter: 'auto' })).toBe(message)
    expect(await refusalOf(`${text}\n\n\n`, { headerLine: 3 })).toBe(message)
  })

  test.for(['<id>,name\n1,x\n', '[id],name\n1,x\n', '{id},name\n1,x\n', '"<html>",name\n1,x\n'])(
    'and a header with such signs is a header: %j',
    async (text) => {
      expect((await readCsv(text)).rows).toEqual([['1', 'x']])
    },
  )
})

describe('a title above the header is called one', () => {
  const titled = (title: string, line: number, width = 3) =>
    `people.csv:1: this line is a title and not the header: it reads "${title}": line ${line} is the first with ${width} cells; if it names the columns, write headerLine: ${line}`

  test.for<[string, string, Format, string]>([
    ['alone', `People of Acme\n${table}`, {}, titled('People of Acme', 2)],
    ['with blank lines', `\nPeople of Acme\n\n\n${table}`, {}, titled('People of Acme', 5)],
    ['with a second line', `People of Acme\nby HR\n\n${table}`, {}, titled('People of Acme', 4)],
    ['with quotes', `The "people" of Acme\n${table}`, {}, titled('The "people" of Acme', 2)],
    ['with another delimiter', `People; all\n${table}`, {}, titled('People; all', 2)],
    ['where the delimiter is detected', `People of Acme\n${table}`, { delimiter: 'auto' }, titled('People of Acme', 2)],
    [
      'with a delimiter that is not that of the rows',
      `People, all\n${table.replaceAll(',', ';')}`,
      { delimiter: 'auto' },
      titled('People, all', 2),
    ],
    ['with control characters', `People\tof \u001bAcme\n${table}`, {}, titled('People of Acme', 2)],
    ['of many words', `${'People '.repeat(30)}\n${table}`, {}, titled(`${'People '.repeat(11)}Peo…`, 2)],
  ])('%s', async ([, text, format, message]) => {
    expect(await refusalOf(text, format)).toBe(message)
  })

  test.for<[string, string, Format]>([
    ['a header of one column over rows that hold the delimiter now and then', 'name\nAna\nBen\nLee, Cat\n', {}],
    ['a header of one column alone', 'id\n', {}],
    ['a title that headerLine skips', `People of Acme\n${table}`, { headerLine: 2 }],
  ])('and not %s', async ([, text, format]) => {
    expect((await readCsv(text, format)).headers.length).toBeGreaterThan(0)
  })

  test('and an address in it is not shown', async () => {
    expect(await refusalOf(`by ana@example.com\n${table}`)).toMatch(
      /^people.csv:1: this line is a title and not the header: line 2 is/,
    )
  })

  test('and another delimiter is still proposed where it splits header and rows alike', async () => {
    expect(await refusalOf('id;salary\n1;1000,50\n2;900,00\n')).toBe(
      "people.csv:1: the configured delimiter ',' does not split the header: did you mean delimiter: ';'?",
    )
  })
})
