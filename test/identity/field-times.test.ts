import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isBefore } from '../../src/identity/field-times.ts'

/** An instant in one of the forms in which it may be written. */
const instants = fc
  .tuple(
    fc.date({ min: new Date(-1e12), max: new Date('9999-12-31T00:00:00Z'), noInvalidDate: true }),
    fc.nat({ max: 3 }),
  )
  .map(([date, form]) => {
    const instant = Temporal.Instant.fromEpochMilliseconds(date.getTime())
    if (form === 0) return instant.toString()
    if (form === 1) return instant.toString({ timeZone: 'Asia/Kolkata' })
    return date.toISOString()
  })

test('times are compared as instants, however they are written', () => {
  fc.assert(
    fc.property(instants, instants, (a, b) => {
      expect(isBefore(a, b)).toBe(Temporal.Instant.compare(a, b) < 0)
    }),
    {
      examples: [
        ['2026-11-20T01:00:00.000Z', '2026-11-20T02:00:00.000+05:30'],
        ['2026-11-20T01:00:00Z', '2026-11-20T01:00:00.000Z'],
      ],
    },
  )
})
