import { randomUUID } from 'node:crypto'
import { setTimeout as after } from 'node:timers/promises'
import type { Context, Span, Tracer } from '@opentelemetry/api'
import type { SpanExporter } from '@opentelemetry/sdk-trace'
import { errorCode } from '../errors.ts'
import { withOptionalPackage } from '../system/optional-package.ts'
import { escapeText } from '../text/escape.ts'
import type { Events } from './events.ts'
import {
  type OpenSpan,
  runInSpan,
  type SpanAttributes,
  type SpanKind,
  type TracedRun,
  type Traces,
  traceIdOf,
} from './traces.ts'

type OtlpSettings = {
  /** The base address: traces are posted to `/v1/traces` below it. */
  readonly endpoint: string
  readonly sampleRatio: number
  readonly serviceName: string
  readonly version: string
  /** Further attributes of the process. */
  readonly process: SpanAttributes
  /** Read for each request. */
  readonly headers: () => Promise<Record<string, string>>
}

type Packages = Awaited<ReturnType<typeof loadPackages>>

/** Spans that a collector has not taken by then are dropped. */
const exportTimeoutMs = 5000
/** How long an ended span waits for others to be sent with it. */
const batchDelayMs = 2000
/** How long the end of the process waits for unsent spans. */
const shutdownMs = 2000

/**
 * Sends the traces of this process to a collector, by OTLP over HTTP. Spans that it does not take are dropped; an event reports the begin
 * and the end of an outage. Throws `config_invalid` if the packages of OpenTelemetry are not installed.
 */
export async function startTraces(settings: OtlpSettings, events: Events): Promise<Traces & AsyncDisposable> {
  const packages = await loadPackages()
  const { TracerProvider, BatchSpanProcessor, TraceIdRatioBasedSampler } = packages.sdk
  const exporter = reportOutages(createExporter(packages, settings), settings, events)
  const ids = createIds(new packages.sdk.RandomIdGenerator())
  const provider = new TracerProvider({
    // Decides by the trace ID, which is the run's, so that all processes sample the same runs.
    sampler: new TraceIdRatioBasedSampler(settings.sampleRatio),
    idGenerator: ids,
    spanProcessors: [
      new BatchSpanProcessor({ exporter, exportTimeoutMillis: exportTimeoutMs, scheduledDelayMillis: batchDelayMs }),
    ],
    resource: packages.resources.resourceFromAttributes({
      'service.name': settings.serviceName,
      'service.version': settings.version,
      'service.instance.id': randomUUID(),
      ...escapeAttributes(settings.process),
    }),
  })
  const tracer = provider.getTracer('rollcall', settings.version)
  return {
    ...createTraces(tracer, packages.api, ids),
    async [Symbol.asyncDispose]() {
      const timer = new AbortController()
      const timeout = after(shutdownMs, undefined, { signal: timer.signal }).catch(() => {})
      await Promise.race([provider.shutdown().catch(() => {}), timeout])
      timer.abort()
    },
  }
}

async function loadPackages() {
  return await withOptionalPackage(
    async () => {
      const [api, sdk, resources, otlp] = await Promise.all([
        import('@opentelemetry/api'),
        import('@opentelemetry/sdk-trace'),
        import('@opentelemetry/resources'),
        import('@opentelemetry/exporter-trace-otlp-http'),
      ])
      return { api, sdk, resources, otlp }
    },
    { name: '@opentelemetry', use: '"traces"' },
  )
}

function createExporter({ otlp }: Packages, { endpoint, headers }: OtlpSettings): SpanExporter {
  return new otlp.OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
    headers,
    timeoutMillis: exportTimeoutMs,
    // As for every other server, regardless of the environment.
    httpAgentOptions: { keepAlive: true, rejectUnauthorized: true, minVersion: 'TLSv1.2' },
  })
}

/** Emits an event when the collector begins to refuse traces, and when it takes them again. */
function reportOutages(exporter: SpanExporter, { endpoint }: OtlpSettings, events: Events): SpanExporter {
  const collector = new URL(endpoint).host
  let isAway = false
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const failed = result.error !== undefined
        if (failed && !isAway) events.tracesUnsent({ collector, reason: reasonOf(result.error) })
        if (!failed && isAway) events.tracesSent({ collector })
        isAway = failed
        done(result)
      })
    },
    forceFlush: async () => await exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  }
}

