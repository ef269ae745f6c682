import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call } from '../helpers/called.ts'
import { type Ended, rollcall } from '../helpers/cli.ts'
import { faults } from '../helpers/faults/faults.ts'
import { pass, startFaultProxy } from '../helpers/faults/proxy.ts'
import { forged, nasty, unseen } from '../helpers/nasty.ts'
import { serve } from '../helpers/served.ts'
import { openWorkplace, type Workplace } from '../helpers/workplace.ts'
import { type Host, startHost } from '../helpers/world.ts'
import { serveRaw } from '../http/raw-server.ts'

/** What others write: everything nasty in one text. A cell of CSV holds it in quotes. */
const text = Object.values(nasty).join(' ')
const inOneLine = text.replaceAll('\n', ' ')

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

test('names of files, headers, keys, cells and messages of the platform reach no terminal, pipe or document raw', async () => {
  const { key } = await host.tenant()
  await using proxy = await startFaultProxy({
    target: host.platform.baseUrl,
    decide: ({ operation }) => (operation === 'upsertHrisUserIdentities' ? refusing : pass),
  })
  await using work = await openWorkplace(
    {
      baseUrl: proxy.baseUrl,
      key,
      path: 'exports/*',
      source:
        'fields: { identityId: Worker ID, firstName: First Name, jobTitle: Job Title, startedAt: Start Date }, ' +
        'status: { column: Status, leftWhen: [Left], employedWhen: [Active] }',
    },
    { hasStore: true },
  )
  // A name of a file holds up to 255 bytes.
  const name = `${nasty['a line of its own']}${nasty['controls of direction']}${nasty['an escape of a terminal']}\u009b\u{e0041}.csv`
  await work.drop(
    name,
    [
      `Worker ID,First Name,Job Title,Start Date,Status,"${text}"`,
      `1,Ana,"${inOneLine}",2020-01-01,Active,x`,
      `2,"${text}",Lead,"${text}",Active,x`,
      `"${text}",Ben,Lead,2020-01-01,Active,x`,
      `begin\u0600end,Eve,Lead,2020-01-01,Active,x`,
      '',
    ].join('\n'),
  )
  await using _daemon = await serve(work)

  const { document: run } = await work.json<{ id: string; source: { name: string } }>('sync')
  const ended: Ended[] = []
  for (const args of [['check'], ['plan'], ['run', run.id, '--show-values'], ['problems'], ['status']])
    ended.push(await work.run(...args))
  ended.push(await work.run('sync', '--connection', text), await work.run('person', text))
  for (const args of [['run', run.id], ['problems'], ['person', '1']]) ended.push(await work.run(...args, '--json'))

  expect(run.source.name).toBe(name)
  expect(movedBy(...ended)).toEqual([])
  const all = ended.map(({ stdout, stderr }) => stdout + stderr).join('')
  for (const expected of [
    // The name of the file, the message of the platform, the key, and the header or a cell.
    '\\u000a✔ everything was delivered',
    'refused: begin\\u001b]0;title',
    'begin\\u0600end',
  ])
    expect(all).toContain(expected)
})

describe('output before anything runs', () => {
  type RunCommand = (args: readonly string[], options?: { database?: string; queue?: string }) => Promise<Ended>
  let work: Workplace
  beforeAll(async () => {
    work = await openWorkplace({ baseUrl: host.platform.baseUrl, key: 'x' }, { hasStore: true })
  })
  afterAll(() => work[Symbol.asyncDispose]())

  test.each<[string, (runCommand: RunCommand) => Promise<Ended>, string]>([
    [
      'the path of a configuration',
      () => call(['status', '--config', join('/nowhere', inOneLine)]),
      'cannot read /nowhere/begin\\u001b]0;title',
    ],
    [
      'an error of PostgreSQL',
      async (runCommand) => {
        await using server = await serveRaw((socket) => socket.end(postgresError(text)))
        return await runCommand(['status'], { database: `postgres://rollcall@${server.host}/rollcall?sslmode=disable` })
      },
      'end begin\\u000a✔ everything was delivered',
    ],
    [
      'an error of Redis',
      async (runCommand) => {
        const error = `-ERR ${inOneLine.replaceAll('\r', ' ')}\r\n`
        await using server = await serveRaw((socket) => socket.write(error.repeat(9)))
        return await runCommand(['sync'], { queue: `redis://${server.host}` })
      },
      'Redis at 127.0.0.1',
    ],
  ])('shows %s', async (_what, act, expected) => {
    const ended = await act(async (args, options = {}) => {
      await work.configure(options)
      return await work.run(...args)
    })

    expect(ended.exit).not.toBe(0)
    expect(ended.stderr).toContain(expected)
    expect(movedBy(ended)).toEqual([])
  })
})

test('an error that no command catches ends the process, and its quoted text is escaped', async () => {
  const thrower =
    `const t = setInterval(() => { if (process.listenerCount('uncaughtException') === 0) return; clearInterval(t); ` +
    `throw new Error(${JSON.stringify(text)}) }, 1)`

  const ended = await rollcall(['--version'], {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(thrower)}`,
  })

  expect(ended.exit).toBe(1)
  expect(ended.stderr).toContain('✖ this is a bug in Rollcall: Error: begin\\u001b]0;title')
  expect(movedBy(ended)).toEqual([])
})

/** The lines of what a command printed that hold something hidden, or that it did not write. */
function movedBy(...ended: readonly Ended[]): string[] {
  const lines = ended.flatMap(({ stdout, stderr }) => `${stdout}\n${stderr}`.split('\n'))
  return lines.filter((line) => unseen.test(line) || forged.test(line))
}

/** The platform takes the batch and tells of its first person that it was refused. */
const refusing = faults.results('refused', (results) =>
  results.map((result, at) =>
    at === 0 ? { statusCode: 400, data: null, error: { message: `refused: ${text}` } } : result,
  ),
)

/** What PostgreSQL answers a client that it does not let in. */
function postgresError(message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0C57P03\0M${message}\0\0`)
  const head = Buffer.alloc(5)
  head.write('E')
  head.writeUInt32BE(fields.length + 4, 1)
  return Buffer.concat([head, fields])
}
