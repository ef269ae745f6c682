import { expect, test } from 'vitest'
import { strictFaults } from '../../../src/cli/commands/sync.ts'
import type { ConnectionStatus } from '../../../src/contract/control/shapes.ts'

test('with --strict, an event that could not be understood is no success: it may be a departure', () => {
  const nobody = { people: 0, leavers: 0 }
  const served = {
    name: 'acme',
    blocked: null,
    problems: { refused: nobody, undelivered: nobody },
    blockedPeople: { people: 0, leavers: 0, rows: 0 },
    foreign: { people: 0, separated: 0 },
    inDoubt: null,
    inbox: { pending: 3, held: 1, rejected: 0 },
  } as unknown as ConnectionStatus

  const rejecting = { ...served, inbox: { pending: 0, held: 0, rejected: 1 } }

  expect(strictFaults(served)).toEqual([])
  expect(strictFaults(rejecting)).toEqual(['1 event of acme could not be read: rollcall problems'])
})
