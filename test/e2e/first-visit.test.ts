import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { Upload } from '../../src/contract/control/first-visit.ts'
import { call } from '../helpers/called.ts'
import { startCommand } from '../helpers/cli.ts'
import { exportOf } from '../helpers/first-visit.ts'
import { freePort } from '../helpers/servers/free-port.ts'
import { peopleOn, startHost } from '../helpers/world.ts'

const token = 'token-of-the-one-who-sets-it-up'
const patience = { timeout: 30_000, interval: 100 }
const Planned = z.object({ digest: z.string() })

test('a daemon without connections takes up the first one while it runs, and delivers its export', async () => {
  await using stack = new AsyncDisposableStack()
  const host = stack.use(await startHost())
  const { client, key } = await host.tenant()
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'rollcall.yaml')
  const port = await freePort()
  await writeFile(
    file,
    `platform: { baseUrl: '${host.platform.baseUrl}', apiKey: '\${file:platform.key}' }
server: { host: 127.0.0.1, port: ${port}, token: '\${file:token}' }
`,
  )
  await writeFile(join(folder, 'token'), token)
  await mkdir(join(folder, 'exports'))
  await writeFile(join(folder, 'exports', 'people.csv'), exportOf(3))
  const daemon = stack.use(startCommand(['serve', '--json', '--config', file]))
  const ask = async (path: string, type: string, body: string): Promise<unknown> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': type }
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/first-visit${path}`, { method: 'POST', headers, body })
    return await answer.json()
  }
  await daemon.waitForOutput('daemon.started')

  const before = await call(['status', '--config', file])
  const { id } = Upload.parse(
    await ask(
      '/exports?name=people.csv',
      'application/octet-stream',
      await readFile(join(folder, 'exports/people.csv'), 'utf8'),
    ),
  )
  const chosen = { reading: {}, name: 'HR', folder: 'exports', timeZone: 'UTC' }
  const json = (path: string, body: object) => ask(`/exports/${id}${path}`, 'application/json', JSON.stringify(body))
  const { digest } = Planned.parse(await json('/plan', chosen))
  const connected = await json('/connection', { ...chosen, digest, apiKey: key })
  await expect.poll(async () => (await call(['status', '--config', file])).stdout, patience).toContain('hr →')
  const synced = await call(['sync', '--config', file])
  const status = await call(['status', '--config', file])
  daemon.child.kill('SIGTERM')
  const { exit } = await daemon.ended

  expect(before.stdout).not.toContain('hr →')
  expect(connected).toMatchObject({ connection: 'hr', isTakenUp: true })
  expect(synced).toMatchObject({ exit: 0, stdout: expect.stringContaining('3 joiners') })
  expect(status.stdout).toContain('hr → HR')
  expect([...(await peopleOn(client)).keys()].sort()).toEqual(['E0', 'E1', 'E2'])
  expect(exit).toBe(0)
})
