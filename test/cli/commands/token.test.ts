import { describe, expect, test } from 'vitest'
import { expiryOf } from '../../../src/cli/commands/token.ts'

const now = new Date('2026-11-20T10:00:00.000Z')

describe('when a token expires', () => {
  test.each([
    ['90d', '2027-02-18T10:00:00.000Z'],
    ['12h', '2026-11-20T22:00:00.000Z'],
    ['2027-01-31', '2027-01-31T00:00:00.000Z'],
    ['2027-01-31T12:00Z', '2027-01-31T12:00:00.000Z'],
  ])('is understood as %s', (text, at) => {
    expect(expiryOf(text, now)).toBe(at)
  })

  test.each(['', 'soon', '90', '1y', '-1d', '2027-02-31', '31.01.2027', '2027-01-31T12:00'])(
    'is not guessed from "%s"',
    (text) => {
      expect(() => expiryOf(text, now)).toThrow('is none of 90d, 12h, 2027-01-31 and 2027-01-31T12:00Z')
    },
  )
})
