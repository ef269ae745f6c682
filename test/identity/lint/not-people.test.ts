import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { watchNotPeople } from '../../../src/identity/lint/not-people.ts'
import { compileMapping, Mapping } from '../../../src/identity/mapping/mapping.ts'

const headers = ['Worker ID', 'Name', 'E-mail', 'Start', 'End', 'Status', 'Salary']
const mapping = Mapping.parse({
  fields: {
    identityId: { column: ['Worker ID', 'Employee number'] },
    lastName: { column: ['Name', 'Surname'] },
    email: { column: ['E-mail', 'E-mail address'] },
    startedAt: { column: 'Start', format: 'yyyyMMdd' },
    separatedAt: { column: 'End', format: 'yyyyMMdd' },
  },
  status: { column: 'Status', leftWhen: ['Terminated'] },
})
const ana = ['1001', 'Ana', 'ana@example.com', '20200106', '', 'Active', '50000']

type Export = {
  readonly rows: readonly (readonly string[])[]
  readonly headers?: readonly string[]
  readonly rules?: Mapping
  /** The results of expressions for each row, which follow its cells. */
  readonly results?: readonly string[]
}

/** The lines that are not about a person, and the findings about them. The first row has line 2. */
function look({ rows, headers: names = headers, rules = mapping, results = [] }: Export) {
  const compiled = compileMapping(rules, names)
  if (!compiled.ok) throw new Error(compiled.missing.join())
  const watch = watchNotPeople({ headers: names, columns: compiled.columns, mapping: rules })
  const lines = rows.flatMap((cells, index) => {
    const fault = cells.length === names.length ? {} : { fault: { column: null, reason: 'row has other cells' } }
    const values = [...cells, ...results]
    return watch.isNotAPerson({ values, origin: { file: 'people.csv', line: index + 2 }, ...fault }) ? [index + 2] : []
  })
  return { lines, findings: watch.findings() }
}

/** Whether a row names the columns in another order than the header. */
function isReordered(cells: readonly string[], rules = mapping, names: readonly string[] = headers): boolean {
  const compiled = compileMapping(rules, names)
  if (!compiled.ok) throw new Error(compiled.missing.join())
  const watch = watchNotPeople({ headers: names, columns: compiled.columns, mapping: rules })
  return watch.isReorderedHeader({ values: cells, origin: { file: 'people.csv', line: 2 } })
}

