import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { smtpSender } from '../../../src/daemon/alerts/smtp.ts'
import type { Message, SmtpChannel } from '../../../src/daemon/config/channel.ts'
import { secretText, smtpChannel } from '../../helpers/alert-settings.ts'
import { cleared, groupNotice, raised } from '../../helpers/notices.ts'
import { freePort } from '../../helpers/servers/free-port.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'
import { type Certificates, makeCertificates } from '../../helpers/sources/hr-server.ts'
import { Refusal, startMailServer } from '../../helpers/sources/mail-server.ts'
import { serveRaw } from '../../http/raw-server.ts'

type Options = Partial<SmtpChannel> & { timeoutMs?: number; signal?: AbortSignal; notice?: Message }

async function send(port: number, { timeoutMs = 30_000, signal, notice = raised(), ...settings }: Options = {}) {
  await using sender = smtpSender(smtpChannel(port, settings), { name: 'mail', linkOf: () => null, timeoutMs })
  return await sender.send(notice, signal ?? new AbortController().signal)
}

const two = ['ops@acme.example', 'hris@acme.example']
const login = (password: string) => ({ user: secretText('rollcall'), password: secretText(password) })

describe('a mail', () => {
  test('goes to all recipients at once, as plain text, with headers that ask for no automatic answer', async () => {
    await using server = await startMailServer()

    const unsent = await send(server.port, { to: two })

    expect(unsent).toBeNull()
    expect(server.received).toMatchObject([
      {
        from: 'rollcall@acme.example',
        to: two,
        headers: {
          from: 'Rollcall <rollcall@acme.example>',
          to: 'ops@acme.example, hris@acme.example',
          subject: '[Rollcall] acme: a plan waits for an approval',
          'message-id': '<5f0c5a52-7d0a-4c19-9d5c-0a2f2b8a1c11_1@acme.example>',
          'auto-submitted': 'auto-generated',
          'content-type': 'text/plain; charset=utf-8',
          date: 'Fri, 20 Nov 2026 03:00:07 +0000',
        },
        body: expect.stringContaining('Concerns 93 people, 91 leavers among them.\r\n'),
      },
    ])
  })

  test('about the same alert belongs to the thread of the first', async () => {
    await using server = await startMailServer()
    const first = '<5f0c5a52-7d0a-4c19-9d5c-0a2f2b8a1c11_1@acme.example>'

    await send(server.port, { notice: raised({}, { sentBefore: 1 }) })
    await send(server.port, { notice: cleared() })

    const thread = { references: first, 'in-reply-to': first }
    const subject = 'Re: [Rollcall] acme: a plan waits for an approval'
    expect(server.received).toMatchObject([{ headers: { ...thread, subject } }, { headers: { ...thread, subject } }])
    expect(server.received[0]?.headers['message-id']).toMatch(/_2@acme\.example>$/)
  })

  test('about several alerts refers to the thread of each', async () => {
    await using server = await startMailServer()
    const alerts = [raised({ id: 'a' }), raised({ id: 'b' }, { sentBefore: 1 })]

    await send(server.port, { notice: groupNotice(alerts) })

    const [{ headers } = { headers: {} as Record<string, string> }] = server.received
    expect(headers.references).toBe('<a_1@acme.example> <b_1@acme.example>')
    expect(headers['message-id']).toBe('<group_1@acme.example>')
  })

  test('with a reason full of markup and control characters has the same headers and lines as any other', async () => {
    await using server = await startMailServer()
    const reason = 'people\r\nBcc: eve@evil.example\r\n\r\n.\r\nQUIT\r\n<b>Zoë</b> =cmd|calc \u001b[2J\u202e'

    await send(server.port, { notice: raised({ reason }) })

    const [mail] = server.received
    expect(server.received).toHaveLength(1)
    expect(mail?.to).toEqual(['ops@acme.example'])
    expect(Object.keys(mail?.headers ?? {})).not.toContain('bcc')
    expect(mail?.raw).not.toMatch(/^(?:Bcc|QUIT)/m)
    expect(mail?.body).not.toMatch(/\u202e/)
    expect(mail?.body).not.toContain('\u001b')
    expect(mail?.body).toContain('<b>Zoë</b>')
    expect(mail?.headers['content-type']).toBe('text/plain; charset=utf-8')
  })
})

