import { AsyncLocalStorage } from 'node:async_hooks'
import { errorCode } from '../errors.ts'

/** IDs, names of connections and enum values only. Never a key, a value or a name of a person. */
export type SpanAttributes = Readonly<Record<string, string | number>>

/** What a span is about: a job of the queue, a request to the platform, or a step inside one. */
export type SpanKind = 'internal' | 'job' | 'request'

/** A span that has not ended. */
export type OpenSpan = {
  readonly traceId: string
  startChild(name: string, kind: SpanKind, attributes: SpanAttributes): OpenSpan
  setAttributes(attributes: SpanAttributes): void
  /** `fault`: the code of the failure; null: there was none. */
  end(fault?: string | null): void
}

/** A run that has ended, as its trace records it. */
export type TracedRun = {
  readonly id: string
  readonly connection: string
  readonly trigger: string
  readonly feed: string
  readonly state: string
  readonly createdAt: string
}

/** The traces of a process. Each run has one trace, whose ID is the run's, also if several processes work on it. */
export type Traces = {
  readonly isOn: boolean
  /** Does a part of the work on a run in a span of its trace. */
  ofRun<T>(part: PartOfRun, work: () => Promise<T>): Promise<T>
  /** Records an event of a run as a span without duration. */
  addEvent(runId: string, name: string, attributes: SpanAttributes): void
  /** Records the root span of a run that has ended. */
  recordRun(run: TracedRun): void
}

type PartOfRun = {
  readonly runId: string
  readonly name: string
  readonly kind?: SpanKind
  readonly attributes: SpanAttributes
  /** Whether a thrown error is a normal end and no fault. */
  readonly isExpected?: (error: unknown) => boolean
}

/** Traces that record nothing. */
export const noTraces: Traces = {
  isOn: false,
  ofRun: (_part, work) => work(),
  addEvent() {},
  recordRun() {},
}

/** The span of the current work, and the attributes that its children get as well. */
type CurrentSpan = { readonly span: OpenSpan; inherited: SpanAttributes }

const current = new AsyncLocalStorage<CurrentSpan>()

/** The trace ID of the current work; null outside of any trace. */
export function currentTrace(): string | null {
  return current.getStore()?.span.traceId ?? null
}

/** The trace ID of a run. */
export function traceIdOf(runId: string): string {
  return runId.replaceAll('-', '')
}

/** Sets attributes of the current span. */
export function setAttributes(attributes: SpanAttributes): void {
  current.getStore()?.span.setAttributes(attributes)
}

/** Sets attributes of the current span and of its later children. */
export function setInheritedAttributes(attributes: SpanAttributes): void {
  const store = current.getStore()
  if (store === undefined) return
  store.inherited = { ...store.inherited, ...attributes }
  store.span.setAttributes(attributes)
}

type StepOptions<T> = {
  readonly kind?: SpanKind
  readonly attributes?: SpanAttributes
  /** Attributes taken from the result; `fault` if the result is a failure. */
  readonly describeResult?: (result: T) => { readonly attributes: SpanAttributes; readonly fault?: string | null }
}

/** Does a step of work in a span of the current trace. Outside of a trace, just does it. */
export async function traceStep<T>(name: string, work: () => Promise<T>, options: StepOptions<T> = {}): Promise<T> {
  const parent = current.getStore()
  if (parent === undefined) return await work()
  const { kind = 'internal', attributes = {}, describeResult } = options
  const span = parent.span.startChild(name, kind, { ...parent.inherited, ...attributes })
  return await runInSpan(span, parent.inherited, async () => {
    const result = await work()
    const description = describeResult?.(result)
    if (description) span.setAttributes(description.attributes)
    return { result, fault: description?.fault ?? null }
  })
}

/** Does work with `span` as the current one, and ends the span with the fault or error of the work. */
export async function runInSpan<T>(
  span: OpenSpan,
  inherited: SpanAttributes,
  work: () => Promise<{ readonly result: T; readonly fault: string | null }>,
  isExpected: (error: unknown) => boolean = () => false,
): Promise<T> {
  try {
    const { result, fault } = await current.run({ span, inherited }, work)
    span.end(fault)
    return result
  } catch (error) {
    span.end(isExpected(error) ? null : errorKind(error))
    throw error
  }
}

/** The kind of an error: its message may quote data. */
function errorKind(error: unknown): string {
  return errorCode(error) ?? (error instanceof Error ? error.name : typeof error)
}