describe('a row of totals', () => {
  test.each([
    ['Total', '', '', '', '', '', ''],
    ['Total', '2', '2', '2', '0', '2', '100000'],
    ['TOTAL: 2', '', '', '', '', '', ''],
    ['Grand Total', '', '', '', '', '', '100,000.00'],
    ['Sub-total', '', '', '', '', '', '100 000,00'],
    ['Count', '2', '', '', '', '', ''],
    ['Count:', '2', '', '', '', '', ''],
    ['Sum', '', '', '', '', '', '(1,200.50)'],
    ['Total (2)', '', '', '', '', '', ''],
    ['Total employees: 2', '', '', '', '', '', ''],
    ['Summe', '', '', '', '', '', '100.000,00 €'],
    ['Gesamt', '2', '', '', '', '', ''],
    ['Anzahl Mitarbeiter: 2', '', '', '', '', '', ''],
    ['Total général', '', '', '', '', '', ''],
    ['', '', '', '', '', 'Total', '2'],
    ['Total', '2'],
    ['Total', '2', '', '', '', '', '', '', ''],
  ])('is no person: %s|%s|%s', (...cells) => {
    expect(look({ rows: [ana, cells] }).lines).toEqual([3])
  })

  test('at the end is named with its line and the setting that helps', () => {
    expect(look({ rows: [ana, ['Total', '1', '', '', '', '', '']] }).findings).toEqual([
      'line 3 is a row of totals ("Total") and no person, so it was left out; write footer: { startsWith: Total }, and an export without it counts as cut off',
    ])
  })

  test('whose word is not in the first cell is no footer, which is recognised by its first cell', () => {
    const [finding] = look({ rows: [ana, ['', '', '', '', '', 'Total', '2']] }).findings

    expect(finding).toMatch(/; have the report leave totals out$/)
  })

  test('among people is counted every time, and no footer is suggested', () => {
    const total = ['Subtotal', '', '', '', '', '', '50000']
    const rows = Array.from({ length: 7 }, () => [ana, total]).flat()

    expect(look({ rows }).findings).toEqual([
      '7 rows are rows of totals ("Subtotal") and no people, so they were left out (lines 3, 5, 7, 9, 11 and 2 more); have the report leave totals out',
    ])
  })

  test('is recognised whatever an expression returns for it', () => {
    const { lines } = look({ rows: [ana, ['Total', '2', '', '', '', '', '']], results: ['Contractor'] })

    expect(lines).toEqual([3])
  })

  test('cannot be recognised if no single column has the key', () => {
    const rules = Mapping.parse({
      fields: { ...mapping.fields, identityId: { expression: '$uppercase(`Worker ID`)' } },
    })

    expect(look({ rules, rows: [ana, ['Total', '', '', '', '', '', '']] }).lines).toEqual([])
  })

  test.each<[string, readonly string[]]>([
    ['after the word for a total', ['Total', '3', '', '', '', '', '']],
    ['as the only other column', ['Count', '3']],
    ['with decimals', ['Total employees', '3.00', '', '', '', '', '12']],
  ])('with the number of rows in the key column is no person: %s', (_where, cells) => {
    const shifted = [headers[1], headers[0], ...headers.slice(2)].map(String).slice(0, cells.length)
    const rules = cells.length > 2 ? mapping : Mapping.parse({ fields: { identityId: 'Worker ID', lastName: 'Name' } })
    const people = ['Ana', 'Ben', 'Cem'].map((name, at) => [name, `100${at}`, ...ana.slice(2)].slice(0, cells.length))

    expect(look({ headers: shifted, rules, rows: [...people, cells] }).lines).toEqual([5])
  })

  test('is no person, whatever precedes the word for a total', () => {
    const people = Array.from({ length: 61 }, (_, at) => ana.with(0, String(2001 + at)))

    expect(look({ rows: [...people, ['61', 'Total', '', '', '', '', '']] }).lines).toEqual([63])
  })

  test('is no custom record', () => {
    const rules = Mapping.parse({
      fields: { identityId: 'Login' },
      record: { laptops: { column: 'Laptops', property: { type: 'integer', isList: false, mayBeNull: false } } },
    })

    const { lines } = look({
      headers: ['Login', 'Laptops'],
      rules,
      rows: [
        ['ana', '2'],
        ['soma', '1'],
        ['Total', '3'],
      ],
    })

    expect(lines).toEqual([4])
  })

  test('with a value in the key column is a person, and is reported', () => {
    const shifted = [headers[1], headers[0], ...headers.slice(2)].map(String)

    const { lines, findings } = look({ headers: shifted, rows: [['Total', '2', '', '', '', '', '']] })

    expect(lines).toEqual([])
    expect(findings).toEqual([
      'line 2 reads like totals ("Total"), but with a key, so as a person; if it is none, leave it out with footer',
    ])
  })
})

