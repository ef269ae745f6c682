import { randomUUID } from 'node:crypto'
import { setTimeout as after } from 'node:timers/promises'
import type { Context, Span, Tracer } from '@opentelemetry/api'
import type { SpanExporter } from '@opentelemetry/sdk-trace'
import { errorCode } from '../errors.ts'
import { withOptionalPackage } from '../system/optional-package.ts'
import { escapeText } from '../text/escape.ts'
import type { Events } from './events.ts'
import {
  type TracedRun,
  type SpanAttributes,
  type OpenSpan,
  type SpanKind,
  type Traces,
  traceIdOf,
  runInSpan,
} from './traces.ts'

type OtlpSettings = {
  /** Below which the collector takes traces at `/v1/traces`. */
  readonly endpoint: string
  readonly sampleRatio: number
  readonly serviceName: string
  readonly version: string
  /** What else is said of the process. */
  readonly process: SpanAttributes
  /** Read for each request. */
  readonly headers: () => Promise<Record<string, string>>
}

type Packages = Awaited<ReturnType<typeof loadPackages>>

/** A collector that takes longer is given up for what was to be sent to it. */
const exportTimeoutMs = 5000
/** How long a span that has ended may wait for others to go with it. */
const gatherMs = 2000
/** How long the end of the process waits for what was not sent yet. */
const lastWordsMs = 2000

/**
 * Sends the traces of this process to a collector, by OTLP over HTTP. What it cannot take is dropped, and told once. Refuses with
 * `config_invalid` if the packages for it are not installed.
 */
export async function startTraces(settings: OtlpSettings, events: Events): Promise<Traces & AsyncDisposable> {
  const packages = await loadPackages()
  const { TracerProvider, BatchSpanProcessor, TraceIdRatioBasedSampler } = packages.sdk
  const exporter = reporting(createExporter(packages, settings), settings, events)
  const ids = createIds(new packages.sdk.RandomIdGenerator())
  const provider = new TracerProvider({
    // By the id alone, which is the run's: all processes keep the same traces.
    sampler: new TraceIdRatioBasedSampler(settings.sampleRatio),
    idGenerator: ids,
    spanProcessors: [
      new BatchSpanProcessor({ exporter, exportTimeoutMillis: exportTimeoutMs, scheduledDelayMillis: gatherMs }),
    ],
    resource: packages.resources.resourceFromAttributes({
      'service.name': settings.serviceName,
      'service.version': settings.version,
      'service.instance.id': randomUUID(),
      ...shown(settings.process),
    }),
  })
  const tracer = provider.getTracer('rollcall', settings.version)
  return {
    ...createTraces(tracer, packages.api, ids),
    async [Symbol.asyncDispose]() {
      const patience = new AbortController()
      const late = after(lastWordsMs, undefined, { signal: patience.signal }).catch(() => {})
      await Promise.race([provider.shutdown().catch(() => {}), late])
      patience.abort()
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
    // As for every other server, whatever the environment says.
    httpAgentOptions: { keepAlive: true, rejectUnauthorized: true, minVersion: 'TLSv1.2' },
  })
}

/** Tells of a collector that takes nothing, and of one that does again. */
function reporting(exporter: SpanExporter, { endpoint }: OtlpSettings, events: Events): SpanExporter {
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

/** What a collector answers may hold anything. */
function reasonOf(error: Error | undefined): string {
  const code = errorCode(error)
  if (code === undefined) return 'no answer in time'
  return /^\d{3}$/.test(code) ? `answered with status ${code}` : code
}

type Ids = { generateTraceId(): string; generateSpanId(): string; once(traceId: string, spanId: string): void }

/** Ids by chance, but for the next span if somebody has said which. */
function createIds(random: Omit<Ids, 'once'>): Ids {
  let next: { readonly traceId: string; readonly spanId: string } | null = null
  return {
    once(traceId, spanId) {
      next = { traceId, spanId }
    },
    // A span asks for its own id first.
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

  function open(above: Context, name: string, kind: SpanKind, facts: SpanAttributes): OpenSpan {
    return opened(tracer.startSpan(name, { kind: kindOf[kind], attributes: shown(facts) }, above), above)
  }

  function opened(span: Span, above: Context): OpenSpan {
    const here = trace.setSpan(above, span)
    return {
      traceId: span.spanContext().traceId,
      startChild: (name, kind, facts) => open(here, name, kind, facts),
      setAttributes: (facts) => span.setAttributes(shown(facts)),
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
    ofRun({ runId, name, kind = 'internal', attributes: facts, isExpected }, work) {
      const told = { 'rollcall.run': runId, ...facts }
      const span = open(belowRun(runId), name, kind, told)
      return runInSpan(span, told, async () => ({ result: await work(), fault: null }), isExpected)
    },
    addEvent(runId, name, facts) {
      open(belowRun(runId), name, 'internal', { 'rollcall.run': runId, ...facts }).end()
    },
    recordRun(run) {
      const { traceId, spanId } = rootOf(run.id)
      ids.once(traceId, spanId)
      const startTime = new Date(run.createdAt)
      const span = tracer.startSpan('run', { startTime, attributes: factsOf(run) }, ROOT_CONTEXT)
      if (run.state === 'failed') span.setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    },
  }
}

function shown(facts: SpanAttributes): SpanAttributes {
  const visibly = ([name, value]: [string, string | number]) =>
    [name, typeof value === 'string' ? escapeText(value) : value] as const
  return Object.fromEntries(Object.entries(facts).map(visibly))
}

function rootOf(runId: string): { readonly traceId: string; readonly spanId: string } {
  const traceId = traceIdOf(runId)
  return { traceId, spanId: traceId.slice(0, 16) }
}

function factsOf({ id, connection, trigger, feed, state }: TracedRun): SpanAttributes {
  return {
    'rollcall.run': id,
    'rollcall.connection': connection,
    'rollcall.trigger': trigger,
    'rollcall.feed': feed,
    'rollcall.state': state,
  }
}
