import { expect, test } from 'vitest'
import { endedOrHeldStates } from '../../../src/contract/control/shapes.ts'
import { endStates } from '../../../src/store/runs/runs.ts'

test('a run rests where it has ended or waits for a person', () => {
  const resting = [...endedOrHeldStates]

  expect(resting.sort()).toEqual([...endStates, 'held'].sort())
})
