import { describe, expect, test } from 'vitest'
import { mostSimilar } from '../../../src/identity/mapping/headers.ts'
import { compileMapping, Mapping } from '../../../src/identity/mapping/mapping.ts'

describe('a header', () => {
  const compile = (fields: Record<string, unknown>, headers: string[]) =>
    compileMapping(Mapping.parse({ fields }), headers)

  test.each(['worker_id', 'WORKER ID', ' WorkerId ', '"Worker-ID"', '\uFEFFWorker ID'])(
    'is found as "%s"',
    (header) => {
      const compiled = compile({ identityId: 'Worker ID' }, ['Name', header])

      expect(compiled).toMatchObject({ ok: true, columns: { identityId: header } })
    },
  )

  test('keeps its letters of any script', () => {
    const compiled = compile({ identityId: 'Num\u00e9ro', jobTitle: '\u8077\u4f4d' }, ['\u8077\u4f4d', 'NUME\u0301RO'])

    expect(compiled).toMatchObject({ ok: true, columns: { identityId: 'NUME\u0301RO', jobTitle: '\u8077\u4f4d' } })
  })

  test('with several names uses the first existing one', () => {
    const compiled = compile({ identityId: { column: ['Employee ID', 'Worker ID'] } }, ['WorkerID', 'EmployeeID'])

    expect(compiled).toMatchObject({ ok: true, columns: { identityId: 'EmployeeID' } })
  })

  test('that lacks mapped columns is refused with their names and similar columns', () => {
    const fields = { identityId: 'id', startedAt: 'Hire Date', email: { column: ['Mail', 'Post'] } }

    const compiled = compile(fields, ['id', 'HiredDate'])

    expect(compiled).toEqual({
      ok: false,
      missing: [
        'none of the columns "Mail", "Post" (email) is in the header',
        'column "Hire Date" (startedAt) is not in the header; did you mean "HiredDate"?',
      ],
    })
  })

  test('may lack an optional column, whose field is then not mapped', () => {
    const compiled = compile({ identityId: 'id', email: { column: 'Mail', optional: true } }, ['id'])

    expect(compiled).toMatchObject({ ok: true, columns: { identityId: 'id' }, mapped: new Set() })
  })

  test('with two columns that read the same is refused if one of them is mapped', () => {
    const headers = ['id', 'Hire Date', 'HireDate']

    const refused = compile({ identityId: 'id', startedAt: { column: 'hire date', optional: true } }, headers)
    const taken = compile({ identityId: 'id' }, headers)

    expect(refused).toEqual({
      ok: false,
      missing: [expect.stringMatching(/"Hire Date", "HireDate" \(startedAt\) read the same/)],
    })
    expect(taken.ok).toBe(true)
  })

  test.each([
    ['__proto__', 'constructor'],
    ['toString', '__proto__'],
  ])('treats %s and %s as equal', (first, second) => {
    const fields = { identityId: first, jobTitle: second }

    const compiled = compileMapping(Mapping.parse({ fields }), ['hasOwnProperty', second, first])

    const mapped =
      compiled.ok && compiled.map({ values: ['x', 'Engineer', '1'], origin: { file: 'people.csv', line: 2 } })
    expect(mapped).toMatchObject({ identityId: '1', fields: { jobTitle: 'Engineer' } })
  })

  test('of 10,000 columns is compared with 200 names in no time', () => {
    const headers = Array.from({ length: 10_000 }, (_, index) => `Custom attribute number ${index}`)
    const names = Array.from({ length: 200 }, (_, index) => `Custom atribute numbre ${index * 7}x`)
    const fields = { identityId: { column: names }, email: { column: names }, jobTitle: { column: names } }
    const started = performance.now()

    const compiled = compileMapping(Mapping.parse({ fields }), headers)

    expect(compiled.ok).toBe(false)
    expect(performance.now() - started).toBeLessThan(2000)
  })

  test('is matched with similar names only', () => {
    expect(mostSimilar(['Hire Date'], ['Salary', 'Hired_Date', 'Hire Dote'])).toBe('Hired_Date')
    expect(mostSimilar(['Hire Date'], ['Hirings', 'Dates', 'x'.repeat(100_000)])).toBeNull()
  })
})