describe('a person stays a person', () => {
  test.each<[string, readonly string[]]>([
    ['whose key says total, with a name', ['Total', 'Ana', '', '', '', '', '']],
    ['whose key says sum, with an address', ['SUM', '', 'sum@example.com', '', '', '', '']],
    ['whose key says sum, with a start date of digits alone', ['SUM', '', '', '20200106', '', '', '']],
    ['whose key says sum, with a leaving date of digits alone', ['SUM', '', '', '', '20251031', '', '']],
    ['whose key says sum, with a status', ['SUM', '', '', '', '', 'Terminated', '']],
    ['whose name says total', ['1001', 'Total', '', '', '', '', '']],
    ['whose name says total, with the next one of keys that count up', ['2', 'Soma', '', '', '', '', '']],
    ['whose row lost its key', ['', 'Total', 'total@example.com', '', '', '', '']],
    ['whose key begins as a word for a total', ['Total Rewards', '', '', '', '', '', '']],
    ['whose key holds a word for a total', ['SUM17', '', '', '', '', '', '']],
    ['whose name is that of a column', ['1001', 'Name', 'Status', '', '', 'Start', '']],
    ['whose cells stand in brackets', ['1001', '(Ana)', '(none)', '', '', '(Active)', '']],
    ['with all cells in brackets, below another person', ['(ana)', '(Ana)', '', '', '', '(Active)', '']],
    ['whose key and name say total', ['Total', '2', '', '', '', '', '', '', 'Ana']],
    ['whose key is the name of its column', ['Worker ID', 'Ana', '', '', '', '', '']],
    ['with few words of the header', ['Worker ID', 'Ana', 'ana@example.com', '20200106', '', 'Status', '']],
    ['with a blank row', ['', '', '', '', '', '', '']],
  ])('%s', (_who, cells) => {
    expect(look({ rows: [ana, cells] }).lines).toEqual([])
  })

  test('whose key is "sum", if no other field of people is mapped', () => {
    const rules = Mapping.parse({ fields: { identityId: 'Worker ID', managerId: 'Manager' } })

    const { lines } = look({
      headers: ['Worker ID', 'Manager'],
      rules,
      rows: [
        ['SUM', '17'],
        ['Total 17', ''],
        ['Total: 1', ''],
      ],
    })

    expect(lines).toEqual([4])
  })

  test('with only the key in brackets, above all others', () => {
    expect(look({ rows: [['(ana)', '', '', '', '', '', ''], ana] }).lines).toEqual([])
  })

  test('with any key of their own, whatever else the row holds', () => {
    const cell = fc.constantFrom('', 'Total', 'Sum: 4', 'Count', 'Name', 'Status', '(text)', '17', '1,000.00')
    const ownKey = fc.constantFrom('1001', 'ana', 'E-17', 'Summer', 'Totally', 'A Total')

    fc.assert(
      fc.property(ownKey, fc.array(cell, { minLength: 6, maxLength: 6 }), (identityId, cells) => {
        expect(look({ rows: [ana, [identityId, ...cells]] }).lines).toEqual([])
      }),
    )
  })

  test('with an address or a date, whatever the key is', () => {
    const cell = fc.constantFrom<string>('', 'Total', '17', 'E-mail', 'Start')
    const certain = fc.constantFrom<[number, string]>([2, 'a@example.com'], [3, '20200106'], [4, '20251031'])

    fc.assert(
      fc.property(
        fc.constantFrom<string>('Total', 'SUM', 'Count: 4'),
        fc.array(cell, { minLength: 6, maxLength: 6 }),
        certain,
        (identityId, cells, [at, text]) => {
          expect(look({ rows: [ana, [identityId, ...cells].with(at, text)] }).lines).toEqual([])
        },
      ),
    )
  })
})

