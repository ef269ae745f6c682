import { describe, expect, test } from 'vitest'
import { ana, derive } from '../../helpers/derive.ts'

const catastrophe = '$contains(First, /^(a+)+$/) ? "yes" : "no"'

describe('an expression that gives no text', () => {
  test.each([
    ['{"a": First}', /a list, an object or a function/],
    ['[First, Last]', /a list, an object or a function/],
    ['$uppercase', /a list, an object or a function/],
    ['$', /a list, an object or a function/],
    ['$pad("", 1001, First)', /^the expression gives 1001 characters; 1000 are the most$/],
    ['$error(First)', /^the expression failed \(JSONata D3137\)$/],
    ['$number(First)', /^the expression failed \(JSONata D3030\)$/],
    ['$join([1..9999999].$string($))', /^the expression failed \(JSONata D2015\)$/],
    ['($f := function($x) { 1 + $f($x) }; $f(1))', /^the expression failed \(JSONata D1011\)$/],
    ['($f := function($s, $n) { $n = 0 ? $s : $f($s & $s, $n - 1) }; $f(First, 40))', /^the expression failed/],
  ])('rejects only its row, and puts no personal data in the reason: %s', async (expression, reason) => {
    const rows = await derive(expression, [
      ['x', 'Rosalind', 'y'],
      { values: ana, fault: { column: null, reason: 'x' } },
    ])

    expect(rows[0]).toMatchObject({ fault: { column: 3, reason: expect.stringMatching(reason) } })
    expect(rows[0]?.values).toEqual(['x', 'Rosalind', 'y', undefined])
    expect(JSON.stringify(rows[0]?.fault)).not.toContain('Rosalind')
  })

  test('is named among several expressions', async () => {
    const rows = await derive(['First', '$error()', 'Last'], [ana])

    expect(rows).toMatchObject([{ values: [...ana, 'Ana', undefined, 'Li'], fault: { column: 4 } }])
  })
})

describe('an expression without end', () => {
  test.each([
    ['a regular expression that goes back and forth', catastrophe],
    ['a loop', 'First = "b" or First = "ok" ? "no" : ($f := function($x) { $f($x + 1) }; $f(1))'],
  ])('costs its row alone: %s', async (_, expression) => {
    const rows = await derive(expression, [
      ['', 'b', ''],
      ['', `${'a'.repeat(40)}!`, ''],
      ['', 'ok', ''],
    ])

    expect(rows.map(({ values, fault }) => [values[3], fault])).toEqual([
      ['no', undefined],
      [undefined, { column: 3, reason: 'the expression takes longer than 250 ms' }],
      ['no', undefined],
    ])
  })

  test('that takes the memory of the worker costs its row alone', async () => {
    const hungry =
      'First = "b" ? "no" : $count($map([1..90000], function($n) { $split($pad("", 2000, $string($n)), "") }))'

    const rows = await derive(hungry, [ana, ['', 'b', '']], { limits: { memoryMb: 32, rowMs: 20_000 } })

    expect(rows.map(({ values, fault }) => [values[3], fault])).toEqual([
      [undefined, { column: 3, reason: 'the expression takes more than 32 MiB of memory' }],
      ['no', undefined],
    ])
  })

  test('refuses the source where it happens again and again', async () => {
    const stuck = Array.from({ length: 4 }, () => ['', `${'a'.repeat(40)}!`, ''])

    const deriving = derive(catastrophe, stuck, { limits: { rowMs: 100, maxStoppedRows: 3 } })

    await expect(deriving).rejects.toMatchObject({
      code: 'source_unreadable',
      message: 'people.csv: expressions got stuck at more than 3 rows (the expression takes longer than 100 ms)',
    })
  })
})
