import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { createEvents } from '../../src/telemetry/events.ts'
import { createLogger, type LogLevel } from '../../src/telemetry/log.ts'

function loggerTo({ level = 'debug', pretty = false }: { level?: LogLevel; pretty?: boolean } = {}) {
  const destination = new PassThrough({ encoding: 'utf8' })
  const log = createLogger({ level, destination, pretty })
  return { log, written: (): string => destination.read() ?? '' }
}

test('every line is one JSON document with time, level, message and fields', () => {
  const { log, written } = loggerTo()

  createEvents(log).connectionRecovered({ connection: 'acme' })

  expect(JSON.parse(written())).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    event: 'connection.recovered',
    connection: 'acme',
    msg: 'connection works again',
  })
})

test('messages below the level are not written', () => {
  const { log, written } = loggerTo({ level: 'warn' })

  createEvents(log).connectionRecovered({ connection: 'acme' })

  expect(written()).toBe('')
})

test.each(['apiKey', 'authorization', 'password', 'secret', 'token'])(
  'a field named %s is blanked at two depths',
  (name) => {
    const { log, written } = loggerTo()

    log.info({ [name]: 'hunter2', headers: { [name]: 'hunter2' } }, 'a slip')

    expect(written()).not.toContain('hunter2')
  },
)

test('an unexpected error is written with its kind, stack and causes', () => {
  const { log, written } = loggerTo()
  const error = new TypeError('this is not a function', { cause: new RangeError('too far') })

  createEvents(log).unexpected({ during: 'a test', error })

  expect(JSON.parse(written())).toMatchObject({
    level: 'error',
    during: 'a test',
    error: {
      type: 'TypeError',
      message: 'this is not a function',
      stack: expect.stringContaining('log.test.ts'),
      cause: { type: 'RangeError', message: 'too far' },
    },
  })
})

test('errors that quote the data they failed on are written without it', () => {
  const { log, written } = loggerTo()
  const ofDatabase = Object.assign(new Error('invalid input syntax for type date: "Ana Ruiz"'), {
    code: '22007',
    detail: 'Key (email)=(Ana Ruiz) already exists.',
    parameters: ['Ana Ruiz'],
  })
  const ofJson = new SyntaxError('Unexpected token \'A\', "Ana Ruiz" is not valid JSON')

  createEvents(log).unexpected({ during: 'a test', error: ofDatabase })
  createEvents(log).unexpected({ during: 'a test', error: ofJson })

  const text = written()
  expect(text).not.toContain('Ana Ruiz')
  expect(text).toContain('"code":"22007"')
  expect(text).toContain('"type":"SyntaxError"')
})

test('a circular chain of causes is written once', () => {
  const { log, written } = loggerTo()
  const error = new Error('the snake')
  error.cause = error

  createEvents(log).unexpected({ during: 'a test', error })

  expect(written()).toContain('the snake')
})

test('on a terminal a line shows time, level, message and fields', () => {
  const { log, written } = loggerTo({ pretty: true })

  createEvents(log).runHeld({ runId: 'r1', connection: 'acme', reason: 'too many leavers' })

  expect(stripVTControlCharacters(written())).toMatch(
    /^\d\d:\d\d:\d\d warn {2}run held for an operator runId=r1 connection=acme reason="too many leavers"\n$/,
  )
})
