import { expect, test } from 'vitest'
import { withOutages } from '../../src/daemon/outages.ts'
import { type Event, silentEvents } from '../../src/telemetry/events.ts'

test('an unreachable store is reported once a minute, with advice and the number of errors', () => {
  const reported: Event[] = []
  let nowMs = 0
  const events = withOutages(
    silentEvents((event) => reported.push(event)),
    () => nowMs,
  )
  const away = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })

  for (; nowMs < 90_000; nowMs += 1000) events.unexpected({ during: 'event-runs', error: away })
  const bug = new TypeError('x is undefined')
  events.unexpected({ during: 'sweep', error: bug })

  const reason = 'the database does not answer: check that it runs and can be reached (ECONNREFUSED)'
  expect(reported).toEqual([
    { event: 'store.unreachable', during: 'event-runs', reason, times: 1 },
    { event: 'store.unreachable', during: 'event-runs', reason, times: 60 },
    { event: 'unexpected', during: 'sweep', error: bug },
  ])
})
