import { expect, test } from 'vitest'
import { deliveryBadge } from '../../src/console/pages/person.ts'
import { personButtons } from '../../src/console/pages/person-actions.ts'
import type { PageContext } from '../../src/console/site/site.ts'
import { statementNote } from '../../src/contract/control/person-texts.ts'
import type { Person } from '../../src/contract/control/shapes.ts'

const delivered = { due: [], confirmed: {}, retracted: null, heldBack: null } as unknown as Person

const stated = {
  ...{ leavingDate: '2026-11-20', reason: 'dismissed', by: 'ana', at: '2026-11-20T03:00:00.000Z', applies: true },
  ...{ isEmergency: false, approvedBy: null, leavingDateOfHr: null, isExpired: false },
  ...{ isAccepted: true, isInferredByHr: false, isLearned: false, proposal: null },
}

test.each<[string, Partial<Person>]>([
  ['Delivered', {}],
  ['Delivered', { statedDeparture: { ...stated, applies: false, isAccepted: false } }],
  ['Delivered', { statedDeparture: { ...stated, isInferredByHr: true } }],
  ['Stated by an operator, not yet by HR', { statedDeparture: stated }],
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

test.each([
  ['stated by ana, not yet by HR', {}],
  ['stated by ana, not sent yet, not yet by HR', { isAccepted: false }],
  ['stated by ana, waiting for a second person, not yet by HR', { applies: false }],
  ['stated by ana, who has to state it again, or another person, not yet by HR', { applies: false, isExpired: true }],
  ['stated by ana, by HR on 2026-12-31', { leavingDateOfHr: '2026-12-31' }],
  ['stated by ana, by HR without a day', { isInferredByHr: true }],
])('a note says "%s"', (note, differing) => {
  expect(statementNote({ ...stated, ...differing })).toBe(`leaves on 2026-11-20, ${note}: dismissed`)
})

test('the departure of a person in notice can be stated, and not that of a leaver', () => {
  const context = { now: new Date('2026-11-20T03:00:00.000Z'), notAllowed: () => null } as unknown as PageContext
  const buttons = (separatedAt: string) =>
    String(personButtons({ ...delivered, statedDeparture: null, desired: { separatedAt } } as Person, context))

  expect(buttons('2026-12-31T00:00:00.000Z')).toContain('State departure')
  expect(buttons('2026-11-19T00:00:00.000Z')).not.toContain('State departure')
})
