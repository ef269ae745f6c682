import { expect, test } from 'vitest'
import { Run, RunState, restingStates } from '../../../src/contract/control/shapes.ts'
import { feedNames, moves, endStates, triggers } from '../../../src/store/runs/runs.ts'

test('the control API knows every state of a run', () => {
  const states = [...RunState.options]

  expect(states.sort()).toEqual(Object.keys(moves).sort())
})

test('the control API knows whatever makes a run happen, and whatever a run reads', () => {
  const { trigger, feed } = Run.shape

  expect([trigger.options, feed.options]).toEqual([triggers, feedNames])
})

test('a run rests where it has ended or waits for a person', () => {
  const resting = [...restingStates]

  expect(resting.sort()).toEqual([...endStates, 'held'].sort())
})
