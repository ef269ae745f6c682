import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Dispatcher, request } from 'undici'
import { Failure } from '../../errors.ts'

/** Maximum time until the platform has written the export. */
const gatherMs = 60 * 60 * 1000

type RunningPlatform = { readonly url: string; readonly token: string; readonly dispatcher: Dispatcher }

/** Writes the export of the running platform at `url` to `sink`, which stays open. A truncated response is a failure. */
export async function fetchExport({
  url,
  token,
  dispatcher,
  sink,
}: RunningPlatform & { sink: Writable }): Promise<void> {
  const { statusCode, headers, body } = await requestExport({ url, token, dispatcher })
  if (statusCode !== 200 || !String(headers['content-type']).startsWith('application/json')) {
    await body.dump()
    if (statusCode === 401) throw new Failure('blocked', `the platform at ${url} does not accept this operator token`)
    throw new Failure('platform_unreachable', `what answers at ${url} gives no export (HTTP ${statusCode})`)
  }
  let hasEnded = false
  body.once('end', () => {
    hasEnded = true
  })
  try {
    await pipeline(body, sink, { end: false })
  } catch (error) {
    if (hasEnded || sink.errored) throw error
    throw new Failure('platform_unreachable', `the export of the platform at ${url} was cut off`, { cause: error })
  }
}

async function requestExport({ url, token, dispatcher }: RunningPlatform) {
  try {
    return await request(`${url.replace(/\/+$/, '')}/export`, {
      dispatcher,
      headersTimeout: gatherMs,
      headers: { authorization: `Bearer ${token}` },
    })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Failure('platform_unreachable', `the platform at ${url} does not answer: ${reason}`, { cause: error })
  }
}
