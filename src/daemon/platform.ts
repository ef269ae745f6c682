import { deliveryOperations } from '../contract/platform/delivery-operations.ts'
import type { Database } from '../database/database.ts'
import { type AnyAnswer, kindOf, statusOf } from '../http/client/answer.ts'
import { type Around, createClient } from '../http/client/client.ts'
import { lazyAgent } from '../http/client/lazy-agent.ts'
import { provenServers } from '../http/client/tls.ts'
import type { StoreSchema } from '../store/schema.ts'
import type { Platform } from '../sync/context/context.ts'
import { createRateLimiter } from '../sync/rate-limit/rate-limiter.ts'
import type { Events } from '../telemetry/events.ts'
import { traceStep } from '../telemetry/traces.ts'
import type { Config } from './config/config.ts'

/** `events`: left out, requests are neither logged nor traced. */
type PlatformOptions = { readonly events?: Events }

const connectTimeoutMs = 10_000

/**
 * The platform client, with a request budget that all processes of the store share. The key is read for each request, so a replaced
 * secret file takes effect.
 */
export function openPlatform(
  { platform }: Config,
  store: Pick<Database<StoreSchema>, 'pool'> | null,
  { events }: PlatformOptions = {},
): Platform & AsyncDisposable {
  const agent = lazyAgent({
    connect: { timeout: connectTimeoutMs, ...provenServers, ca: platform.ca ?? undefined },
  })
  const client = createClient(deliveryOperations, {
    baseUrl: platform.baseUrl,
    bearer: () => platform.apiKey.read(),
    dispatcher: agent.dispatcher,
    timeoutMs: platform.timeoutMs,
    around: events && timeRequests(events),
  })
  return {
    client,
    baseUrl: platform.baseUrl,
    rateLimiter: createRateLimiter({
      pool: store?.pool ?? null,
      platform: platform.baseUrl,
      requestsPerMinute: platform.requestsPerMinute,
      inFlight: platform.inFlight,
    }),
    inFlight: platform.inFlight,
    [Symbol.asyncDispose]: () => agent.destroy(),
  }
}

/** Emits the outcome and duration of each request to the platform, and traces the request as a step of its job. */
function timeRequests(events: Events): Around {
  return async ({ operation, method }, request) => {
    const sentMs = performance.now()
    const answer = await traceStep(`${method} ${operation}`, request, {
      kind: 'request',
      attributes: { 'rollcall.operation': operation, 'http.request.method': method },
      describeResult: describeAnswer,
    })
    const durationMs = Math.round(performance.now() - sentMs)
    events.requestAnswered({ operation, method, outcome: kindOf(answer), status: statusOf(answer), durationMs })
    return answer
  }
}

function describeAnswer(answer: AnyAnswer) {
  const outcome = kindOf(answer)
  const attributes = { 'http.response.status_code': statusOf(answer), 'rollcall.outcome': outcome }
  return { attributes, fault: outcome === 'taken' ? null : outcome }
}
