import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { checkAll } from '../../../src/daemon/check.ts'
import { loadConfig } from '../../../src/daemon/config/config.ts'
import { silentEvents } from '../../../src/telemetry/events.ts'
import { alertSecret, startAlertReceiver } from '../../helpers/sources/alert-receiver.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'

const env = { KEY: 'key', ALERTS: alertSecret, HOOK: 'https://hooks.example/services/T0/B0/sesame' }

async function load(alerts: string) {
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'rollcall.yaml')
  await writeFile(
    file,
    `platform: { apiKey: '\${env:KEY}' }
${alerts}connections:
  acme:
    target: { name: Acme HRIS }
    source: { type: csv, path: people.csv, mode: snapshot, preset: generic }
`,
  )
  return await loadConfig(file, env)
}

test('alerts are logged only unless the configuration says where else they go', async () => {
  const { alerts } = await load('')

  expect(alerts).toEqual({ url: null, secret: null, overdueMinutes: 60, remindHours: 24 })
})

test('the address of the receiver and its secret never print', async () => {
  const { alerts } = await load(
    "alerts: { url: '${env:HOOK}', secret: '${env:ALERTS}', overdueMinutes: 30, remindHours: 4 }\n",
  )

  expect(await alerts.url?.read()).toBe(env.HOOK)
  expect(await alerts.secret?.read()).toBe(alertSecret)
  expect(alerts).toMatchObject({ overdueMinutes: 30, remindHours: 4 })
  expect(`${inspect(alerts)}${JSON.stringify(alerts)}`).not.toMatch(/sesame|whsec/)
})

test.each([
  ["alerts: { url: 'https://a.example' }", /alerts\.secret: is needed beside url/],
  ["alerts: { secret: '${env:ALERTS}' }", /alerts\.url: is needed beside secret/],
  ["alerts: { url: 'https://a.example', secret: whsec_abc }", /alerts\.secret: a secret stands in the configuration/],
  [
    "alerts: { url: 'ftp://a.example', secret: '${env:ALERTS}' }",
    /alerts\.url: expected an address that begins with https/,
  ],
  [
    "alerts: { url: 'https://ana:pw@a.example', secret: '${env:ALERTS}' }",
    /alerts\.url: takes no user name and no password/,
  ],
  ['alerts: { overdueMinutes: 0 }', /alerts\.overdueMinutes: /],
  ['alerts: { remindHour: 3 }', /remindHour" \(did you mean "remindHours"\?\)/],
])('%s is refused', async (alerts, expected) => {
  const refused = load(`${alerts}\n`)

  await expect(refused).rejects.toMatchObject({ code: 'config_invalid', message: expect.stringMatching(expected) })
})

test.each([
  ['can sign', alertSecret, { code: null, message: expect.stringContaining('the secret can be read and signs') }],
  ['cannot sign', 'no base64!', { code: 'config_invalid', message: expect.stringContaining('alerts.secret: ') }],
] as const)(
  'a trial of everything says whether the secret of alerts %s, and posts nothing',
  async (_what, secret, expected) => {
    await using receiver = await startAlertReceiver()
    await using folder = await temporaryFolder()
    await writeFile(join(folder.path, 'secret'), secret)
    const file = join(folder.path, 'rollcall.yaml')
    await writeFile(
      file,
      `platform: { baseUrl: 'http://127.0.0.1:9/', apiKey: '\${env:KEY}' }
alerts: { url: '${receiver.url}', secret: '\${file:secret}' }
connections:
  acme: { target: { name: Acme HRIS }, source: { type: csv, path: people.csv, mode: snapshot, preset: generic } }
`,
    )
    const findDaemon = async () => null
    const { signal } = new AbortController()
    const options = { findDaemon, events: silentEvents(), now: () => new Date(), signal }

    const checks = await Array.fromAsync(checkAll(await loadConfig(file, env), options))

    expect(checks.filter(({ name }) => name === 'alerts')).toMatchObject([expected])
    expect([receiver.received.length, receiver.untrusted()]).toEqual([0, 0])
  },
)
