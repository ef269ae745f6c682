import { expect, test } from 'vitest'
import type { Arrival } from '../../../src/cli/demo/arrival.ts'
import { troubleOf } from '../../../src/cli/demo/report.ts'
import type { SecondAct } from '../../../src/cli/demo/second-act.ts'

const arrived: Arrival = { arrived: 256, missing: [], story: [] }
const cutRun = (state: string) => ({ held: { state } }) as unknown as SecondAct

test.each([
  { arrival: arrived, cut: cutRun('held'), trouble: null },
  {
    arrival: { ...arrived, missing: ['W1', 'W2'] },
    cut: cutRun('held'),
    trouble: 'the platform differs from HR for W1, W2',
  },
  { arrival: arrived, cut: cutRun('finished'), trouble: 'the export that was cut short was not held' },
])('the demo went well only if all arrived and the cut export was held: $trouble', ({ trouble, ...shown }) => {
  expect(troubleOf(shown)).toBe(trouble)
})
