import { expect, test } from 'vitest'
import { checkMails } from '../../../src/daemon/hand-over/check-mails.ts'
import { smtpChannel } from '../../helpers/alert-settings.ts'
import { startMailServer } from '../../helpers/sources/mail-server.ts'

const mails = { channel: 'mail', to: ['hr@acme.example', 'ben@acme.example'] }
const checked = (port: number) => checkMails({ mails, alerts: { channels: [smtpChannel(port)] } })

test('a check reaches the mail server for HR and sends nothing', async () => {
  await using server = await startMailServer()

  expect(await checked(server.port)).toBe(`127.0.0.1:${server.port} answers, 2 addresses (nothing was sent)`)
  expect(server.received).toEqual([])
})

test('a mail server that cannot be reached is named, and the addresses of HR are not', async () => {
  const server = await startMailServer()
  await server[Symbol.asyncDispose]()

  await expect(checked(server.port)).rejects.toMatchObject({
    code: 'alert_unsent',
    message: expect.stringMatching(/^127\.0\.0\.1:\d+ refuses connections: check host and port/),
  })
  await expect(checked(server.port)).rejects.not.toMatchObject({ message: expect.stringContaining('acme') })
})
