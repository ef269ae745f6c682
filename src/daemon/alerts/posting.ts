import { Agent, type Dispatcher } from 'undici'
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
import type { ChatOrIncidentChannel, Sender, Unsent } from '../config/channel.ts'
import type { AlertLink } from './links.ts'
import { connectTimeoutMs, isRedirect, noAnswer, stoppedMeanwhile } from './post.ts'
import type { PostedRequest } from './posted.ts'
import { requestsFor, templates } from './templates.ts'

const answerBytes = 4000

type PostingOptions = {
  readonly name: string
  readonly linkOf: AlertLink
  readonly timeoutMs: number
  readonly resolve?: ResolveHost
}

/** Sends to a receiver of the template table. Address and key are secrets: only the host is ever shown, and no text that it answers. */
export function postingSender(
  channel: ChatOrIncidentChannel,
  { name, linkOf, timeoutMs, resolve = resolveHost }: PostingOptions,
): Sender {
  return {
    async send(notice, signal) {
      const url = URL.parse(await channel.url.read())
      if (!url || !/^https?:$/.test(url.protocol))
        return { failure: `alerts.channels.${name}.url does not hold an address` }
      // No key has blanks, but a file with one may end in them.
      const key = ((await channel.key?.read()) ?? '').trim()
      for (const request of requestsFor(channel.type, notice, { key, linkOf })) {
        const unsent = await sendOne(url, { channel, key, request, resolve, timeoutMs, signal })
        if (unsent !== null) return unsent
      }
      return null
    },
    async [Symbol.asyncDispose]() {},
  }
}

type PostInput = {
  readonly channel: ChatOrIncidentChannel
  readonly key: string
  readonly request: PostedRequest
  readonly resolve: ResolveHost
  readonly signal: AbortSignal
}

async function sendOne(
  url: URL,
  { timeoutMs, ...posting }: PostInput & { readonly timeoutMs: number },
): Promise<Unsent | null> {
  const { signal } = posting
  const timeout = AbortSignal.timeout(timeoutMs)
  const either = AbortSignal.any([signal, timeout])
  try {
    return await before(either, post(url, { ...posting, signal: either }))
  } catch (error) {
    if (signal.aborted) return { failure: stoppedMeanwhile }
    if (error instanceof Failure) return { failure: error.message }
    return { failure: `${url.host} ${noAnswer(error, timeout, timeoutMs)}` }
  }
}

async function post(url: URL, { channel, key, request, resolve, signal }: PostInput): Promise<Unsent | null> {
  const { allowPrivate, insecure, type } = channel
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
      path: pathOf(url, request.path),
      method: request.method ?? 'POST',
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'user-agent': 'rollcall',
        ...templates[type].headers(key),
      },
      body: postedText(request),
      reset: true,
      signal,
    })
    return unsentBy(url.host, answer, { text: await beginningOf(answer.body), channel, request })
  } finally {
    await agent.destroy()
  }
}

/** What is posted. */
export function postedText({ body }: PostedRequest): string {
  return escapeJson(JSON.stringify(body))
}

/** The address of the channel alone, or with the path of a request after it. Many copy the address with the path. */
function pathOf({ pathname, search }: URL, path: string): string {
  return path === '' ? pathname + search : pathname.replace(/(?:\/v2\/(?:enqueue|alerts))?\/?$/, '') + path
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

type ReceivedResponse = {
  readonly text: string
  readonly channel: ChatOrIncidentChannel
  readonly request: PostedRequest
}

function unsentBy(
  host: string,
  { statusCode: status, headers }: Pick<Dispatcher.ResponseData, 'statusCode' | 'headers'>,
  { text, channel, request }: ReceivedResponse,
): Unsent | null {
  const template = templates[channel.type]
  if (status >= 200 && status < 300) {
    const refusal = template.refusal({ status, text })
    return refusal === null ? null : { failure: `${host} ${refusal}` }
  }
  if (status === 404 && request.acceptsMissing) return null
  if (isRedirect(status)) return { failure: `${host} redirects (${status}), which is not followed: check the address` }
  const stated = retryAfterMs(headers) ?? secondsIn(headers, template.waitHeader)
  const waitMs = stated ?? (status === 429 ? template.waitMs : null)
  const meaning = template.meaning({ status, text })
  const wait = stated === null ? '' : `, and asks to wait ${Math.ceil(stated / 1000)} s`
  return {
    failure: `${host} answers ${status}${meaning === null ? '' : ` (${meaning})`}${wait}`,
    retryAfterMs: waitMs,
  }
}

function secondsIn(headers: Dispatcher.ResponseData['headers'], name: string | null): number | null {
  const value = name === null ? undefined : headers[name]
  return typeof value === 'string' && /^\d{1,6}$/.test(value) ? Number(value) * 1000 : null
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
