import { describe, expect, test } from 'vitest'
import { createConnectionReport, isConnectionError } from '../../src/queue/connection-errors.ts'
import { type Event, silentEvents } from '../../src/telemetry/events.ts'

function coded(message: string, code: string): Error {
  return Object.assign(new Error(message), { code })
}

describe('an error of a connection', () => {
  test.each([
    coded('connect ECONNREFUSED 127.0.0.1:6379', 'ECONNREFUSED'),
    coded('getaddrinfo ENOTFOUND queue.example', 'ENOTFOUND'),
    coded('terminating connection due to administrator command', '57P01'),
    coded('the database system is starting up', '57P03'),
    coded('connection failure', '08006'),
    coded('sorry, too many clients already', '53300'),
    new Error('Connection is closed.'),
    new Error('Connection terminated unexpectedly'),
    new Error('Cannot use a pool after calling end on the pool'),
    new Error('Command timed out'),
  ])('%s', (error) => {
    expect(isConnectionError(error)).toBe(true)
  })
})

describe('no error of a connection', () => {
  test.each([
    coded('relation "job" does not exist', '42P01'),
    new Error('Custom Id cannot contain :'),
    new TypeError('this is not a function'),
    'ECONNREFUSED',
  ])('%s', (error) => {
    expect(isConnectionError(error)).toBe(false)
  })
})

test('an outage is reported once when it begins and once when it ends', () => {
  const events: Event[] = []
  const location = 'Redis at localhost:6379'
  const report = createConnectionReport(
    location,
    silentEvents((event) => events.push(event)),
  )

  report.connected()
  report.failed(coded('connect ECONNREFUSED', 'ECONNREFUSED'))
  report.failed(coded('connect ECONNREFUSED', 'ECONNREFUSED'))
  report.connected()
  report.connected()

  expect(events).toEqual([
    { event: 'queue.unreachable', place: location, code: 'ECONNREFUSED' },
    { event: 'queue.reachable', place: location },
  ])
})

test('a lost job and a bug are reported differently from an outage', () => {
  const events: string[] = []
  const report = createConnectionReport(
    'Redis at localhost:6379',
    silentEvents(({ event }) => events.push(event)),
  )

  report.failed(new Error('Missing lock for job upsert-1. moveToFinished'))
  report.failed(new TypeError('this is not a function'))

  expect(events).toEqual(['queue.lost_job', 'unexpected'])
})
