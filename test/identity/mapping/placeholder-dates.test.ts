import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isPlaceholderDate, placeholdersIn } from '../../../src/identity/mapping/placeholder-dates.ts'

describe('a placeholder', () => {
  test.each([
    ...['0000-00-00', '00.00.0000', '00/00/0000', '00000000', '00.00.00', '000000', '0000-00-00 00:00:00'],
    ...['9999-12-31', '31.12.9999', '12/31/9999', '99991231', '31129999', '9999-99-99', '99999999', '99.99.9999'],
    ...['2999-12-31', '12/31/2999', '31.12.2099', '2100-01-01', '2154-12-31', '2079-06-06', '4712-12-31'],
    ...['1900-01-01', '1/1/1900', '01.01.1900', '19000101', '01011900', '1/0/1900', '00.01.1900'],
    ...['1899-12-30', '12/30/1899 12:00:00 AM', '1753-01-01', '1/1/1753', '0001-01-01', '01/01/0001', '1700-01-01'],
    ...['1970-01-01', '12/31/1969 19:00', '1601-01-01', '1800-01-01', '11/11/1111'],
    ...['9999-12-31T23:59:59.9999999', '0001-01-01T00:00:00+00:00', '1900-01-01T00:00:00Z', '31.12.9999 00:00'],
    ...[
      '31-DEC-4712',
      '1/1/1970, 12:00:00 AM',
      'Dec 31, 9999',
      '31. Dezember 9999',
      '01-Jan-1900',
      '1. Januar 1900',
      ' 9999-12-31 ',
    ],
  ])('is recognised in %s', (text) => {
    expect(isPlaceholderDate(text)).toBe(true)
  })

  test.each([
    ...[
      '',
      '2020-02-29',
      '31.12.2025',
      '12/31/1999',
      '31.12.99',
      '01/01/00',
      '9/9/99',
      '2205-12-31',
      '2099-12-30',
      '1900-01-02',
    ],
    ...['2999-05-03', '20201231', '31122020', '01.01.2000', '2001-01-01', '1970-02-01', '43831', '0', '9', '1900'],
    ...['none', 'Max Muster', 'May 9999', '9999', '1900-01-01 Muster', 'Muster 31.12.9999', '(030) 0000-0000'],
    ...['9999-12-31-1', '31.12.9999.9999', '1900/13/45', '+49 30 9999'],
  ])('is not found in "%s"', (text) => {
    expect(isPlaceholderDate(text)).toBe(false)
  })

  test('is not found in any day of a working life except the Unix epoch', () => {
    const days = fc.date({ min: new Date('1970-01-02'), max: new Date('2079-06-05'), noInvalidDate: true })
    fc.assert(
      fc.property(days, (date) => {
        const [year = '', month = '', day = ''] = date.toISOString().slice(0, 10).split('-')
        const written = [
          `${year}-${month}-${day}`,
          `${day}.${month}.${year}`,
          `${Number(month)}/${Number(day)}/${year}`,
        ]

        const placeholders = placeholdersIn([...written, written.map((text) => text.replaceAll(/\D/g, ''))].flat())

        expect(placeholders).toEqual([])
      }),
    )
  })

  test('is listed once, as written', () => {
    expect(placeholdersIn(['31.12.9999', '01.03.2020', ' 31.12.9999', '', '00.00.0000'])).toEqual([
      '31.12.9999',
      '00.00.0000',
    ])
  })
})
