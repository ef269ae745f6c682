import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { dateFormatProblem } from '../../../src/identity/mapping/date-formats.ts'
import { dateOverlapProblem } from '../../../src/identity/mapping/date-overlap.ts'
import { dateReader, momentReader } from '../../../src/identity/mapping/dates.ts'
import { monthNames } from '../../../src/identity/mapping/month-names.ts'

const run = promisify(execFile)
const formats = ['yyyy-MM-dd', 'MM/dd/yyyy', 'dd.MM.yyyy', 'd.M.yyyy', 'M/d/yyyy', 'yyyyMMdd', 'dd MM yyyy', 'yyyy.M.d']

describe('a date', () => {
  test('is read back from every format that can write it', () => {
    const dates = fc.date({ min: new Date('1900-01-01'), max: new Date('2199-12-31'), noInvalidDate: true })
    fc.assert(
      fc.property(dates, fc.constantFrom(...formats), (date, format) => {
        const iso = date.toISOString().slice(0, 10)

        const read = dateReader([format])(write(iso, format), 'UTC')

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
  ])('with %s is invalid', (_, format, text) => {
    expect(dateReader([format])(text, 'UTC')).toBeNull()
  })

  test('on a leap day is valid', () => {
    expect(dateReader(['dd/MM/yyyy'])('29/02/2024', 'UTC')).toBe('2024-02-29')
  })

  test('is the same when it is read again, even after many others', () => {
    const read = dateReader(['yyyy-MM-dd'])
    const days = Array.from({ length: 25_000 }, (_, i) =>
      Temporal.PlainDate.from('1990-01-01').add({ days: i }).toString(),
    )

    const twice = [...days, ...days].map((day) => read(day, 'UTC'))

    expect(twice).toEqual([...days, ...days])
  })

  test.each([
    ['2026-03-01', -1, '2026-02-28'],
    ['2024-03-01', -1, '2024-02-29'],
    ['2026-01-01', -1, '2025-12-31'],
    ['2026-12-31', 1, '2027-01-01'],
  ])('%s moved by %i days is %s', (date, addDays, moved) => {
    expect(dateReader(['yyyy-MM-dd'], { addDays })(date, 'UTC')).toBe(moved)
  })

  test.each([
    ['MM/dd/yy', '02/28/49', '2049-02-28'],
    ['MM/dd/yy', '02/28/50', '1950-02-28'],
    ['dd.MM.yy', '01.01.00', '2000-01-01'],
    ['yyMMdd', '991231', '1999-12-31'],
  ])('of two digits in %s, %s with the pivot 2049 is %s', (format, text, date) => {
    expect(dateReader([format], { pivot: 2049 })(text, 'UTC')).toBe(date)
  })

  test.each([
    ['MMM d, yyyy', 'en', 'Sept 3, 2025', '2025-09-03'],
    ['d-MMM-yyyy', 'en', '3-FEB-2024', '2024-02-03'],
    ['d MMMM yyyy', 'en', '3 may 2025', '2025-05-03'],
    ['d. MMMM yyyy', 'de', '3. M\u00e4rz 2025', '2025-03-03'],
    ['d. MMMM yyyy', 'de', '3. Ma\u0308rz 2025', '2025-03-03'],
    ['dd. MMM yyyy', 'de', '03. Dez 2025', '2025-12-03'],
  ] as const)('with a named month in %s (%s) is read from "%s"', (format, language, text, date) => {
    expect(dateReader([format], { language })(text, 'UTC')).toBe(date)
  })

  test('is read in any case even if V8 no longer optimizes patterns, as after 16 MB of them', async () => {
    const module = JSON.stringify(new URL('../../../src/identity/mapping/dates.ts', import.meta.url))
    const script = `const { dateReader } = await import(${module})
      const read = (format, text) => dateReader([format], { language: 'de' })(text, 'UTC')
      console.log(read('d. MMMM yyyy', '3. MÄRZ 2025'), read('d. MMM yyyy', '3. okt 2025'), read('dd.MM.yyyy hh a', '03.02.2025 01 pM'))`

    const { stdout } = await run(process.execPath, [
      '--no-regexp-optimization',
      '--input-type=module',
      '--eval',
      script,
    ])

    expect(stdout).toBe('2025-03-03 2025-10-03 2025-02-03\n')
  })

  test.each([
    ['d MMM yyyy', '3 Okt 2025'],
    ['d MMM yyyy', '3 October 2025'],
    ['d MMM yyyy', '3 10 2025'],
  ])('in %s is not read from "%s"', (format, text) => {
    expect(dateReader([format])(text, 'UTC')).toBeNull()
  })

  test('may have any of several formats', () => {
    const read = dateReader(['M/d/yyyy', "yyyy-MM-dd'T'HH:mm:ss", 'yyyy-MM-dd'])

    const dates = ['2/3/2025', '2025-02-03T23:59:59', '2025-02-03', '03.02.2025'].map((text) => read(text, 'UTC'))

    expect(dates).toEqual(['2025-02-03', '2025-02-03', '2025-02-03', null])
  })
})

describe('a time beside a date', () => {
  test.each([
    ["yyyy-MM-dd'T'HH:mm:ss.SSS", '2025-06-30T23:59:59.999'],
    ['yyyy-MM-dd H:mm', '2025-06-30 9:05'],
    ['yyyy-MM-dd h:mm a', '2025-06-30 12:00 am'],
    ['yyyy-MM-dd hh:mm:ssa', '2025-06-30 11:59:59PM'],
  ])('without an offset leaves the day as written (%s)', (format, text) => {
    const days = ['Pacific/Midway', 'Pacific/Kiritimati'].map((zone) => dateReader([format])(text, zone))

    expect(days).toEqual(['2025-06-30', '2025-06-30'])
  })

  test.each([
    ["yyyy-MM-dd'T'HH:mm:ssXXX", '2025-06-30T22:30:00Z', 'Europe/Berlin', '2025-07-01'],
    ["yyyy-MM-dd'T'HH:mm:ssXXX", '2025-06-30T00:30:00+02:00', 'UTC', '2025-06-29'],
    ["yyyy-MM-dd'T'HH:mm:ssZ", '2025-06-30T00:30:00+0200', 'Pacific/Kiritimati', '2025-06-30'],
    ["yyyy-MM-dd'T'HH:mmXXX", '2025-12-31T10:00Z', 'Pacific/Kiritimati', '2026-01-01'],
    ["yyyy-MM-dd'T'HH:mmXXX", '2024-03-01T10:59Z', 'Pacific/Midway', '2024-02-29'],
    ["yyyy-MM-dd'T'HH:mmXXX", '2026-10-25T23:30Z', 'Europe/Berlin', '2026-10-26'],
    ["yyyy-MM-dd'T'HH:mmXXX", '2026-03-28T22:59Z', 'Europe/Berlin', '2026-03-28'],
    ["yyyy-MM-dd'T'HH:mmXXX", '2026-04-04T13:29Z', 'Australia/Lord_Howe', '2026-04-05'],
    ["yyyy-MM-dd'T'HH:mmXXX", '2025-06-30T18:14Z', 'Asia/Kathmandu', '2025-06-30'],
    ["yyyy-MM-dd'T'HH:mmXXX", '2025-06-30T18:15Z', 'Asia/Kathmandu', '2025-07-01'],
  ])('with an offset (%s) is the day of the instant %s in %s: %s', (format, text, zone, day) => {
    expect(dateReader([format])(text, zone)).toBe(day)
  })

  test('with an offset is read separately for every time zone', () => {
    const read = dateReader(["yyyy-MM-dd'T'HH:mmXXX"])

    const days = ['Pacific/Midway', 'UTC', 'Pacific/Kiritimati', 'UTC'].map((zone) => read('2025-06-30T10:30Z', zone))

    expect(days).toEqual(['2025-06-29', '2025-06-30', '2025-07-01', '2025-06-30'])
  })

  test.each([
    ['yyyy-MM-dd HH:mm', '2025-06-30 24:00'],
    ['yyyy-MM-dd HH:mm', '2025-06-30 10:60'],
    ['yyyy-MM-dd HH:mm:ss', '2025-06-30 23:59:60'],
    ['yyyy-MM-dd h:mm a', '2025-06-30 0:30 AM'],
    ['yyyy-MM-dd h:mm a', '2025-06-30 13:30 PM'],
    ['yyyy-MM-dd HH:mmXXX', '2025-06-30 10:00+19:00'],
    ['yyyy-MM-dd HH:mmXXX', '2025-06-30 10:00+01:60'],
    ['yyyy-MM-dd HH:mmXXX', '2025-06-30 10:00'],
    ["yyyy-MM-dd'T'HH:mm", '2025-06-30t10:00'],
  ])('that does not exist or has another form (%s) is invalid: %s', (format, text) => {
    expect(dateReader([format])(text, 'UTC')).toBeNull()
  })

  test('orders rows, to the millisecond and across offsets', () => {
    const local = momentReader('dd.MM.yyyy HH:mm:ss.SSS')
    const halves = momentReader('yyyy-MM-dd h:mm a')
    const instant = momentReader("yyyy-MM-dd'T'HH:mmXXX")

    expect(local('30.06.2025 10:00:00.001')).toBe('2025-06-30T10:00:00.001')
    expect(instant('2025-06-30T10:00+02:00')).toBe('2025-06-30T08:00:00.000')
    expect(local('31.06.2025 10:00:00.001')).toBeNull()
    expect(['12:30 AM', '1:30 AM', '12:30 PM', '1:30 pm'].map((time) => halves(`2025-06-30 ${time}`))).toEqual([
      '2025-06-30T00:30:00.000',
      '2025-06-30T01:30:00.000',
      '2025-06-30T12:30:00.000',
      '2025-06-30T13:30:00.000',
    ])
  })
})

describe('a fraction of a second', () => {
  test.each([
    ['yyyy-MM-dd HH:mm:ss.S', '2025-06-30 10:00:00.1', '2025-06-30T10:00:00.100'],
    ['yyyy-MM-dd HH:mm:ss.SSSSSS', '2025-06-30 10:00:00.123456', '2025-06-30T10:00:00.123456000'],
    ['yyyy-MM-dd HH:mm:ss.SSSSSSS', '2025-06-30 10:00:00.1234567', '2025-06-30T10:00:00.123456700'],
    ["yyyy-MM-dd'T'HH:mm:ss,SSSSSSSSSXXX", '2025-06-30T10:00:00,123456789+02:00', '2025-06-30T08:00:00.123456789'],
  ])('may have as many digits as %s', (format, text, moment) => {
    expect(dateReader([format])(text, 'UTC')).toBe('2025-06-30')
    expect(momentReader(format)(text)).toBe(moment)
  })

  test('of ten digits is invalid, and so is another length than declared', () => {
    expect(dateFormatProblem('yyyy-MM-dd HH:mm:ss.SSSSSSSSSS')).toMatch(/"SSSSSSSSSS" is not understood/)
    expect(dateReader(['yyyy-MM-dd HH:mm:ss.SSS'])('2025-06-30 10:00:00.1234', 'UTC')).toBeNull()
  })
})

describe('iso', () => {
  test.each([
    ...['2025-06-30', '20250630', '2025-W27-1', '2025W271', '2025-181', '2025181'],
    ...['2025-06-30T23', '2025-06-30T23:59', '20250630T235959', '2025-06-30T23:59:59.1', '2025-06-30 23:59:59'],
    ...['2025-06-30T23:59:59,123456789', '2025-06-30T20:00:00Z', '2025-06-30t20:00:00.0000000z'],
    ...['20250630T200000+02', '2025-06-30T20:00:00+0200', '2025-06-30T23:30+02:00[Europe/Berlin]'],
  ])('reads the day of %s in Berlin', (text) => {
    expect(dateReader(['iso'])(text, 'Europe/Berlin')).toBe('2025-06-30')
  })

  test.each([
    ...[
      '2025-6-30',
      '2025-02-29',
      '2025-W53-1',
      '2025-W00-1',
      '2025-366',
      '2025-000',
      '2025-06',
      '25-06-30',
      '2025-0630',
    ],
    ...['2025-06-30T24:30', '2025-06-30T23:60', '2025-06-30Z', '2025-06-30T23:59:59.', '30.06.2025', '2025-06-30T2:00'],
    ...['2025-06-30T20:00+19', '2205-06-30', ''],
  ])('does not read %s', (text) => {
    expect(dateReader(['iso'])(text, 'UTC')).toBeNull()
  })

  test('reads the instants of other time zones as the day there', () => {
    const days = ['Pacific/Midway', 'Pacific/Kiritimati'].map((zone) => dateReader(['iso'])('2025-06-30T10:30Z', zone))

    expect(days).toEqual(['2025-06-29', '2025-07-01'])
  })

  test('orders rows, to the nanosecond and across offsets', () => {
    const texts = ['2025-06-30T10:00:00.000000002+02:00', '2025-06-30T08:00:00.000000001Z', '2025-06-30', '2025W271T07']

    const ordered = texts.toSorted((a, b) => ((momentReader('iso')(a) ?? '') < (momentReader('iso')(b) ?? '') ? -1 : 1))

    expect(ordered).toEqual([texts[2], texts[3], texts[1], texts[0]])
  })

  test.each([['yyyy-dd-MM'], ['yyyyddMM'], ["yyyy-dd-MM'T'HH:mmXXX"]])('is refused beside %s', (other) => {
    for (const pair of [
      ['iso', other],
      [other, 'iso'],
    ])
      expect(dateOverlapProblem(pair)).toMatch(/can read the same text as different days/)
  })

  test.each([['dd.MM.yyyy'], ['yyyy-MM-dd'], ['yyyyMMdd'], ['yyyy-M-d'], ['MMddyyyy'], ['dd.MM.yy'], ['iso']])(
    'stands beside %s',
    (other) => {
      expect(dateFormatProblem('iso')).toBeNull()
      expect(dateOverlapProblem(['iso', other], { pivot: 2049 })).toBeNull()
    },
  )
})

describe('several formats', () => {
  test.each([
    [['MM/dd/yyyy', 'dd/MM/yyyy']],
    [['yyyy-MM-dd', 'dd.MM.yyyy', 'd.M.yyyy', 'M.d.yyyy']],
    [['dd.MM.yy', 'yy.MM.dd']],
    [['yyyyMMdd', 'yyyyddMM']],
    [['d MMM yy', 'yy MMM d']],
    [["yyyy-MM-dd'T'HH:mmXXX", "yyyy-dd-MM'T'HH:mmXXX"]],
  ])('%j are refused: a text could be read as two days', (pair) => {
    expect(dateOverlapProblem(pair, { pivot: 2049 })).toMatch(/can read the same text as different days/)
  })

  test.each([
    [['MM/dd/yyyy', 'M/d/yyyy', 'yyyy-MM-dd']],
    [['yyyy-MM-dd', "yyyy-MM-dd'T'HH:mm:ss", "yyyy-MM-dd'T'HH:mm:ssXXX"]],
    [['d MMM yyyy', 'd MMMM yyyy']],
    [['dd.MM.yyyy', 'dd.MM.yy', 'MM/dd/yyyy', 'yyyyMMdd']],
  ])('%j can be combined', (several) => {
    expect(dateOverlapProblem(several, { pivot: 2049 })).toBeNull()
  })

  test('that can be combined never read a text as two days', () => {
    const all = [...formats, 'MM/dd/yy', 'yyMMdd', 'ddMMyyyy', 'd MMM yyyy', 'M/d/yy']
    const dates = fc.date({ min: new Date('1950-01-01'), max: new Date('2049-12-31'), noInvalidDate: true })
    fc.assert(
      fc.property(fc.subarray(all, { minLength: 2, maxLength: 3 }), dates, (chosen, date) => {
        fc.pre(dateOverlapProblem(chosen, { pivot: 2049 }) === null)
        const texts = chosen.map((format) => write(date.toISOString().slice(0, 10), format))

        const days = texts.map((text) => chosen.map((format) => dateReader([format], { pivot: 2049 })(text, 'UTC')))

        for (const read of days) expect(new Set(read.filter((day) => day !== null)).size).toBe(1)
      }),
    )
  })
})

describe('a date format', () => {
  test.each(formats)('%s can be used', (format) => {
    expect(dateFormatProblem(format)).toBeNull()
  })

  test.each([
    ['MM/dd/yy', /four digits/],
    ['y-MM-dd', /four digits/],
    ['YYYY-MM-DD', /"YYYY" is not understood/],
    ['yyyy-MM-ddTHH:mm', /"T" is not understood/],
    ["yyyy-MM-dd'T", /quote is not closed/],
    ["yyyy-MM-dd'T'HH:mm'Z'", /write XXX/],
    ['yyyy-MM-dd mm', /minute needs the hour/],
    ['yyyy-MM-ddXXX', /offset needs the minute/],
    ['yyyy-MM-dd hh:mm', /go with a/],
    ['yyyy-MM-dd HH:mm a', /go with a/],
    ['yyyy-MM-dd HH:mm HH', /once at most/],
    ['dMMMyyyy', /sign beside them/],
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
  const named = { MMM: monthNames('short', 'en')[Number(month) - 1]?.[0] ?? '', yy: year.slice(2) }
  return format.replace(/yyyy|yy|MMM|MM|M|dd|d/g, (token) => ({ ...units, ...named })[token] ?? '')
}
