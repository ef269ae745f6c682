import { expect, test } from 'vitest'
import { deliveryBadge } from '../../src/console/pages/person.ts'
import type { Person } from '../../src/contract/control/shapes.ts'

const delivered = { due: [], confirmed: {}, retracted: null, heldBack: null } as unknown as Person

test.each<[string, Partial<Person>]>([
  ['Delivered', {}],
  ['To be delivered', { due: ['jobTitle'] }],
  ['Not on the platform yet', { confirmed: null }],
  ['Retracted', { retracted: { reason: 'a test', at: '2026-11-20T03:00:00.000Z' } }],
  [
    'Departure held back',
    { heldBack: { leaving: { separatedAt: '2026-11-20', inferred: false } } as Person['heldBack'] },
  ],
])('a person is called "%s", and nobody in step, with %o', (name, differing) => {
  expect(String(deliveryBadge({ ...delivered, ...differing }))).toContain(`>${name}<`)
})
