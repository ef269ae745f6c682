import { Agent } from 'undici'
import {
  fixedLookup,
  type ResolveHost,
  resolveCheckedAddresses,
  resolveHost,
} from '../../connectors/http/network/addresses.ts'
import { isLocalHost } from '../../connectors/http/network/private-address.ts'
import { Failure } from '../../errors.ts'
import { retryAfterMs } from '../../http/client/retry-after.ts'
import { provenServers } from '../../http/client/tls.ts'
import { escapeJson } from '../../text/escape.ts'
import type { Notice, Sender, SlackChannel, Unsent } from '../config/channel.ts'
import type { AlertLink } from './links.ts'
import { connectTimeoutMs, isRedirect, noAnswer, stoppedMeanwhile } from './post.ts'
import { type NoticeText, noticeText } from './text.ts'

const answerBytes = 1000
/** How Slack and its like name an error, such as invalid_token. Other text of an answer is never shown. */
const errorName = /^[a-z][a-z0-9_]{1,59}$/

type SlackOptions = {
  readonly name: string
  readonly linkOf: AlertLink
  readonly timeoutMs: number
  readonly resolve?: ResolveHost
}

/** Sends to an incoming webhook of Slack or of a chat that understands the same. The address is a secret: only its host is ever shown. */
export function slackSender(
  channel: SlackChannel,
  { name, linkOf, timeoutMs, resolve = resolveHost }: SlackOptions,
): Sender {
  return {
    async send(notice, signal) {
      const url = URL.parse(await channel.url.read())
      if (!url || !/^https?:$/.test(url.protocol))
        return { failure: `alerts.channels.${name}.url does not hold an address` }
      const timeout = AbortSignal.timeout(timeoutMs)
      const either = AbortSignal.any([signal, timeout])
      try {
        return await before(either, post(url, { channel, resolve, body: slackMessage(notice, linkOf), signal: either }))
      } catch (error) {
        if (signal.aborted) return { failure: stoppedMeanwhile }
        if (error instanceof Failure) return { failure: error.message }
        return { failure: `${url.host} ${noAnswer(error, timeout, timeoutMs)}` }
      }
    },
    async [Symbol.asyncDispose]() {},
  }
}

/** The document that is posted. `text` is what notifications show; blocks are the message itself. */
export function slackMessage(notice: Notice, linkOf: AlertLink): string {
  const { subject, lines, link: address } = noticeText(notice, linkOf)
  const message = {
    text: escaped([subject, ...lines].join('\n')),
    mrkdwn: false,
    link_names: false,
    unfurl_links: false,
    unfurl_media: false,
    blocks: blocksOf({ subject, lines, link: address }),
  }
  return escapeJson(JSON.stringify(message))
}

// Blocks use `plain_text`, which has no markup, except for the link, which comes from the configuration.
function blocksOf({ subject, lines, link }: NoticeText): object[] {
  const text = [subject, ...lines].join('\n')
  return [
    { type: 'section', text: { type: 'plain_text', text: withoutMentions(text), emoji: false } },
    ...(link === null
      ? []
      : [{ type: 'section', text: { type: 'mrkdwn', text: `<${escaped(link.replaceAll('|', '%7C'))}>` } }]),
  ]
}

function escaped(text: string): string {
  return withoutMentions(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** A zero-width character after each @ prevents mentions: some chats treat @all as one anywhere. */
function withoutMentions(text: string): string {
  return text.replaceAll('@', '@\u2060')
}

type SlackPost = {
  readonly channel: SlackChannel
  readonly resolve: ResolveHost
  readonly body: string
  readonly signal: AbortSignal
}

async function post(url: URL, { channel, resolve, body, signal }: SlackPost): Promise<Unsent | null> {
  const { allowPrivate, insecure } = channel
  if (url.protocol === 'http:' && !insecure && !(allowPrivate && isLocalHost(url)))
    return { failure: `${url.host} is to be reached without TLS: write https://, or insecure: true` }
  // The connection uses the checked addresses, so a DNS change in between has no effect.
  const addresses = await resolveCheckedAddresses(url, { allowPrivate, insecure, resolve })
  signal.throwIfAborted()
  const agent = new Agent({
    allowH2: false,
    connect: { timeout: connectTimeoutMs, lookup: fixedLookup(addresses), ...provenServers },
  })
  try {
    const answer = await agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'POST',
      headers: { 'content-type': 'application/json; charset=utf-8', 'user-agent': 'rollcall' },
      body,
      reset: true,
      signal,
    })
    const text = await beginningOf(answer.body)
    return refusalOf(url.host, answer.statusCode, { text, retryAfterMs: retryAfterMs(answer.headers) })
  } finally {
    await agent.destroy()
  }
}

/** The first bytes of an answer: the rest may never end. */
async function beginningOf(
  body: AsyncIterable<Buffer> & { destroy(): unknown; on(event: 'error', listener: () => void): unknown },
) {
  const pieces: Buffer[] = []
  let bytes = 0
  body.on('error', () => {})
  for await (const piece of body) {
    pieces.push(piece)
    bytes += piece.length
    if (bytes >= answerBytes) break
  }
  return Buffer.concat(pieces).subarray(0, answerBytes).toString('utf8')
}

function refusalOf(
  host: string,
  status: number,
  { text, retryAfterMs: waitMs }: { text: string; retryAfterMs: number | null },
): Unsent | null {
  const name = errorIn(text)
  if (status >= 200 && status < 300) return name === null ? null : { failure: `${host} refuses the message (${name})` }
  if (isRedirect(status)) return { failure: `${host} redirects (${status}), which is not followed: check the address` }
  const wait = waitMs === null ? '' : `, and asks to wait ${Math.ceil(waitMs / 1000)} s`
  return { failure: `${host} answers ${status}${name === null ? '' : ` (${name})`}${wait}`, retryAfterMs: waitMs }
}

/** The name of the error in an answer: the whole text, or `error` of a document that says that it is not ok. */
function errorIn(text: string): string | null {
  const bare = text.trim()
  if (bare === 'ok') return null
  const name = errorName.test(bare) ? bare : errorOfDocument(bare)
  return name !== null && errorName.test(name) ? name : null
}

function errorOfDocument(text: string): string | null {
  try {
    const document: unknown = JSON.parse(text)
    if (typeof document !== 'object' || document === null || !('ok' in document) || document.ok !== false) return null
    return 'error' in document && typeof document.error === 'string' ? document.error : 'not_ok'
  } catch {
    return null
  }
}

/** The result, or the reason of the signal if that comes first: looking up a name cannot be stopped. */
async function before<T>(signal: AbortSignal, result: Promise<T>): Promise<T> {
  const stopped = Promise.withResolvers<never>()
  const stop = (): void => stopped.reject(signal.reason)
  signal.addEventListener('abort', stop)
  result.catch(() => {})
  try {
    signal.throwIfAborted()
    return await Promise.race([result, stopped.promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
