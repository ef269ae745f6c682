import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../../src/daemon/config/load-config.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'

async function load(handOver: string, channel = 'host: mail.example') {
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'rollcall.yaml')
  await writeFile(
    file,
    `platform: { apiKey: '\${env:KEY}' }
alerts:
  channels:
    mail: { type: smtp, ${channel}, from: rollcall@acme.example, to: [ops@acme.example] }
    chat: { type: slack, url: '\${env:CHAT}' }
${handOver === '' ? '' : `handOver: { ${handOver} }\n`}connections:
  acme:
    target: { name: Acme HRIS }
    source: { type: csv, path: people.csv, mode: snapshot, preset: generic }
`,
  )
  return await loadConfig(file, { KEY: 'key', CHAT: 'https://hooks.example/sesame' })
}

const toHr = 'to: [hr@acme.example]'

test('nothing is mailed to HR unless the configuration says so; then the list goes as a workbook on the mornings of workdays', async () => {
  const silent = await load('')
  const { handOver } = await load(`channel: mail, ${toHr}`)

  expect(silent.handOver).toBeNull()
  expect(handOver).toEqual({
    channel: 'mail',
    to: ['hr@acme.example'],
    schedule: { cron: '0 7 * * 1-5', timeZone: 'UTC' },
    connections: null,
    attachment: 'xlsx',
    valuesInBody: false,
  })
})

describe('a mistake is refused with its place and what helps', () => {
  test.each([
    [
      `channel: post, ${toHr}`,
      'handOver.channel: there is no mail channel "post" below alerts.channels; there is mail',
    ],
    [`channel: chat, ${toHr}`, 'handOver.channel: there is no mail channel "chat"'],
    ['channel: mail, to: []', 'handOver.to'],
    ['channel: mail, to: [nobody]', 'expected a mail address'],
    [`channel: mail, ${toHr}, cron: daily`, 'not a cron line of five fields'],
    [`channel: mail, ${toHr}, attachment: pdf`, 'handOver.attachment'],
    [
      `channel: mail, ${toHr}, connections: [beta]`,
      'handOver.connections.0: there is no connection "beta"; there are acme',
    ],
  ])('%s', async (handOver, message) => {
    await expect(load(handOver)).rejects.toThrow(message)
  })
})

test('mails with names and cells need TLS, unless the server is on this machine', async () => {
  const open = (values: string, host = 'mail.example') =>
    load(`channel: mail, ${toHr}, ${values}`, `host: ${host}, tls: none`)
  const withoutTls = 'the channel "mail" sends without TLS, and the mails hold names and cells'

  await expect(open('attachment: csv')).rejects.toThrow(withoutTls)
  await expect(open('attachment: none, valuesInBody: true')).rejects.toThrow(withoutTls)
  expect((await open('attachment: none')).handOver?.attachment).toBe('none')
  expect((await open('attachment: csv', 'localhost')).handOver?.attachment).toBe('csv')
})
