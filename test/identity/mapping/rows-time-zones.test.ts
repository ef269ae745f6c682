import { describe, expect, test } from 'vitest'
import { mapRow } from '../../helpers/map-row.ts'

describe('a row with a time zone', () => {
  const format = ["yyyy-MM-dd'T'HH:mmXXX", 'yyyy-MM-dd']
  const mapping = {
    fields: { identityId: 'id', separatedAt: { column: 'end', format } },
    rowTimeZone: { column: 'zone', optional: true },
  }
  const end = '2025-06-30T10:30Z'

  test.each([
    ['Pacific/Midway', '2025-06-29', { timeZone: 'Pacific/Midway' }],
    ['Pacific/Kiritimati', '2025-07-01', { timeZone: 'Pacific/Kiritimati' }],
    ['', '2025-06-30', {}],
  ])('"%s" has its instants on the day %s', (zone, leavingDate, named) => {
    const mapped = mapRow(mapping, { id: '1', end, zone }, { timeZone: 'Europe/Berlin' })

    expect(mapped).toEqual({
      identityId: '1',
      fields: {},
      leavingDate,
      statesDeparture: false,
      statesEmployed: false,
      isUncertain: false,
      hasEmploymentCell: true,
      origin: { file: 'people.csv', line: 41 },
      ...named,
    })
  })

  test.each(['+01:00', 'Berlin', 'Europe/Rosalind', 'Z', '2020-01-01T00:00[Europe/Berlin]', 'x'.repeat(10_000)])(
    'that does not exist has that of the source: %s',
    (zone) => {
      const mapped = mapRow(mapping, { id: '1', end, zone }, { timeZone: 'Pacific/Kiritimati' })

      const reason = 'the cell does not hold a time zone such as Europe/Berlin'
      expect(mapped).toMatchObject({
        leavingDate: '2025-07-01',
        badCells: [{ column: 'zone', reason, cellOnly: true }],
      })
    },
  )

  test('uses that of the source if there is no such column', () => {
    const mapped = mapRow(mapping, { id: '1', end }, { timeZone: 'Pacific/Kiritimati' })

    expect(mapped).toMatchObject({ leavingDate: '2025-07-01' })
    expect(mapped).not.toHaveProperty('timeZone')
  })

  test('quotes an invalid time, because it looks like one', () => {
    const mapped = mapRow(mapping, { id: '1', end: '2025-02-30T10:30Z' })

    expect(mapped).toHaveProperty(
      'badCells.0.reason',
      `"2025-02-30T10:30Z" is not a date (${format.join(' or ')}): there is no such day or time; have it corrected in the source`,
    )
  })
})
