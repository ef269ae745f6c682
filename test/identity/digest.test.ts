import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Change } from '../../src/identity/change.ts'
import { decide, retractChange } from '../../src/identity/decide/decide.ts'
import { compareKeys, planDigest, planHasher } from '../../src/identity/digest.ts'
import { entry, nightly, observation } from '../helpers/records.ts'

describe('the digest of a plan', () => {
  const leave = changeOf('ana', { statesDeparture: true })
  const update = changeOf('bo', { fields: { jobTitle: 'Director' } })

  test('is the same for the same changes, streamed or not', () => {
    const hasher = planHasher()

    for (const change of [leave, update]) hasher.add(change)

    expect(hasher.digest()).toBe(planDigest([leave, update]))
    expect(planDigest([])).toMatch(/^sha256:[0-9a-f]{64}$/)
  })

  test('does not depend on earlier attempts', () => {
    expect(planDigest([{ ...leave, carried: true }])).toBe(planDigest([leave]))
  })

  test.each<[string, Change[]]>([
    ['a change less', [leave]],
    ['another person', [leave, changeOf('cy', { fields: { jobTitle: 'Director' } })]],
    ['another value', [leave, changeOf('bo', { fields: { jobTitle: 'Intern' } })]],
    ['another kind', [leave, retractChange(entry('bo'), 'trial row')]],
  ])('differs with %s', (_, changes) => {
    expect(planDigest(changes)).not.toBe(planDigest([leave, update]))
  })

  test('differs with a date that is inferred instead of stated', () => {
    const stated = changeOf('ana', { leavingDate: '2026-11-20' })

    expect(planDigest([leave])).not.toBe(planDigest([stated]))
  })

  test('differs with the reason of a retraction', () => {
    const [one, other] = ['trial row', 'double'].map((reason) => planDigest([retractChange(entry('ana'), reason)]))

    expect(one).not.toBe(other)
  })

  test.each<[string, Change[]]>([
    ['out of order', [update, leave]],
    ['named twice', [leave, leave]],
  ])('refuses people %s', (_, changes) => {
    expect(() => planDigest(changes)).toThrow(/keys of the plan are out of order, or one is repeated/)
  })
})

test('keys are ordered by their UTF-8 bytes', () => {
  const codePoint = fc.oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
  const key = fc.array(codePoint, { maxLength: 6 }).map((points) => String.fromCodePoint(...points))
  fc.assert(
    fc.property(key, key, (a, b) => {
      const bytes = Buffer.compare(Buffer.from(a, 'utf8'), Buffer.from(b, 'utf8'))

      expect(Math.sign(compareKeys(a, b))).toBe(bytes)
    }),
    { numRuns: 2000 },
  )
})

function changeOf(identityId: string, overrides: Parameters<typeof observation>[1]): Change {
  const { change } = decide(entry(identityId), observation(identityId, overrides), nightly())
  if (change === null) throw new Error('the row makes no change')
  return change
}
