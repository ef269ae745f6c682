import { expect, test } from 'vitest'
import { RunState, restingStates } from '../../src/contract/control-shapes.ts'
import { moves, settledStates } from '../../src/store/runs.ts'

test('the control API knows every state of a run', () => {
  const states = [...RunState.options]

  expect(states.sort()).toEqual(Object.keys(moves).sort())
})

test('a run rests where it has ended or waits for a person', () => {
  const resting = [...restingStates]

  expect(resting.sort()).toEqual([...settledStates, 'held'].sort())
})
