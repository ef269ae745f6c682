import { once } from 'node:events'
import { appendFile, mkdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { answerAtOnce } from '../../src/cli/at-once.ts'
import { findDaemon } from '../../src/cli/find-daemon.ts'
import { loadConfig } from '../../src/daemon/config/config.ts'
import { announceAddress } from '../../src/daemon/control/address-file.ts'
import { startDaemon } from '../../src/daemon/start.ts'
import { silentEvents } from '../../src/telemetry/events.ts'
import { install } from '../helpers/installation.ts'

test('a status is answered at once by the daemon that serves this very configuration, and by no other', async () => {
  await using at = await install({ baseUrl: 'https://platform.invalid/public/v2', key: 'key' })
  const other = join(at.folder, 'other.yaml')
  await writeFile(other, 'dataDir: ./data\n')
  const ask = (file: string) => answerAtOnce(['status', '--json', '--config', file])
  const before = await ask(at.configFile)

  const daemon = await startDaemon(await loadConfig(at.configFile, {}), { events: silentEvents() })
  const answered = await ask(at.configFile)
  const foreign = await ask(other)
  await appendFile(at.configFile, '# changed since\n')
  const changed = await ask(at.configFile)
  await daemon[Symbol.asyncDispose]()

  expect(JSON.parse(answered ?? '')).toMatchObject({ daemon: { pid: process.pid }, connections: [{ name: 'acme' }] })
  expect([before, foreign, changed]).toEqual([null, null, null])
})

test('a status is not answered at once without the token, or by a daemon that has died', async () => {
  await using at = await install({ baseUrl: 'https://platform.invalid/public/v2', key: 'key' })
  const ask = () => answerAtOnce(['status', '--config', at.configFile])
  const daemon = at.start('serve')
  await daemon.says('daemon.started')

  const first = await ask()
  await writeFile(join(at.dataDir, 'control-token'), 'another')
  const refused = await ask()
  await rm(join(at.dataDir, 'control-token'))
  const without = await ask()
  daemon.child.kill('SIGKILL')
  await daemon.ended
  await writeFile(join(at.dataDir, 'control-token'), 'another')
  const died = await ask()

  expect(first).toContain('acme → Acme HRIS')
  expect([refused, without, died]).toEqual([null, null, null])
})

test('a daemon is looked for with a question that it answers without a look into its store', async () => {
  await using at = await install({ baseUrl: 'https://platform.invalid/public/v2', key: 'key' })
  const asked: (string | undefined)[] = []
  const server = createServer((request, response) => {
    asked.push(request.url)
    response.setHeader('content-type', 'application/json').end('{"version":"1.2.3","daemon":null}')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const config = await loadConfig(at.configFile, {})
  await mkdir(at.dataDir)
  await writeFile(join(at.dataDir, 'control-token'), 'token')
  const { file, changedMs } = config
  const startedAt = '2026-11-20T00:00:00.000Z'
  await announceAddress(at.dataDir, { pid: 1, url, api: `${url}/api/v1`, startedAt, config: { file, changedMs } })

  const found = await findDaemon(config)
  server.closeAllConnections()
  server.close()

  expect(found).toEqual({ baseUrl: url, token: 'token' })
  expect(asked).toEqual(['/api/v1/about'])
})
