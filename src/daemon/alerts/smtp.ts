import { errorCode, Failure } from '../../errors.ts'
import { provenServers } from '../../http/client/tls.ts'
import type { Alert } from '../../store/alerts/alerts.ts'
import { withOptionalPackage } from '../../system/optional-package.ts'
import { readProblem, readRegular } from '../../system/regular-file.ts'
import type { Message, Sender, SmtpChannel, Unsent } from '../config/channel.ts'
import type { AlertLink } from './links.ts'
import { connectTimeoutMs, stoppedMeanwhile } from './post.ts'
import { noticeText } from './text.ts'

/** How long a connection may take to close in order, before it is cut. */
const closeMs = 500
/** How many alerts of a mail are named in its headers. */
const maxThreads = 20

const loadNodemailer = () => withOptionalPackage(() => import('nodemailer'), { name: 'nodemailer', use: 'mail' })

/** A server may scan an attachment before it answers; RFC 5321, 4.5.3.2.6, grants it ten minutes. */
export const answerTimeoutMs = 10 * 60_000
/** Servers check a sender before they greet it. */
const greetingMs = 60_000

type SmtpOptions = { readonly name: string; readonly linkOf: AlertLink; readonly timeoutMs: number }

/** Sends mail, each message on its own connection. Shows only the codes of the server's replies, never their text. */
export function smtpSender(channel: SmtpChannel, { name, linkOf, timeoutMs }: SmtpOptions): Sender {
  return {
    async send(notice, signal) {
      const message = mailMessage(notice, { from: channel.from, to: channel.to, linkOf })
      return await sendMail(channel, message, { name, timeoutMs, signal })
    },
    async [Symbol.asyncDispose]() {},
  }
}

/** A mail without its sender and its recipients, which are those of the channel. */
export type Mail = {
  readonly subject: string
  readonly text: string
  readonly date: Date
  readonly messageId: string
  readonly inReplyTo?: string | undefined
  readonly references?: readonly string[]
  readonly attachments?: readonly {
    readonly filename: string
    readonly contentType: string
    readonly content: Buffer
  }[]
}

type MailSending = { readonly name: string; readonly timeoutMs: number; readonly signal: AbortSignal }

/** Sends a mail to the recipients of a channel. Null: all of them have it. */
export async function sendMail(
  channel: SmtpChannel,
  mail: Mail,
  { name, timeoutMs, signal }: MailSending,
): Promise<Unsent | null> {
  const where = `${channel.host}:${channel.port}`
  const timeout = AbortSignal.timeout(timeoutMs)
  const nodemailer = await loadNodemailer()
  const transport = nodemailer.createTransport(await transportOptions(channel, { name, timeoutMs }))
  try {
    const info = await transport.sendMail({
      ...mail,
      from: { name: 'Rollcall', address: channel.from },
      to: [...channel.to],
      references: [...(mail.references ?? [])],
      attachments: [...(mail.attachments ?? [])],
      // Suppresses automatic replies.
      headers: { 'Auto-Submitted': 'auto-generated' },
      disableFileAccess: true,
      disableUrlAccess: true,
      signal: AbortSignal.any([signal, timeout]),
    })
    const refused = channel.to.filter((one) => !info.accepted.includes(one))
    if (refused.length === 0) return null
    const failure = `${where} refuses ${positions(channel, refused)}${codesOf(info.rejectedErrors?.at(-1))}`
    return { failure, isPartlyDelivered: true }
  } catch (error) {
    if (signal.aborted) return { failure: stoppedMeanwhile }
    if (timeout.aborted) return { failure: `${where} did not take the mail within ${timeoutMs / 1000} seconds` }
    return { failure: `${where} ${explained(error, channel)}`, ...(isTooLarge(error) && { isTooLarge: true }) }
  } finally {
    transport.close()
  }
}

/** Connects to the server of a channel and signs in there, without sending anything. Throws `alert_unsent` if that does not work. */
export async function tryMailServer(
  channel: SmtpChannel,
  { name, timeoutMs }: Pick<MailSending, 'name' | 'timeoutMs'>,
): Promise<void> {
  const nodemailer = await loadNodemailer()
  const transport = nodemailer.createTransport(await transportOptions(channel, { name, timeoutMs }))
  try {
    await transport.verify()
  } catch (error) {
    throw new Failure('alert_unsent', `${channel.host}:${channel.port} ${explained(error, channel)}`, { cause: error })
  } finally {
    transport.close()
  }
}

type MailOptions = { readonly from: string; readonly to: readonly string[]; readonly linkOf: AlertLink }

