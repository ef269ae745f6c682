import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@platformatic/prom-client'
import type { Event } from '../../telemetry/events.ts'
import { version } from '../../version.ts'
import { catalogue, type MetricName } from './catalogue.ts'

type Labels = Readonly<Record<string, string>>

/** A value that is read at a scrape. */
export type Reading = { readonly name: MetricName; readonly labels?: Labels; readonly value: number }

/** The metrics of one process. They outlive its daemon, which a reload starts anew. */
export type Metrics = {
  /** Counts an event. */
  record(event: Event): void
  /** The text of a scrape, with these readings. */
  text(readings: readonly Reading[]): Promise<string>
  readonly contentType: string
}

const defaultBounds = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600]

/** Creates metrics at zero. `ofProcess`: also memory, CPU time, event loop and garbage collection. */
export function createMetrics({ ofProcess = false } = {}): Metrics {
  const registry = new Registry()
  const gauges = new Map<MetricName, Gauge<string>>()
  const counters = new Map<MetricName, Counter<string>>()
  const histograms = new Map<MetricName, Histogram<string>>()
  for (const [key, metric] of Object.entries(catalogue)) {
    const name = key as MetricName
    const { type, help, labels } = metric
    const about = { name, help, labelNames: [...labels], registers: [registry] }
    if (type === 'counter') counters.set(name, new Counter(about))
    else if (type === 'histogram') {
      const buckets = [...('bounds' in metric ? metric.bounds : defaultBounds)]
      histograms.set(name, new Histogram({ ...about, buckets }))
    } else gauges.set(name, new Gauge(about))
  }
  if (ofProcess) collectDefaultMetrics({ register: registry })

  const increment = (name: MetricName, labels: Labels = {}, by = 1): void => counters.get(name)?.inc(labels, by)
  const observe = (name: MetricName, labels: Labels, ms: number): void =>
    histograms.get(name)?.observe(labels, ms / 1000)

  const rejected: RejectedRows = new Map()

  return {
    record: (event) => count(event, { increment, observe, rejected }),
    async text(readings) {
      for (const gauge of gauges.values()) gauge.reset()
      gauges.get('rollcall_info')?.set({ version }, 1)
      // A gauge without labels starts at zero: leave out gauges without a reading.
      const read = new Set(readings.map(({ name }) => name))
      for (const { name, labels = {}, value } of readings) gauges.get(name)?.set(labels, value)
      const all = await registry.getMetricsAsArray()
      const shown = all.filter(
        ({ name }) => !gauges.has(name as MetricName) || read.has(name as MetricName) || name === 'rollcall_info',
      )
      const texts = await Promise.all(shown.map(({ name }) => registry.getSingleMetricAsString(name)))
      return `${texts.join('\n\n')}\n`
    },
    contentType: registry.contentType,
  }
}

type MetricSink = {
  readonly increment: (name: MetricName, labels?: Labels, by?: number) => void
  readonly observe: (name: MetricName, labels: Labels, ms: number) => void
  readonly rejected: RejectedRows
}

/**
 * Rejected rows of the run that reads a connection: each part of the run reports the total so far. If another process takes a run over, the
 * next run of the connection replaces its entry.
 */
type RejectedRows = Map<string, { readonly runId: string; readonly rows: number }>

function count(event: Event, { increment, observe, rejected }: MetricSink): void {
  switch (event.event) {
    case 'run.started':
      rejected.set(event.connection, { runId: event.runId, rows: 0 })
      break
    case 'run.read': {
      const current = rejected.get(event.connection)
      const before = current?.runId === event.runId ? current.rows : 0
      if (event.rejected > before)
        increment('rollcall_rows_rejected_total', { connection: event.connection }, event.rejected - before)
      rejected.set(event.connection, { runId: event.runId, rows: event.rejected })
      break
    }
    case 'run.finished':
      increment('rollcall_runs_total', { connection: event.connection, outcome: 'finished' })
      observe('rollcall_run_duration_seconds', { connection: event.connection }, event.durationMs)
      break
    case 'run.unchanged':
      rejected.delete(event.connection)
      increment('rollcall_runs_total', { connection: event.connection, outcome: 'unchanged' })
      break
    case 'run.held':
      increment('rollcall_runs_total', { connection: event.connection, outcome: 'held' })
      break
    case 'run.failed':
      rejected.delete(event.connection)
      increment('rollcall_runs_total', { connection: event.connection, outcome: 'failed' })
      break
    case 'run.planned':
      rejected.delete(event.connection)
      for (const [kind, changes] of Object.entries(event.counts))
        increment('rollcall_changes_planned_total', { connection: event.connection, kind }, changes)
      break
    case 'delivery.sent':
      increment(
        'rollcall_people_delivered_total',
        { connection: event.connection, outcome: 'confirmed' },
        event.confirmed,
      )
      increment('rollcall_people_delivered_total', { connection: event.connection, outcome: 'refused' }, event.problems)
      break
    case 'delivery.failed':
      increment('rollcall_delivery_failures_total', { connection: event.connection })
      break
    case 'delivery.postponed':
      increment('rollcall_delivery_retries_total', { connection: event.connection })
      break
    case 'request.answered': {
      const { operation, outcome, durationMs } = event
      observe('rollcall_request_duration_seconds', { operation, outcome }, durationMs)
      break
    }
    case 'job.finished':
      increment('rollcall_jobs_total', { task: event.job, outcome: 'finished' })
      observe('rollcall_job_duration_seconds', { task: event.job }, event.durationMs)
      break
    case 'job.postponed':
      increment('rollcall_jobs_total', { task: event.job, outcome: 'postponed' })
      break
    case 'job.returned':
      increment('rollcall_jobs_total', { task: event.job, outcome: 'returned' })
      break
    case 'job.failed':
      increment('rollcall_jobs_total', { task: event.job, outcome: event.final ? 'failed' : 'retried' })
      break
    case 'webhook.stored':
      increment('rollcall_webhook_events_total', { connection: event.connection, outcome: 'stored' }, event.stored)
      increment(
        'rollcall_webhook_events_total',
        { connection: event.connection, outcome: 'duplicate' },
        event.duplicates,
      )
      break
    case 'scim.stored':
      increment('rollcall_webhook_events_total', { connection: event.connection, outcome: 'stored' }, event.stored)
      break
    case 'webhook.refused':
    case 'scim.refused':
      increment('rollcall_webhook_events_total', { connection: event.connection, outcome: 'refused' }, event.times)
      break
    case 'webhook.failed':
      increment('rollcall_webhook_events_total', { connection: event.connection, outcome: 'failed' })
      break
    case 'control.refused':
      increment('rollcall_control_refused_total', {}, event.times)
      break
    case 'store.unreachable':
      increment('rollcall_store_unreachable_total', {}, event.times)
      break
    default:
      break
  }
}
