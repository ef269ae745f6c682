import { afterAll, beforeAll, expect, test } from 'vitest'
import { controlOverSocket } from '../../../src/cli/session/control-client.ts'
import { loadConfig } from '../../../src/daemon/config/load-config.ts'
import { startDaemon } from '../../../src/daemon/start.ts'
import { silentEvents } from '../../../src/telemetry/events.ts'
import { smtpChannel, webhookChannel } from '../../helpers/alert-settings.ts'
import { install } from '../../helpers/installation.ts'
import { freePort } from '../../helpers/servers/free-port.ts'
import { startAlertReceiver } from '../../helpers/sources/alert-receiver.ts'
import { type Host, staff, startHost } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

test('a daemon whose key the platform refuses reports it to the receiver and in the status', async () => {
  await using receiver = await startAlertReceiver()
  await using at = await install({ baseUrl: host.platform.baseUrl, key: 'wrong' }, { hasStore: true })
  await at.writeExport(staff(3))
  const config = await loadConfig(at.configFile, process.env)
  const alerts = { ...config.alerts, channels: [webhookChannel(receiver.url), smtpChannel(await freePort())] }
  const raised = Promise.withResolvers<void>()
  const events = silentEvents(({ event }) => {
    if (event === 'alert.raised') raised.resolve()
  })
  await using daemon = await startDaemon({ ...config, alerts }, { events })
  const client = controlOverSocket({ socket: daemon.socket ?? '' })

  await client.startRun({ params: { connection: 'acme' }, body: {} })
  await receiver.has(1)
  await raised.promise
  const status = await client.status({})
  const shown = await at.run('status')
  const tested = await at.run('alerts', 'test', '--json')
  const failed = await at.run('alerts', 'test', '--channel', 'mail')
  const listed = await at.run('alerts')

  expect(receiver.received.map(({ message }) => message)).toMatchObject([
    {
      type: 'alert.raised',
      data: { connection: 'acme', kind: 'blocked', code: 'key_refused', people: 3, leavers: 0, reminder: false },
    },
  ])
  expect(status).toMatchObject({
    alerts: [{ connection: 'acme', kind: 'blocked', id: receiver.received[0]?.message.data.id }],
  })
  expect(shown.stdout).toMatch(/^ {2}alert {5}acme: blocked since .*API key/m)
  expect([tested.exit, failed.exit]).toEqual([69, 69])
  expect(JSON.parse(tested.stdout)).toMatchObject({
    data: [
      { channel: 'pager', failure: null },
      { channel: 'mail', failure: expect.stringMatching(/refuses connections/) },
    ],
  })
  expect(receiver.tests).toHaveLength(1)
  expect(failed.stdout).toMatch(/^✖ mail \(smtp\): 127\.0\.0\.1:\d+ refuses connections/)
  expect(listed.stdout).toMatch(/^ {2}pager: 1 message, the last /m)
})
