import { describe, expect, test } from 'vitest'
import { dateEvidence } from '../../../src/daemon/proposal/dates.ts'

const usual = { format: 'yyyy-MM-dd' }

describe('the format of dates', () => {
  test.each([
    ['0000-00-00', '2026-10-31', 'yyyy-MM-dd'],
    ['31.12.9999', '31.10.2026', 'dd.MM.yyyy'],
    ['12/31/9999', '10/31/2026', 'MM/dd/yyyy'],
    ['1900-01-01', '31.10.2026', 'dd.MM.yyyy'],
    ['1/1/1900 12:00:00 AM', '10/31/2026 5:00:00 PM', 'M/d/yyyy h:mm:ss a'],
  ])('is that of the only real date among placeholders %s', (placeholder, date, format) => {
    const cells = [...Array.from({ length: 40 }, () => placeholder), date]

    expect(dateEvidence(cells, usual)).toEqual({ kind: 'one', form: { format }, unread: 0 })
  })

  test('is not derived from placeholders alone, although some of them are valid dates', () => {
    expect(dateEvidence(['1900-01-01', '1900-01-01', '2099-12-31', '00.00.0000'], usual)).toEqual({ kind: 'none' })
  })

  test('is derived from counts of cells, not of different texts', () => {
    const days = Array.from({ length: 30 }, (_, index) => `2026-10-${String(index + 1).padStart(2, '0')}`)
    const open = ['open', 'open', 'open']
    const manyOpen = Array.from({ length: 30 }, () => 'open')

    expect(dateEvidence([...days, ...open], usual)).toEqual({ kind: 'one', form: usual, unread: 3 })
    expect(dateEvidence([...days, ...manyOpen], usual)).toEqual({ kind: 'unknown' })
  })

  test.each([
    ['2026-10-31T08:00:00.1234567', '2026-10-30T08:00:00.12'],
    ['2026-10-31T08:00:00.123456+02:00', '2026-10-30T08:00:00Z'],
    ['2026-10-31 08:00:00.0000000', '2026-10-30'],
    ['2026-W44-6', '2026-W44-5'],
  ])('is iso if only ISO 8601 reads all cells: %s, %s', (...cells) => {
    expect(dateEvidence(cells, usual)).toEqual({ kind: 'one', form: { format: 'iso' }, unread: 0 })
  })

  test('is a single format if it reads all cells', () => {
    expect(dateEvidence(['2026-10-31', '2026-10-30'], usual)).toMatchObject({ form: { format: 'yyyy-MM-dd' } })
    expect(dateEvidence(['2026-10-31T08:00:00', '2026-10-30T08:00:00'], usual)).toMatchObject({
      form: { format: "yyyy-MM-dd'T'HH:mm:ss" },
    })
  })
})
