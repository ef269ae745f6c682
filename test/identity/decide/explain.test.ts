import { expect, test } from 'vitest'
import { decide } from '../../../src/identity/decide/decide.ts'
import { explain } from '../../../src/identity/decide/explain.ts'
import { entry, nightly, observation } from '../../helpers/records.ts'

test('a departure that an operator holds back is given as the reason why nothing is sent', () => {
  const known = entry('ana', { heldBackUntil: '2026-12-15' })
  const input = observation('ana', { leavingDate: '2026-11-19', statesDeparture: true })
  const { entry: side, change } = decide(known, input, nightly())

  const sentences = explain({ entry: known, input: input, desiredState: side, change }, nightly())

  expect(change).toBeNull()
  expect(sentences).toEqual([
    'the row states the leaving date 2026-11-19, which has come',
    'the row says that the person has left',
    'an operator holds the leaving of 2026-11-19 back until 2026-12-15',
    'the platform has acknowledged all of this already: there is nothing to send',
  ])
})
