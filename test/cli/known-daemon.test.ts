import { appendFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { answerAtOnce } from '../../src/cli/at-once.ts'
import { loadConfig } from '../../src/daemon/config/config.ts'
import { startDaemon } from '../../src/daemon/start.ts'
import { silentEvents } from '../../src/telemetry/events.ts'
import { install } from '../helpers/installation.ts'

test('a status is answered at once by the daemon that serves this very configuration, and by no other', async () => {
  await using at = await install({ baseUrl: 'http://platform.invalid/public/v2', key: 'key' })
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
  await using at = await install({ baseUrl: 'http://platform.invalid/public/v2', key: 'key' })
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