/** The mail of a notice. All mails about an alert refer to the message ID of its first single mail, so that they form a thread. */
export function mailMessage(notice: Message, { from, to, linkOf }: MailOptions) {
  const { subject, lines, link: address } = noticeText(notice, linkOf)
  const domain = from.slice(from.lastIndexOf('@') + 1)
  const messageId = `<${notice.id}@${domain}>`
  const threads = alertsOf(notice)
    .slice(0, maxThreads)
    .map(({ id }) => `<${id}_1@${domain}>`)
    .filter((id) => id !== messageId)
  const isReply = 'alert' in notice && notice.sentBefore > 0
  return {
    from: { name: 'Rollcall', address: from },
    to: [...to],
    subject: isReply ? `Re: ${subject}` : subject,
    text: `${[...lines, ...(address === null ? [] : [address])].join('\n')}\n`,
    date: notice.now,
    messageId,
    inReplyTo: isReply ? threads[0] : undefined,
    references: threads,
    // Suppresses automatic replies.
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

function alertsOf(notice: Message): readonly Alert[] {
  if (notice.type === 'group') return notice.changes.map(({ alert }) => alert)
  return notice.type === 'test' ? [] : [notice.alert]
}

async function transportOptions(
  { host, port, tls, login, ca }: SmtpChannel,
  { name, timeoutMs }: { name: string; timeoutMs: number },
) {
  return {
    host,
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'none',
    auth: login ? { user: await login.user.read(), pass: await login.password.read() } : undefined,
    tls: { ...provenServers, ca: ca === null ? undefined : await certificates(ca, name) },
    connectionTimeout: connectTimeoutMs,
    greetingTimeout: Math.min(timeoutMs, greetingMs),
    socketTimeout: timeoutMs,
    dnsTimeout: connectTimeoutMs,
    socketCloseTimeout: closeMs,
    logger: false,
  }
}

/** The text of a file with root certificates. Throws `config_invalid` if it cannot be read. */
export async function certificates(file: string, name: string): Promise<string> {
  try {
    return await readRegular(file)
  } catch (error) {
    const message = `alerts.channels.${name}.ca: cannot read ${file}${readProblem(error)}`
    throw new Failure('config_invalid', message, { cause: error })
  }
}

const meanings: Readonly<Record<string, string>> = {
  EDNS: 'has no address: check the name of the host',
  ECONNREFUSED: 'refuses connections: check host and port, and whether the server runs',
  ETIMEDOUT: 'did not answer in time',
  ETLS: 'and Rollcall cannot agree on TLS: check tls, and ca if its certificate is of your own authority',
  EAUTH: 'does not accept the user and the password',
  ENOAUTH: 'wants a user and a password',
  ECONNECTION: 'ended the connection too soon',
  EPROTOCOL: 'does not answer as a mail server does: check host, port and tls',
}

const envelopeCommands: Readonly<Record<string, string>> = {
  'MAIL FROM': 'refuses the sender',
  'RCPT TO': 'refuses all recipients',
  DATA: 'refuses the mail',
}

type SmtpError = {
  readonly code?: unknown
  readonly originalCode?: unknown
  readonly command?: unknown
  readonly response?: unknown
  readonly cert?: unknown
}

/** Why a mail was not taken, in words for people. */
function explained(error: unknown, { tls }: SmtpChannel): string {
  if (error instanceof Failure) return error.message
  const { command, response, originalCode, cert }: SmtpError = typeof error === 'object' && error !== null ? error : {}
  const code = errorCode(error) ?? (error instanceof Error ? error.name : 'unknown')
  const system = typeof originalCode === 'string' ? originalCode : code
  const codes = codesOf({ response })
  // 530 and 538 stand for "TLS first" as well as for "log in first".
  if (tls === 'none' && typeof response === 'string' && /^5\d\d.*(?:TLS|encrypt)/is.test(response))
    return `demands TLS: write tls: starttls${codes}`
  const refused = typeof command === 'string' ? envelopeCommands[command] : undefined
  if (refused !== undefined && codes !== '') return refused + codes
  if (cert !== undefined || /^(?:CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_TLS|ERR_SSL|HOSTNAME_)/.test(system))
    return `${meanings.ETLS} (${system})`
  return `${meanings[system] ?? meanings[code] ?? 'did not take the mail'}${codes === '' ? ` (${system})` : codes}`
}

/** 552 and 5.3.4: larger than the server takes; 5.2.3: than the mailbox takes. */
function isTooLarge(error: unknown): boolean {
  return /^ \((?:552\b(?! 5\.2\.2)|5\d\d 5\.(?:3\.4|2\.3)\))/.test(codesOf(error as SmtpError))
}

/** The codes of a reply, such as ` (550 5.1.1)`. The text after them may hold anything. */
function codesOf(error: { readonly response?: unknown } | undefined): string {
  const text = typeof error?.response === 'string' ? error.response : ''
  const [, code, enhanced] = /^(\d{3})[ -]?(\d\.\d{1,3}\.\d{1,3})?/.exec(text) ?? []
  return code === undefined ? '' : ` (${[code, enhanced].filter((part) => part !== undefined).join(' ')})`
}

/** Recipients by their index in the configuration: addresses stay out of logs. */
function positions({ to }: SmtpChannel, refused: readonly string[]): string {
  return refused.map((one) => `to[${to.indexOf(one)}]`).join(', ')
}
