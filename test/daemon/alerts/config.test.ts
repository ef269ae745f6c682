import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { checkChannel } from '../../../src/daemon/alerts/check-channel.ts'
import { checkAll } from '../../../src/daemon/check.ts'
import { loadConfig } from '../../../src/daemon/config/load-config.ts'
import { silentEvents } from '../../../src/telemetry/events.ts'
import { quietAlerts } from '../../helpers/alert-settings.ts'
import { alertSecret, startAlertReceiver } from '../../helpers/sources/alert-receiver.ts'
import { genieKey, routingKey } from '../../helpers/sources/alert-services.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'

const env = {
  KEY: 'key',
  ALERTS: alertSecret,
  HOOK: 'https://hooks.example/services/T0/B0/sesame',
  PLAIN: 'http://hooks.example/services/T0/B0/sesame',
  USER_NAME: 'rollcall',
  PASSWORD: 'hunter2',
  ROUTING_KEY: routingKey,
  GENIE_KEY: genieKey,
}

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

const webhook = "type: webhook, url: '${env:HOOK}', secret: '${env:ALERTS}'"
const mail = 'type: smtp, host: mail.example, from: rollcall@acme.example, to: [ops@acme.example]'
const channels = (written: string) => `alerts: { channels: { one: { ${written} } } }`

test('alerts go to the log alone unless the configuration names channels', async () => {
  const { alerts } = await load('')

  expect(alerts).toEqual(quietAlerts)
})

test('addresses, passwords and secrets of channels are never printed', async () => {
  const { alerts } = await load(`alerts:
  channels:
    pager: { ${webhook} }
    chat: { type: slack, url: '\${env:HOOK}' }
    mail: { ${mail}, user: '\${env:USER_NAME}', password: '\${env:PASSWORD}' }
`)

  const [pager, chat, mailed] = alerts.channels
  expect(pager?.type === 'webhook' && (await pager.url.read())).toBe(env.HOOK)
  expect(pager?.type === 'webhook' && (await pager.secret.read())).toBe(alertSecret)
  expect(chat?.type === 'slack' && (await chat.url.read())).toBe(env.HOOK)
  expect(mailed?.type === 'smtp' && (await mailed.login?.password.read())).toBe(env.PASSWORD)
  expect(`${inspect(alerts, { depth: 9 })}${JSON.stringify(alerts)}`).not.toMatch(/sesame|whsec|hunter2/)
})

test('receivers that keep alerts are found by their region or address, and their keys are never printed', async () => {
  const { alerts } = await load(`alerts:
  channels:
    duty: { type: pagerduty, routingKey: '\${env:ROUTING_KEY}', region: eu }
    genie: { type: opsgenie, apiKey: '\${env:GENIE_KEY}' }
    jira: { type: opsgenie, apiKey: '\${env:GENIE_KEY}', url: https://api.atlassian.com/jsm/ops/integration, kinds: [held] }
    team: { type: teams, url: '\${env:HOOK}' }
`)

  const [duty, genie, jira, team] = await Promise.all(
    alerts.channels.map(async (channel) =>
      'key' in channel ? [await channel.url.read(), await channel.key?.read(), channel.perHour] : [],
    ),
  )
  expect(duty).toEqual(['https://events.eu.pagerduty.com', routingKey, null])
  expect(genie).toEqual(['https://api.opsgenie.com', genieKey, null])
  expect(jira).toEqual(['https://api.atlassian.com/jsm/ops/integration', genieKey, null])
  expect(team).toEqual([env.HOOK, undefined, 30])
  expect(`${inspect(alerts, { depth: 9 })}${JSON.stringify(alerts)}`).not.toMatch(
    new RegExp(`sesame|${routingKey}|${genieKey}`),
  )
})

