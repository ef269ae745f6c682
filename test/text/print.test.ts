import { PassThrough } from 'node:stream'
import { afterEach, expect, test, vi } from 'vitest'
import { jsonOutput } from '../../src/text/json-output.ts'
import { ask, paintFor, printable, standardOutput } from '../../src/text/print.ts'

const terminal = Object.assign(Object.create(process.stdout), { isTTY: true, getColorDepth: () => 24 })

afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

test('our colours reach a terminal, and colours in a text from outside do not', () => {
  // Tests are told not to colour.
  for (const name of ['NO_COLOR', 'NODE_DISABLE_COLORS']) vi.stubEnv(name, undefined)
  vi.stubEnv('FORCE_COLOR', '1')
  const paint = paintFor(terminal)

  const text = printable(`${paint('red', '✖')} ${paint('bold', 'see \u001b[31mred\u001b[39m')}`)

  expect(text).toBe('\u001b[31m✖\u001b[39m \u001b[1msee \\u001b[31mred\\u001b[39m\u001b[22m')
})

test.each([
  [80, 80],
  [0, null],
])('a terminal of %d columns is one of %s', (columns, expected) => {
  vi.spyOn(process, 'stdout', 'get').mockReturnValue(Object.assign(Object.create(terminal), { columns }))

  expect(standardOutput.columns).toBe(expected)
})

test('a large document that arrives in pieces is printed without hidden characters', async () => {
  const written: string[] = []
  const write = process.stdout.write
  process.stdout.write = ((piece: string, done: () => void) => {
    written.push(piece)
    done()
    return true
  }) as typeof write
  const bytes = Buffer.from('{"name":"Zoë \u{e0041}\u009b"}')

  const output = jsonOutput()
  for (const byte of bytes) output.write(Buffer.of(byte))
  await new Promise<void>((resolve) => output.end(resolve))
  process.stdout.write = write

  expect(written.join('')).toBe('{"name":"Zoë \\udb40\\udc41\\u009b"}')
})

test('Ctrl-C at a question stops the command as the signal does', async () => {
  const [typed, shown] = [new PassThrough(), new PassThrough()]
  vi.spyOn(process, 'stdin', 'get').mockReturnValue(Object.assign(typed, { isTTY: true }) as never)
  vi.spyOn(process, 'stderr', 'get').mockReturnValue(Object.assign(shown, { isTTY: true }) as never)
  const stop = new AbortController()
  const reason = new Error('stopped by SIGINT')
  // In place of the signal and of the command that listens for it.
  vi.spyOn(process, 'kill').mockImplementation((_id, signal) => {
    if (signal === 'SIGINT') stop.abort(reason)
    return true
  })

  const answer = ask('Go on? ', stop.signal)
  typed.write('\u0003')

  await expect(answer).rejects.toMatchObject({ cause: reason })
})