/** The code of an error only: the collector's text may hold anything. */
function reasonOf(error: Error | undefined): string {
  const code = errorCode(error)
  if (code === undefined) return 'no answer in time'
  return /^\d{3}$/.test(code) ? `answered with status ${code}` : code
}

type Ids = {
  generateTraceId(): string
  generateSpanId(): string
  /** Sets the IDs of the next span. */
  setNext(traceId: string, spanId: string): void
}

/** Random IDs, except for a span whose IDs were set. */
function createIds(random: Omit<Ids, 'setNext'>): Ids {
  let next: { readonly traceId: string; readonly spanId: string } | null = null
  return {
    setNext(traceId, spanId) {
      next = { traceId, spanId }
    },
    // OpenTelemetry generates the span ID first.
    generateSpanId: () => next?.spanId ?? random.generateSpanId(),
    generateTraceId() {
      const traceId = next?.traceId ?? random.generateTraceId()
      next = null
      return traceId
    },
  }
}

function createTraces(tracer: Tracer, api: Packages['api'], ids: Ids): Traces {
  const { ROOT_CONTEXT, SpanKind: kinds, SpanStatusCode, TraceFlags, trace } = api
  const kindOf = { internal: kinds.INTERNAL, job: kinds.CONSUMER, request: kinds.CLIENT } as const

  function open(parent: Context, name: string, kind: SpanKind, attributes: SpanAttributes): OpenSpan {
    return openSpan(
      tracer.startSpan(name, { kind: kindOf[kind], attributes: escapeAttributes(attributes) }, parent),
      parent,
    )
  }

  function openSpan(span: Span, parent: Context): OpenSpan {
    const here = trace.setSpan(parent, span)
    return {
      traceId: span.spanContext().traceId,
      startChild: (name, kind, attributes) => open(here, name, kind, attributes),
      setAttributes: (attributes) => span.setAttributes(escapeAttributes(attributes)),
      end(fault = null) {
        if (fault !== null) span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute('error.type', fault)
        span.end()
      },
    }
  }

  function belowRun(runId: string): Context {
    const spanContext = { ...rootOf(runId), traceFlags: TraceFlags.SAMPLED, isRemote: true }
    return trace.setSpanContext(ROOT_CONTEXT, spanContext)
  }

  return {
    isOn: true,
    ofRun({ runId, name, kind = 'internal', attributes, isExpected }, work) {
      const all = { 'rollcall.run': runId, ...attributes }
      const span = open(belowRun(runId), name, kind, all)
      return runInSpan(span, all, async () => ({ result: await work(), fault: null }), isExpected)
    },
    addEvent(runId, name, attributes) {
      open(belowRun(runId), name, 'internal', { 'rollcall.run': runId, ...attributes }).end()
    },
    recordRun(run) {
      const { traceId, spanId } = rootOf(run.id)
      ids.setNext(traceId, spanId)
      const startTime = new Date(run.createdAt)
      const span = tracer.startSpan('run', { startTime, attributes: attributesOf(run) }, ROOT_CONTEXT)
      if (run.state === 'failed') span.setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    },
  }
}

function escapeAttributes(attributes: SpanAttributes): SpanAttributes {
  const escaped = ([name, value]: [string, string | number]) =>
    [name, typeof value === 'string' ? escapeText(value) : value] as const
  return Object.fromEntries(Object.entries(attributes).map(escaped))
}

function rootOf(runId: string): { readonly traceId: string; readonly spanId: string } {
  const traceId = traceIdOf(runId)
  return { traceId, spanId: traceId.slice(0, 16) }
}

function attributesOf({ id, connection, trigger, feed, state }: TracedRun): SpanAttributes {
  return {
    'rollcall.run': id,
    'rollcall.connection': connection,
    'rollcall.trigger': trigger,
    'rollcall.feed': feed,
    'rollcall.state': state,
  }
}
