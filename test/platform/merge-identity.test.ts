import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type IdentityValues, mergeIdentity, noValues, sameIdentity } from '../../src/platform/merge-identity.ts'

const text = fc.option(fc.constantFrom('a', 'b', 'c'))
const date = fc.option(fc.constantFrom('2026-01-31T00:00:00.000Z', '2026-02-28T00:00:00.000Z'))
const values: fc.Arbitrary<IdentityValues> = fc.record({
  email: text,
  secondaryEmail: text,
  firstName: text,
  lastName: text,
  jobTitle: text,
  managerId: text,
  managerName: text,
  startedAt: date,
  separatedAt: date,
  isContractor: fc.option(fc.boolean()),
})
const submitted: fc.Arbitrary<Partial<IdentityValues>> = values.chain((all) =>
  fc
    .subarray(Object.keys(noValues))
    .map((fields) => Object.fromEntries(Object.entries(all).filter(([field]) => fields.includes(field)))),
)

test('every field but the leaving date becomes what was sent, or stays where nothing was', () => {
  fc.assert(
    fc.property(values, submitted, (stored, sent) => {
      const { separatedAt: _merged, ...merged } = mergeIdentity(stored, sent)
      const { separatedAt: _expected, ...expected } = { ...stored, ...sent }

      expect(merged).toEqual(expected)
    }),
  )
})

test('a stored leaving date never becomes another date in one step', () => {
  fc.assert(
    fc.property(values, submitted, (stored, sent) => {
      const { separatedAt } = mergeIdentity(stored, sent)

      expect([null, stored.separatedAt ?? separatedAt]).toContain(separatedAt)
    }),
  )
})

test('sending the same again changes nothing', () => {
  fc.assert(
    fc.property(values, submitted, (stored, sent) => {
      const once = mergeIdentity(stored, sent)

      expect(sameIdentity(once, mergeIdentity(once, sent))).toBe(true)
    }),
  )
})

test('records that differ in any one field are not the same', () => {
  for (const field of Object.keys(noValues)) {
    expect(sameIdentity(noValues, { ...noValues, [field]: 'x' })).toBe(false)
  }
})