describe('a second header', () => {
  test.each<[string, readonly string[]]>([
    ['the same words', headers],
    ['the same words, otherwise written', headers.map((name) => name.toUpperCase().replace(' ', '_'))],
    ['other names of the columns', ['Employee number', 'Surname', 'E-mail address', 'Begin', 'Until', 'Status', 'Pay']],
    ['some of its cells blank', ['Worker ID', '', 'E-mail', '', '', 'Status', '']],
    ['what the cells hold, in brackets', ['(key)', '(text)', '(text)', '(date)', '(date)', '', '']],
  ])('is no person: %s', (_what, cells) => {
    expect(look({ rows: [cells, ana] })).toEqual({
      lines: [2],
      findings: [
        'line 2 is a second header and no person, so it was left out; if every export has it, write linesAfterHeader: 1',
      ],
    })
  })

  test('on every page is reported, with fitting advice', () => {
    expect(look({ rows: [ana, headers, ana, headers, ana] })).toEqual({
      lines: [3, 5],
      findings: [
        '2 rows are further headers and no people, so they were left out (lines 3, 5); have the report name its columns once',
      ],
    })
  })

  test('is recognised even if the name of the key contains a digit', () => {
    const numbered = ['ID 2', ...headers.slice(1)]
    const rules = Mapping.parse({ ...mapping, fields: { ...mapping.fields, identityId: 'ID 2' } })

    expect(look({ headers: numbered, rules, rows: [ana, numbered] }).lines).toEqual([3])
  })

  test('repeats the whole header if no single column has the key', () => {
    const rules = Mapping.parse({
      ...mapping,
      fields: { ...mapping.fields, identityId: { expression: '$uppercase(`Worker ID`)' } },
    })

    expect(look({ rules, rows: [ana, headers, headers.with(6, '')] }).lines).toEqual([3])
  })

  test('of an export with one column is recognised by its only word', () => {
    const rules = Mapping.parse({ fields: { identityId: 'Worker ID' } })

    expect(look({ headers: ['Worker ID'], rules, rows: [['1001'], ['Worker ID']] }).lines).toEqual([3])
  })
})

describe('a second header in another order', () => {
  const byExpression = Mapping.parse({
    ...mapping,
    fields: { ...mapping.fields, identityId: { expression: '$uppercase(`Worker ID`)' } },
  })

  test.each<[string, readonly string[]]>([
    ['two dates are swapped', ['Worker ID', 'Name', 'E-mail', 'End', 'Start', 'Status', 'Salary']],
    ['the key stands elsewhere', ['Name', 'Worker ID', 'E-mail', 'Start', 'End', 'Status', 'Salary']],
    ['they are otherwise written', ['worker_id', 'EMAIL', 'name', 'start', 'end', 'status', 'salary']],
    ['a column has another name that the mapping knows', ['Worker ID', 'E-mail address', 'Surname', '', '', '', '']],
    ['there are fewer columns', ['Worker ID', 'Status', 'Name']],
    ['columns that are not mapped are swapped', ['Worker ID', 'Name', 'E-mail', 'Start', 'End', 'Salary', 'Status']],
  ])('is recognised if %s', (_what, cells) => {
    expect(isReordered(cells)).toBe(true)
  })

  test('is recognised if no single column has the key', () => {
    expect(isReordered(headers.toReversed(), byExpression)).toBe(true)
    expect(isReordered(headers, byExpression)).toBe(false)
  })

  test.each<[string, readonly string[]]>([
    ['the same header', headers],
    ['the header by other names', ['Employee number', 'Surname', 'E-mail address', 'Begin', 'Until', 'Status', 'Pay']],
    ['a person', ana],
    [
      'a person whose name is the word of a column',
      ['Name', 'Status', 'name@example.com', '20200106', '', 'Active', ''],
    ],
    ['a person without a key', ['', 'Status', '', '', '', 'Name', '']],
  ])('is not %s', (_what, cells) => {
    expect(isReordered(cells)).toBe(false)
  })

  test.each(['#', ''])('is not a row of punctuation below a column called "%s"', (sign) => {
    const names = [sign, ...headers]

    expect(isReordered(['', '', '-', '-', '', '', '-', ''], mapping, names)).toBe(false)
    expect(isReordered(['', 'Name', 'Worker ID', '', '', '', '', ''], mapping, names)).toBe(true)
  })
})

test('an export of people has no findings', () => {
  expect(look({ rows: [ana, ana] })).toEqual({ lines: [], findings: [] })
})
