import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { expect, test } from 'vitest'
import { socketEndpoint } from '../../src/cli/session/control-client.ts'
import { install } from '../helpers/installation.ts'
import { serve } from '../helpers/served.ts'
import { ownServer } from '../helpers/servers/own-servers.ts'

const nowhere = { baseUrl: 'https://platform.invalid/public/v2', key: 'key' }

test('a daemon whose store is read-only or unreachable reports it, answers 503, and ends in order', async () => {
  await using postgres = await ownServer('postgres')
  await using at = await install({ ...nowhere, database: postgres.url })
  const daemon = await serve(at)
  const ready = async (): Promise<unknown> => {
    // What was found is kept for a second.
    await pause(1100)
    return (await fetch(`${daemon.url}/readyz`)).json()
  }
  const { dispatcher } = socketEndpoint(daemon.socket)
  const ask = async (method: 'GET' | 'POST', path: string, body: object | null = null) => {
    const headers = { 'content-type': 'application/json' }
    const request = { origin: 'http://localhost', path: `/api/v1${path}`, method, headers }
    const answer = await (await dispatcher()).request({ ...request, body: body && JSON.stringify(body) })
    return { status: answer.statusCode, body: await answer.body.json() }
  }

  const before = await ready()
  const odd = [
    await ask('GET', '/connections/acme/people/a%00b'),
    await ask('POST', '/connections/acme/people/a/retraction', { reason: 'a\0b', by: 'ana' }),
  ]
  await settingOf(postgres.url, 'on')
  const readOnly = await ready()
  const write = await ask('POST', '/connections/acme/runs', {})
  await settingOf(postgres.url, 'off')
  const again = await ready()
  await postgres.kill()
  const away = await ready()
  const answers = [
    await ask('GET', '/status'),
    await ask('GET', '/connections/acme/people/a%00b'),
    await ask('GET', '/about'),
  ]
  const command = await at.run('status')
  daemon.child.kill('SIGTERM')
  const { exit, stderr } = await daemon.ended

  expect(before).toEqual({ status: 'ready', store: 'ok', queue: 'ok' })
  expect(odd.map(({ status }) => status)).toEqual([400, 400])
  expect(odd[0]?.body).toMatchObject({ message: 'identityId: holds the character U+0000, which no text of ours holds' })
  expect(readOnly).toEqual({ status: 'not ready', store: 'read-only', queue: 'read-only' })
  expect(write).toMatchObject({
    status: 503,
    body: {
      name: 'database_unreachable',
      message: expect.stringMatching(
        /^(?:the database|127\.0\.0\.1:\d+) takes no writes: name the primary server, or end its read-only state/,
      ),
    },
  })
  expect(again).toEqual(before)
  expect(away).toEqual({ status: 'not ready', store: 'unreachable', queue: 'unreachable' })
  expect(answers.map(({ status }) => status)).toEqual([503, 400, 200])
  expect(answers[0]?.body).toMatchObject({
    message: expect.stringMatching(/^the database does not answer: check that it runs/),
  })
  expect(command).toMatchObject({
    exit: 69,
    stderr: expect.stringMatching(/^✖ the database does not answer: check that it/),
  })
  expect(exit).toBe(0)
  expect(stderr).toContain('daemon.stopped')
  expect(stderr.match(/"event":"(?:store.unreachable|unexpected)"/g)).toHaveLength(1)
}, 120_000)

test('a daemon whose store does not answer still ends with 0', { timeout: 120_000, tags: ['full'] }, async () => {
  await using postgres = await ownServer('postgres')
  await using at = await install({ ...nowhere, database: postgres.url })
  const daemon = await serve(at)

  await postgres.pause()
  daemon.child.kill('SIGTERM')
  const { exit, stderr } = await daemon.ended
  await postgres.resume()

  expect(exit).toBe(0)
  expect(stderr).toMatch(/daemon\.(?:cut_off|stopped)/)
})

/** Lets new transactions write, or not, as a server does that has become a replica. */
async function settingOf(url: string, readOnly: 'on' | 'off'): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query('set default_transaction_read_only = off')
  await client.query(`alter system set default_transaction_read_only = ${readOnly}`)
  await client.query('select pg_reload_conf()')
  await client.end()
}
