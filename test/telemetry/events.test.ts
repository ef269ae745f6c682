import { expect, test } from 'vitest'
import { createEvents, type Event, silentEvents } from '../../src/telemetry/events.ts'

test('an event is one log line with its name, level and fields', () => {
  const lines: unknown[] = []
  const log = { error: keep('error'), warn: keep('warn'), info: keep('info'), debug: keep('debug') }
  function keep(level: string) {
    return (fields: object, message: string): void => {
      lines.push({ level, fields, message })
    }
  }
  const events = createEvents(log)

  events.runHeld({ runId: 'r1', connection: 'acme', reason: '9 of 40 people would be separated; the limit is 5' })

  expect(lines).toEqual([
    {
      level: 'warn',
      fields: {
        event: 'run.held',
        runId: 'r1',
        connection: 'acme',
        reason: '9 of 40 people would be separated; the limit is 5',
      },
      message: 'run held for an operator',
    },
  ])
})

test('a listener hears of every event with its fields', () => {
  const received: Event[] = []
  const events = silentEvents((event) => received.push(event))

  events.sweepEnqueued({ jobs: 3 })
  events.connectionRecovered({ connection: 'acme' })

  expect(received).toEqual([
    { event: 'sweep.enqueued', jobs: 3 },
    { event: 'connection.recovered', connection: 'acme' },
  ])
})