test('a channel gets all alerts, or those that it names', async () => {
  const { alerts } = await load(`alerts:
  link: https://wiki.example/rollcall?run={run}
  freshHours: 36
  channels:
    all: { ${mail} }
    some: { ${mail}, tls: implicit, connections: [acme], kinds: [held, stale], perHour: 5 }
`)

  expect(alerts).toMatchObject({ link: 'https://wiki.example/rollcall?run={run}', freshHours: 36 })
  expect(alerts.channels).toMatchObject([
    { name: 'all', connections: null, kinds: null, perHour: 30, port: 587, tls: 'starttls', login: null },
    { name: 'some', connections: ['acme'], kinds: ['held', 'stale'], perHour: 5, port: 465 },
  ])
})

test.each([
  [channels("type: webhook, url: 'https://a.example'"), /alerts\.channels\.one\.secret: /],
  [channels("type: webhook, url: 'https://a.example', secret: whsec_abc"), /one\.secret: a secret stands in the conf/],
  [channels("type: webhook, url: 'ftp://a.example', secret: '${env:ALERTS}'"), /one\.url: expected an address/],
  [channels("type: webhook, url: 'https://ana:pw@a.example', secret: '${env:ALERTS}'"), /one\.url: takes no user name/],
  [channels("type: slack, url: 'https://hooks.example/x'"), /one\.url: a secret stands in the configuration/],
  [channels("type: slack, url: '${env:PLAIN}'"), /one\.url: http:\/\/ is not encrypted/],
  [channels("type: slack, url: '${env:PLAIN}', allowPrivate: true"), /one\.url: http:\/\/ is not encrypted/],
  [channels("type: teams, url: 'https://prod-1.example/x?sig=y'"), /one\.url: a secret stands in the configuration/],
  [channels('type: pagerduty, routingKey: a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6'), /one\.routingKey: a secret stands in/],
  [channels("type: pagerduty, routingKey: '${env:ROUTING_KEY}', region: asia"), /one\.region: /],
  [
    channels("type: opsgenie, apiKey: '${env:GENIE_KEY}', url: 'http://opsgenie.example'"),
    /one\.url: http:\/\/ is not encrypted/,
  ],
  [channels("type: opsgenie, apiKey: '${env:GENIE_KEY}', perHour: 5"), /perHour/],
  [channels(`${mail}, user: rollcall`), /one\.password: is needed beside user/],
  [channels(`${mail}, user: rollcall, password: hunter2`), /one\.password: a secret stands in the configuration/],
  [channels(`${mail}, tls: none, user: rollcall, password: '\${env:PASSWORD}'`), /one\.tls: a password is not sent/],
  [channels(`${mail}, perHour: 0`), /one\.perHour: /],
  [channels('type: smtp, host: "mail.example\\r\\nX: y", from: a@b.example, to: [a@b.example]'), /one\.host: expected/],
  [
    channels('type: smtp, host: m.example, from: "a@b.example\\r\\nBcc: x@y.example", to: [a@b.example]'),
    /one\.from: /,
  ],
  [channels('type: smtp, host: m.example, from: a@b.example, to: ["a@b.example, c@d.example"]'), /one\.to\.0: expec/],
  [channels('type: smtp, host: m.example, from: a@b.example, to: [a@b.example, a@b.example]'), /one\.to\.1: stands/],
  [channels(`${mail}, kinds: [hold]`), /one\.kinds\.0: /],
  [channels(`${mail}, connections: [beta]`), /one\.connections\.0: there is no connection "beta"; there are acme/],
  [`alerts: { channels: { log: { ${mail} } } }`, /a channel name has up to 40 of the signs/],
  [`alerts: { channels: { one: { type: pigeon } } }`, /one\.type: /],
  ["alerts: { link: 'https://wiki.example/{person}' }", /alerts\.link: \{person\} is unknown/],
  ["alerts: { link: 'javascript:alert(1)' }", /alerts\.link: expected an address/],
  ['alerts: { overdueMinutes: 0 }', /alerts\.overdueMinutes: /],
  ['alerts: { remindHour: 3 }', /remindHour" \(did you mean "remindHours"\?\)/],
])('%s is refused', async (alerts, expected) => {
  const refused = load(`${alerts}\n`)

  await expect(refused).rejects.toMatchObject({ code: 'config_invalid', message: expect.stringMatching(expected) })
})

describe('a trial of everything', () => {
  async function configured(channel: string, files: Readonly<Record<string, string>>) {
    const folder = await temporaryFolder()
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder.path, name), text)
    const file = join(folder.path, 'rollcall.yaml')
    await writeFile(
      file,
      `platform: { baseUrl: 'http://127.0.0.1:9/', apiKey: '\${env:KEY}' }
alerts: { channels: { one: { ${channel} } } }
connections:
  acme: { target: { name: Acme HRIS }, source: { type: csv, path: people.csv, mode: snapshot, preset: generic } }
`,
    )
    const config = await loadConfig(file, env)
    // A secret's file may be removed after the configuration was read.
    await rm(join(folder.path, 'gone'), { force: true })
    return { config, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() }
  }

  const now = () => new Date()

  /** The result of the check of the channel: that it can be used, or the failure. */
  async function checked(channel: string, files: Readonly<Record<string, string>> = {}): Promise<unknown> {
    await using work = await configured(channel, files)
    const [one] = work.config.alerts.channels
    if (!one) throw new Error('the configuration has no channel')
    return await checkChannel(one, { now }).catch((error: unknown) => error)
  }

  test('checks each channel, and posts nothing', async () => {
    await using receiver = await startAlertReceiver()
    const channel = `type: webhook, url: '${receiver.url}', secret: '\${file:secret}'`
    await using work = await configured(channel, { secret: alertSecret })
    const { signal } = new AbortController()
    const options = { findDaemon: async () => null, events: silentEvents(), now, signal }

    const checks = await Array.fromAsync(checkAll(work.config, options))

    expect(checks.filter(({ name }) => name.startsWith('alerts'))).toEqual([
      {
        name: 'alerts to one',
        code: null,
        level: 'ok',
        message: expect.stringMatching(/the secret can be read and signs/),
      },
    ])
    expect([receiver.received.length, receiver.untrusted()]).toEqual([0, 0])
  })

  test.each([
    ['a chat', "type: slack, url: '${env:HOOK}'", /^hooks\.example, the address can be read \(nothing was posted\)$/],
    ['a workflow of Teams', "type: teams, url: '${env:HOOK}'", /^hooks\.example, the address can be read/],
    [
      'PagerDuty',
      "type: pagerduty, routingKey: '${env:ROUTING_KEY}'",
      /^events\.pagerduty\.com, routingKey can be read/,
    ],
    ['Opsgenie', "type: opsgenie, apiKey: '${env:GENIE_KEY}', region: eu", /^api\.eu\.opsgenie\.com, apiKey can be/],
    ['a mail server', mail, /^mail\.example:587 \(starttls\), 1 recipient \(nothing was sent\)$/],
    [
      'a mail server that wants a password',
      `${mail}, user: rollcall, password: '\${env:PASSWORD}'`,
      /, user and password can be read \(nothing was sent\)$/,
    ],
  ])('says what it knows of %s', async (_what, channel, expected) => {
    const result = await checked(channel)

    expect(result).toMatch(expected)
  })

  test.each([
    ['a secret cannot sign', "type: webhook, url: 'https://a.example', secret: '${file:gone2}'", /one\.secret: /],
    [
      'the key is of another kind',
      "type: pagerduty, routingKey: '${env:GENIE_KEY}'",
      /one\.routingKey: is not the key of an integration, which has 32 characters/,
    ],
    ['the password is gone', `${mail}, user: rollcall, password: '\${file:gone}'`, /cannot read the file/],
    [
      'there is no certificate',
      `${mail}, ca: none.pem`,
      /alerts\.channels\.one\.ca: cannot read .*none\.pem \(ENOENT\)/,
    ],
    ['the certificate is none', `${mail}, ca: gone2`, /alerts\.channels\.one\.ca: .*gone2 holds no certificate/],
  ])('fails where %s', async (_what, channel, expected) => {
    const result = await checked(channel, { gone: 'hunter2', gone2: 'no base64!' })

    expect(result).toMatchObject({ code: 'config_invalid', message: expect.stringMatching(expected) })
  })
})
