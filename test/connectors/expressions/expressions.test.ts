import { describe, expect, test } from 'vitest'
import { withExpressions } from '../../../src/connectors/expressions/expressions.ts'
import { ana, type Cells, derive, readingOf, resultsOf } from '../../helpers/derive.ts'

describe('an expression', () => {
  test.each([
    ['$lowercase(`Work Email`)', 'ana@example.com'],
    ['$lowercase(work_email)', 'ana@example.com'],
    ['First & " " & Last', 'Ana Li'],
    ['$length(First) * 2.5', '7.5'],
    ['First = "Ana"', 'true'],
    ['null', ''],
    ['$match(First, /x/)[0].match', ''],
    ['$join($keys($), "|")', 'Work Email|First|Last'],
  ])('%s is the text "%s" behind the cells of its row', async (expression, text) => {
    const rows = await derive(expression, [ana])

    expect(rows).toEqual([{ values: [...ana, text], origin: { file: 'people.csv', line: 2 } }])
  })

  test('stands beside others in their order', async () => {
    expect(await resultsOf(['Last', 'First', 'Last'], [ana])).toEqual(['Li', 'Ana', 'Li'])
  })

  test('reads columns of any name, and nothing that is no column', async () => {
    const names = ['__proto__', 'constructor', 'toString']

    expect(await resultsOf('`__proto__` & constructor & toString', [['a', 'b', 'c']], { names })).toEqual(['abc'])
    await expect(derive('hasOwnProperty', [['a', 'b', 'c']], { names })).rejects.toThrow(/"hasOwnProperty"/)
  })

  test('does not change the row, nor the next one', async () => {
    const rows = await derive('($ ~> |$|{"First": "X"}|).First', [ana, ['b', 'Bo', 'Xu']])

    expect(rows.map(({ values }) => values)).toEqual([
      [...ana, 'X'],
      ['b', 'Bo', 'Xu', 'X'],
    ])
  })

  test('leaves a reading without expressions as it is', () => {
    const plain = readingOf([])

    expect(withExpressions(plain, [])).toBe(plain)
  })
})

describe('an expression that reads a column which the source lacks', () => {
  test('refuses the source, and suggests a similar column', async () => {
    await expect(derive('$lowercase(`Work Emial`)', [ana])).rejects.toMatchObject({
      code: 'source_unreadable',
      message:
        'people.csv: an expression reads the column "Work Emial", which is not in the header; did you mean "Work Email"?',
    })
  })

  test('does not reveal a name that it computed from a cell', async () => {
    const deriving = derive('$lookup($, First)', [['x', 'Rosalind', 'y']])

    await expect(deriving).rejects.toThrow(/^people\.csv: an expression reads a column, which is not in the header$/)
  })

  test('is also refused if the name is ambiguous', async () => {
    await expect(derive('First', [ana], { names: ['First', 'FIRST', 'Last'] })).rejects.toThrow(/several columns/)
  })

  test('states nothing if the column is optional', async () => {
    expect(await resultsOf('Lost', [ana], { optional: true })).toEqual([undefined])
    expect(await resultsOf('Lost ? Lost : First', [ana], { optional: true })).toEqual(['Ana'])
  })
})

describe('an expression over a row that lacks cells', () => {
  test.each<[string, Cells, string | undefined]>([
    ['$lowercase(`Work Email`)', [undefined, 'Ana', 'Li'], undefined],
    ['$lowercase(`Work Email`)', ['', undefined, 'Li'], ''],
    ['$exists(Last) ? Last : ""', ['x', 'Ana', undefined], undefined],
    ['$exists(Last) ? Last : First', ['x', 'Ana', undefined], 'Ana'],
    ['$join($keys($), "|")', ['x', undefined, ''], 'Work Email|Last'],
    ['Lost', ['x', 'Ana', 'Li'], undefined],
    ['$lowercase(Last)', ['x'], undefined],
  ])('states nothing if it read such a cell and returns a blank: %s of %j is %j', async (expression, row, text) => {
    expect(await resultsOf(expression, [row], { sparse: true })).toEqual([text])
  })
})

describe('a row that was damaged before', () => {
  const damaged = { values: ana, fault: { column: 1, reason: 'damaged' } }

  test.each([
    ['Last', 'Li', { column: 1, reason: 'damaged' }],
    ['First', undefined, { column: null, reason: 'the expression reads a damaged cell' }],
    ['$error()', undefined, { column: null, reason: 'the expression failed (JSONata D3137)' }],
  ])('keeps its fault, and is given up as a whole where %s has one too', async (expression, text, fault) => {
    const rows = await derive(expression, [damaged])

    expect(rows).toMatchObject([{ fault }])
    expect(rows[0]?.values).toEqual([...ana, text])
  })

  test.each([
    ['First', undefined, { column: 3, reason: 'the expression reads a damaged cell' }],
    ['Last', undefined, { column: 3, reason: 'the expression reads a damaged cell' }],
    ['`Work Email`', 'Ana@Example.com', undefined],
  ])('in several cells keeps them, and %s has a fault only if it reads one', async (expression, text, fault) => {
    const cellFaults = [1, 2].map((column) => ({ column, reason: 'damaged' }))
    const [row] = await derive(expression, [{ values: ana, cellFaults }])

    expect(row).toMatchObject({ cellFaults })
    expect([row?.values[3], row?.fault]).toEqual([text, fault])
  })

  test('as a whole is not evaluated', async () => {
    const broken = { values: ['a'], fault: { column: null, reason: 'row has 1 cell, the header has 3' } }

    expect(await derive('$error()', [broken])).toMatchObject([broken])
  })
})

test('many rows pass in portions, in their order', async () => {
  const rows = Array.from({ length: 3000 }, (_, index) => ['', `${index}`, 'x'.repeat(1000)])

  const derived = await derive('First', rows)

  expect(derived.map(({ values }) => values[3])).toEqual(rows.map(([, index]) => index))
})