describe('a mail server', () => {
  test('that is down is named with what helps', async () => {
    const port = await freePort()

    const unsent = await send(port)

    expect(unsent?.failure).toBe(
      `127.0.0.1:${port} refuses connections: check host and port, and whether the server runs (ECONNREFUSED)`,
    )
  })

  test('that never answers is given up in time', async () => {
    await using server = await serveRaw(() => {})

    const unsent = await send(Number(server.host.split(':')[1]), { timeoutMs: 300 })

    expect(unsent?.failure).toBe(`${server.host} did not take the mail within 0.3 seconds`)
  })

  test('that never answers does not delay a stop', async () => {
    await using server = await serveRaw(() => {})
    const before = performance.now()

    const unsent = await send(Number(server.host.split(':')[1]), { signal: AbortSignal.timeout(50) })

    expect(unsent?.failure).toBe('this process stopped meanwhile')
    expect(performance.now() - before).toBeLessThan(15_000)
  })

  test('that speaks without TLS from the beginning says what to check', async () => {
    await using server = await startMailServer()

    const unsent = await send(server.port, { tls: 'implicit' })

    expect(unsent?.failure).toMatch(/^127\.0\.0\.1:\d+ and Rollcall cannot agree on TLS: check tls/)
  })

  test.each([
    ['from', new Refusal(550, '5.7.1 <rollcall@acme.example> may not'), 'refuses the sender (550 5.7.1)'],
    ['from', new Refusal(451, '4.3.0 try later'), 'refuses the sender (451 4.3.0)'],
    ['to', new Refusal(550, '5.1.1 <ops@acme.example> unknown'), 'refuses all recipients (550 5.1.1)'],
    ['data', new Refusal(554, '5.6.0 looks like spam from ana@acme.example'), 'refuses the mail (554 5.6.0)'],
  ] as const)('that refuses at %s is quoted by its codes only', async (stage, refusal, expected) => {
    await using server = await startMailServer({ refuse: (command) => (command === stage ? refusal : undefined) })

    const unsent = await send(server.port)

    expect(unsent?.failure).toBe(`127.0.0.1:${server.port} ${expected}`)
    expect(unsent?.isPartlyDelivered).toBeUndefined()
    expect(server.received).toEqual([])
  })

  test.each([
    [550, '5.1.1 unknown', 'refuses to[1] (550 5.1.1)'],
    [450, '4.2.0 greylisted', 'refuses to[1] (450 4.2.0)'],
  ])('that refuses one recipient of two with %i has taken it for the other', async (code, text, expected) => {
    const refuse = (_what: string, address: string) => (address === two[1] ? new Refusal(code, text) : undefined)
    await using server = await startMailServer({ refuse })

    const unsent = await send(server.port, { to: two })

    expect(unsent).toEqual({ failure: `127.0.0.1:${server.port} ${expected}`, isPartlyDelivered: true })
    expect(server.received).toMatchObject([{ to: [two[0]] }])
  })
})

describe('TLS', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let certificates: Certificates
  beforeAll(async () => {
    folder = await temporaryFolder()
    certificates = await makeCertificates(folder.path)
  })
  afterAll(() => folder[Symbol.asyncDispose]())

  const secured = () => ({ key: certificates.server.key, cert: certificates.server.cert })
  const trusted = () => ({ ca: certificates.authorityFile })

  test.each(['starttls', 'implicit'] as const)('%s protects the mail and the password', async (tls) => {
    await using server = await startMailServer({ ...secured(), secure: tls === 'implicit' })

    const unsent = await send(server.port, { tls, login: login('open sesame'), ...trusted() })

    expect(unsent).toBeNull()
    expect(server.received).toMatchObject([{ user: 'rollcall', secure: true }])
  })

  test('a certificate that leads to no known root is refused', async () => {
    await using server = await startMailServer(secured())

    const unsent = await send(server.port, { tls: 'starttls' })

    expect(unsent?.failure).toMatch(/and Rollcall cannot agree on TLS: check tls, and ca/)
    expect(server.received).toEqual([])
  })

  test('a server that offers no TLS gets nothing', async () => {
    await using server = await startMailServer()

    const unsent = await send(server.port, { tls: 'starttls', login: login('open sesame') })

    expect(unsent?.failure).toMatch(/cannot agree on TLS/)
    expect(server.received).toEqual([])
  })

  test('a refusal for lack of TLS is reported as such', async () => {
    const refuse = () => new Refusal(530, '5.7.0 Must issue a STARTTLS command first')
    await using server = await startMailServer({ refuse })

    const unsent = await send(server.port)

    expect(unsent?.failure).toBe(`127.0.0.1:${server.port} demands TLS: write tls: starttls (530 5.7.0)`)
  })

  test('a password that is not accepted is not shown, nor what the server says', async () => {
    await using server = await startMailServer({ ...secured(), authOptional: false })

    const unsent = await send(server.port, { tls: 'starttls', login: login('hunter2'), ...trusted() })

    expect(unsent?.failure).toBe(`127.0.0.1:${server.port} does not accept the user and the password (535 5.7.8)`)
  })
})
