import { expect, test } from 'vitest'
import { decide } from '../../../src/identity/decide/decide.ts'
import { explain } from '../../../src/identity/decide/explain.ts'
import { entry, nightly, observation } from '../../helpers/records.ts'

test('a leaving that an operator holds back is the reason why nothing is sent of it', () => {
  const known = entry('ana', { heldBackUntil: '2026-12-15' })
  const seen = observation('ana', { leavingDate: '2026-11-19', statesDeparture: true })
  const { entry: side, change } = decide(known, seen, nightly())

  const said = explain({ entry: known, input: seen, desiredState: side, change }, nightly())

  expect(change).toBeNull()
  expect(said).toEqual([
    'the row states the leaving date 2026-11-19, which has come',
    'the row says that the person has left',
    'an operator holds the leaving of 2026-11-19 back until 2026-12-15',
    'the platform has acknowledged all of this already: there is nothing to send',
  ])
})
