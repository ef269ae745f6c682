import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasAnswered } from '../../../src/cli/commands/unblock.ts'
import type { ConnectionStatus } from '../../../src/contract/control/shapes.ts'
import { runDocument } from '../../helpers/control-documents.ts'
import { type Installation, install } from '../../helpers/installation.ts'
import { type Host, peopleOn, staff, startHost } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const modes = [
  { way: 'without a daemon', begin: async () => {}, options: {} },
  {
    way: 'with a daemon',
    begin: async (at: Installation) => at.start('serve', '--json').waitForOutput('daemon.started'),
    options: { tags: ['full'] },
  },
]

describe.each(modes)('a blocked connection, $way,', ({ begin, options }) => {
  /** An installation with five people to deliver and a key that the platform does not accept. */
  async function open() {
    const { key, client } = await host.tenant()
    const at = await install({ baseUrl: host.platform.baseUrl, key: 'wrong' }, { hasStore: true })
    await at.writeExport(staff(5))
    await begin(at)
    const blocked = await at.run('sync')
    return { key, client, at, blocked }
  }

  test('is unblocked as soon as its key is replaced and an operator unblocks it', async () => {
    const { at, key, client, blocked } = await open()
    await using _installation = at
    await at.setKey(key)

    const freed = await at.run('unblock', '--by', 'ana')

    expect(blocked.exit).toBe(77)
    expect(freed).toMatchObject({ exit: 0, stdout: '✔ acme: no longer blocked; nothing waits to be delivered\n' })
    expect((await peopleOn(client)).size).toBe(5)
  })

  test('stays blocked under a key that is still wrong, which ends the command with 77', options, async () => {
    const { at } = await open()
    await using _installation = at

    const { exit, stdout, stderr } = await at.run('unblock', '--json')

    expect(exit).toBe(77)
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'blocked' } })
    expect(stderr).toContain('acme is blocked again: the platform does not accept the API key (401)')
  })
})

test('a connection that is not blocked is distinguished from one that was', async () => {
  const { key } = await host.tenant()
  await using at = await install({ baseUrl: host.platform.baseUrl, key }, { hasStore: true })

  const answer = await at.json('unblock')
  const { stdout } = await at.run('unblock')

  expect(answer).toEqual({ exit: 0, document: { connection: 'acme', wasBlocked: false, due: 0 } })
  expect(stdout).toBe('- acme is not blocked; nothing waits to be delivered\n')
})

test('a platform that does not respond is distinguished from one that refuses the key', async () => {
  const { key } = await host.tenant()
  await using at = await install({ baseUrl: host.platform.baseUrl, key: 'wrong' }, { hasStore: true })
  await at.writeExport(staff(5))
  await at.run('sync')
  await at.configure({ baseUrl: 'http://127.0.0.1:9/public/v2', key })

  const { exit, stderr } = await at.run('unblock', '--wait', '1')

  expect(exit).toBe(69)
  expect(stderr).toContain('nothing of acme was accepted within 1 second; Rollcall tries again')
})

test('a run that only begins or ends does not show that the platform answered', () => {
  const status = (values: object) =>
    ({
      people: { desired: 5, separated: 0, due: 5 },
      active: null,
      last: null,
      ...values,
    }) as unknown as ConnectionStatus
  const run = (values: object) => runDocument({ id: 'r1', state: 'delivering', confirmed: 1, problems: 0, ...values })
  const before = status({ active: run({}) })

  expect(hasAnswered(status({ active: run({ state: 'reading' }) }), before)).toBe(false)
  expect(hasAnswered(status({ active: run({ id: 'r2', confirmed: 0 }) }), before)).toBe(false)
  expect(hasAnswered(status({ last: run({ state: 'cancelled' }) }), before)).toBe(false)
  expect(hasAnswered(status({ active: run({ confirmed: 2 }) }), before)).toBe(true)
  expect(hasAnswered(status({ active: run({ problems: 1 }) }), before)).toBe(true)
  expect(hasAnswered(status({ last: run({ state: 'finished', confirmed: 5 }) }), before)).toBe(true)
  expect(hasAnswered(status({ people: { desired: 5, separated: 0, due: 4 } }), status({}))).toBe(true)
})
