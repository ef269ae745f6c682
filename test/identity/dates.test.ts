import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { dateFormatProblem, dateReader, dayBefore } from '../../src/identity/dates.ts'

const formats = ['yyyy-MM-dd', 'MM/dd/yyyy', 'dd.MM.yyyy', 'd.M.yyyy', 'M/d/yyyy', 'yyyyMMdd', 'dd MM yyyy', 'yyyy.M.d']

describe('a date', () => {
  test('is read back from every format that can write it', () => {
    const dates = fc.date({ min: new Date('1900-01-01'), max: new Date('2199-12-31'), noInvalidDate: true })
    fc.assert(
      fc.property(dates, fc.constantFrom(...formats), (date, format) => {
        const iso = date.toISOString().slice(0, 10)

        const read = dateReader(format)(write(iso, format))

        expect(read).toBe(iso)
      }),
    )
  })

  test.each([
    ['a day that the month lacks', 'dd/MM/yyyy', '31/02/2025'],
    ['a leap day of an ordinary year', 'yyyy-MM-dd', '2025-02-29'],
    ['a thirteenth month', 'yyyy-MM-dd', '2025-13-01'],
    ['a zeroth day', 'yyyy-MM-dd', '2025-01-00'],
    ['a year before 1900', 'yyyy-MM-dd', '1899-12-31'],
    ['a year after 2199', 'yyyy-MM-dd', '2200-01-01'],
    ['a two-digit year', 'MM/dd/yyyy', '01/02/25'],
    ['one digit where the format has two', 'yyyy-MM-dd', '2025-1-02'],
    ['something after it', 'yyyy-MM-dd', '2025-01-02T00:00:00'],
    ['a line end after it', 'yyyy-MM-dd', '2025-01-02\n'],
    ['something before it', 'yyyy-MM-dd', ' 2025-01-02'],
    ['other signs', 'dd.MM.yyyy', '01/02/2025'],
    ['other digits', 'yyyy-MM-dd', '２０２５-01-02'],
    ['nothing', 'yyyy-MM-dd', ''],
  ])('with %s is none', (_, format, text) => {
    expect(dateReader(format)(text)).toBeNull()
  })

  test('on a leap day is one', () => {
    expect(dateReader('dd/MM/yyyy')('29/02/2024')).toBe('2024-02-29')
  })

  test('is the same when it is read again, also after many others', () => {
    const read = dateReader('yyyy-MM-dd')
    const days = Array.from({ length: 25_000 }, (_, i) =>
      Temporal.PlainDate.from('1990-01-01').add({ days: i }).toString(),
    )

    const twice = [...days, ...days].map(read)

    expect(twice).toEqual([...days, ...days])
  })

  test.each([
    ['2026-03-01', '2026-02-28'],
    ['2024-03-01', '2024-02-29'],
    ['2026-01-01', '2025-12-31'],
  ])('%s follows %s', (date, before) => {
    expect(dayBefore(date)).toBe(before)
  })
})

describe('a date format', () => {
  test.each(formats)('%s can be used', (format) => {
    expect(dateFormatProblem(format)).toBeNull()
  })

  test.each([
    ['MM/dd/yy', /four digits/],
    ['y-MM-dd', /four digits/],
    ['dd MMM yyyy', /"MMM" is not understood/],
    ['YYYY-MM-DD', /"YYYY" is not understood/],
    ["yyyy-MM-dd'T'HH", /"T" is not understood/],
    ['yyyy-MM', /once each/],
    ['yyyy-MM-dd-dd', /once each/],
    ['M/MM/yyyy', /once each/],
    ['', /once each/],
    ['dMyyyy', /sign beside them/],
  ])('%s cannot', (format, problem) => {
    expect(dateFormatProblem(format)).toMatch(problem)
  })
})

function write(iso: string, format: string): string {
  const [year = '', month = '', day = ''] = iso.split('-')
  const units: Record<string, string> = { yyyy: year, MM: month, M: `${Number(month)}`, dd: day, d: `${Number(day)}` }
  return format.replace(/yyyy|MM|M|dd|d/g, (token) => units[token] ?? '')
}
