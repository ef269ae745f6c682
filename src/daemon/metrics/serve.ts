import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Metrics, Reading } from './metrics.ts'
import { type ReadingContext, storeReadings } from './readings.ts'

type MetricsOptions = {
  readonly metrics: Metrics
  readonly context: ReadingContext
  /** Throws a refusal for callers who may not read the metrics; null: everybody may. */
  readonly admit: ((request: FastifyRequest) => Promise<unknown>) | null
}

/** How long the readings of the store are reused. */
const cacheMs = 5000
/** A scrape waits ten seconds by default; the counters of the process must arrive in time. */
const readTimeoutMs = 8000

/** Serves `/metrics`, as Prometheus reads it. */
export function serveMetrics(app: FastifyInstance, { metrics, context, admit }: MetricsOptions): void {
  let last: { readonly readings: Promise<Reading[]>; readonly atMs: number } | null = null

  function current(): Promise<Reading[]> {
    if (last === null || performance.now() - last.atMs > cacheMs)
      last = { readings: readings(context), atMs: performance.now() }
    return last.readings
  }

  app.get('/metrics', async (request, reply) => {
    await admit?.(request)
    const text = await metrics.text(await current())
    reply.header('content-type', metrics.contentType).header('cache-control', 'no-store')
    return text
  })
}

/** The readings of the store; without them if it does not answer in time. */
async function readings(context: ReadingContext): Promise<Reading[]> {
  const timeout = Promise.withResolvers<null>()
  const timer = setTimeout(() => timeout.resolve(null), readTimeoutMs)
  try {
    const read = await Promise.race([storeReadings(context).catch(() => null), timeout.promise])
    return [...(read ?? []), { name: 'rollcall_store_up', value: read === null ? 0 : 1 }]
  } finally {
    clearTimeout(timer)
  }
}
