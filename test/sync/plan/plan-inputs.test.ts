import { expect, test } from 'vitest'
import { planContext } from '../../../src/sync/plan/plan-inputs.ts'
import { webhookFeed } from '../../helpers/events.ts'

test.each([
  ['of yesterday', '2026-11-19T23:00:00.000Z', '2026-11-19'],
  ['of a clock that was ahead', '2036-01-01T00:00:00.000Z', '2026-11-20'],
])('a departure without a day in facts %s is dated no later than today', (_, asOf, exportDate) => {
  const now = new Date('2026-11-20T03:00:00.000Z')

  expect(planContext({ mode: 'delta', asOf }, webhookFeed(), now)).toMatchObject({ asOf, exportDate })
})
