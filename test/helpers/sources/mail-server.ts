import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

export type ReceivedMail = {
  readonly from: string
  readonly to: readonly string[]
  readonly user: unknown
  readonly secure: boolean
  /** Header names in lower case, folded lines joined. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly raw: string
}

export type MailServer = AsyncDisposable & { readonly port: number; readonly received: readonly ReceivedMail[] }

/** Answers an SMTP command with this code and text instead of taking it. */
export class Refusal extends Error {
  readonly responseCode: number

  constructor(responseCode: number, message: string) {
    super(message)
    this.responseCode = responseCode
  }
}

export type MailRules = SMTPServerOptions & {
  readonly port?: number
  /** Why it does not take a sender, a recipient or the mail; undefined if it does. */
  readonly refuse?: (command: 'from' | 'to' | 'data', address: string) => Refusal | undefined
}

/** A real mail server on this machine. Without a certificate of its own it speaks without TLS. */
export async function startMailServer({
  port = 0,
  refuse = () => undefined,
  ...options
}: MailRules = {}): Promise<MailServer> {
  const received: ReceivedMail[] = []
  const server = new SMTPServer({
    authOptional: true,
    disableReverseLookup: true,
    closeTimeout: 200,
    ...(options.key === undefined && { disabledCommands: ['STARTTLS', 'AUTH'] }),
    ...options,
    onAuth({ username, password }, _session, done) {
      if (password === 'open sesame') done(null, { user: username })
      else done(new Refusal(535, '5.7.8 no such user <ana@acme.example>'))
    },
    onMailFrom: ({ address }, _session, done) => done(refuse('from', address)),
    onRcptTo: ({ address }, _session, done) => done(refuse('to', address)),
    onData(stream, { envelope, user, secure }, done) {
      text(stream).then((raw) => {
        const refusal = refuse('data', '')
        if (refusal) return done(refusal)
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address
        received.push({ from, to: envelope.rcptTo.map(({ address }) => address), user, secure, raw, ...parsed(raw) })
        done()
      }, done)
    },
  })
  // What a client that goes away leaves behind is no fault of the test.
  server.on('error', () => {})
  server.listen(port, '127.0.0.1')
  await once(server.server, 'listening')
  return {
    port: (server.server.address() as AddressInfo).port,
    received,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

function parsed(raw: string): Pick<ReceivedMail, 'headers' | 'body'> {
  const [head = '', ...rest] = raw.split('\r\n\r\n')
  const lines = head.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n')
  const headers = lines.map((line) => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
  })
  return { headers: Object.fromEntries(headers), body: unquoted(rest.join('\r\n\r\n')) }
}

/** Quoted-printable as the text that it stands for. */
function unquoted(printable: string): string {
  const bytes = printable.replaceAll('=\r\n', '').replaceAll(/=([0-9A-F]{2})/g, (_whole, code: string) => {
    return String.fromCharCode(Number.parseInt(code, 16))
  })
  return Buffer.from(bytes, 'latin1').toString('utf8')
}
