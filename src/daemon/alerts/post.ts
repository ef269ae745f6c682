import { Agent, type Dispatcher } from 'undici'
import { namedRecipe } from '../../connectors/webhook/named-recipes.ts'
import { signWebhook } from '../../connectors/webhook/sign.ts'
import { errorCode, Failure } from '../../errors.ts'
import { retryAfterMs } from '../../http/client/retry-after.ts'
import { provenServers } from '../../http/client/tls.ts'
import type { Unsent } from '../config/channel.ts'

/** One message to a receiver. `id` stays the same when it is sent again, so that the receiver can recognise it. */
type Post = {
  readonly url: string
  readonly secret: string
  /** Where the configuration names the secret. */
  readonly setting: string
  readonly id: string
  readonly body: string
  readonly now: Date
}

/** How long a connection to a receiver may take. */
export const connectTimeoutMs = 5000
/** Why a message was not sent if the process is stopping. */
export const stoppedMeanwhile = 'this process stopped meanwhile'

type Poster = AsyncDisposable & {
  /** Null if the receiver took the message, else why it did not. Errors of the network and the receiver are not thrown. */
  post(post: Post, signal: AbortSignal): Promise<Unsent | null>
}

/** Posts JSON signed as Standard Webhooks specifies. Follows no redirect and reads only the status of the response. */
export function createPoster({ timeoutMs }: { timeoutMs: number }): Poster {
  const agent = new Agent({ connect: { timeout: connectTimeoutMs, ...provenServers } })
  return {
    async post(post, signal) {
      const headers = signedHeaders(post)
      const timeout = AbortSignal.timeout(timeoutMs)
      try {
        const {
          statusCode,
          headers: responseHeaders,
          body,
        } = await send(agent, post, headers, AbortSignal.any([signal, timeout]))
        // The body is not used and may be endless: drop it together with the connection.
        body.on('error', () => {}).destroy()
        if (statusCode >= 200 && statusCode < 300) return null
        return { failure: refusal(statusCode), retryAfterMs: retryAfterMs(responseHeaders) }
      } catch (error) {
        return { failure: signal.aborted ? stoppedMeanwhile : noAnswer(error, timeout, timeoutMs) }
      }
    },
    [Symbol.asyncDispose]: () => agent.destroy(),
  }
}

/** The headers with which a receiver verifies a message. Throws `config_invalid` for a secret that cannot sign. */
export function signedHeaders({ secret, setting, id, body, now }: Omit<Post, 'url'>): Record<string, string> {
  try {
    return signWebhook({ recipe: namedRecipe('standard-webhooks'), secret, id, body: Buffer.from(body), now })
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw new Failure('config_invalid', `${setting}: ${error.message}`, { cause: error })
  }
}

function send(
  agent: Agent,
  { url, body }: Post,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  const { origin, pathname, search } = new URL(url)
  return agent.request({
    origin,
    path: pathname + search,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': 'rollcall', ...headers },
    body,
    reset: true,
    signal,
  })
}

function refusal(status: number): string {
  if (isRedirect(status)) return `redirects (${status}), which is not followed: write the last address as url`
  return `answers ${status}`
}

/** Whether a response is a redirect. */
export function isRedirect(status: number): boolean {
  return status >= 300 && status < 400
}

/** Why there was no response, to append to the name of the receiver. */
export function noAnswer(error: unknown, timeout: AbortSignal, timeoutMs: number): string {
  const code = errorCode(error) ?? (error instanceof Error ? error.name : 'unknown')
  return `gave no answer ${timeout.aborted ? `within ${timeoutMs / 1000} seconds` : `(${code})`}`
}
