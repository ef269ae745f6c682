import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Metrics, Reading } from './metrics.ts'
import { type ReadingContext, storeReadings } from './readings.ts'

type MetricsOptions = {
  readonly metrics: Metrics
  readonly context: ReadingContext
  /** Refuses everybody who may not read the metrics; null: everybody who reaches the port may. */
  readonly admit: ((request: FastifyRequest) => Promise<unknown>) | null
}

/** What is read from the store serves every scrape of these seconds. */
const keptMs = 5000
/** A scrape waits ten seconds by default; what the process itself counts is to come in time. */
const readWithinMs = 8000

/** Serves `/metrics`, as Prometheus reads it. */
export function serveMetrics(app: FastifyInstance, { metrics, context, admit }: MetricsOptions): void {
  let last: { readonly readings: Promise<Reading[]>; readonly atMs: number } | null = null

  function current(): Promise<Reading[]> {
    if (last === null || performance.now() - last.atMs > keptMs)
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

/** Without the store there is still something to say of the process. */
async function readings(context: ReadingContext): Promise<Reading[]> {
  const patience = Promise.withResolvers<null>()
  const timer = setTimeout(() => patience.resolve(null), readWithinMs)
  try {
    const read = await Promise.race([storeReadings(context).catch(() => null), patience.promise])
    return [...(read ?? []), { name: 'rollcall_store_up', value: read === null ? 0 : 1 }]
  } finally {
    clearTimeout(timer)
  }
}
