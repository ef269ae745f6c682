import { AsyncLocalStorage } from 'node:async_hooks'
import { errorCode } from '../errors.ts'

/** What a span says: ids, names of connections and closed words. Never a key, a value or a name of a person. */
export type SpanAttributes = Readonly<Record<string, string | number>>

export type SpanKind = 'internal' | 'job' | 'request'

/** A span that has not ended. */
export type OpenSpan = {
  readonly traceId: string
  /** A span below this one. */
  startChild(name: string, kind: SpanKind, attributes: SpanAttributes): OpenSpan
  setAttributes(attributes: SpanAttributes): void
  /** `fault`: the code of what went wrong; null: nothing did. */
  end(fault?: string | null): void
}

/** A run that is over, as its trace knows it. */
export type TracedRun = {
  readonly id: string
  readonly connection: string
  readonly trigger: string
  readonly feed: string
  readonly state: string
  readonly createdAt: string
}

/** The traces of a process. Each run has one, whatever processes work on it: the id of the trace is that of the run. */
export type Traces = {
  readonly isOn: boolean
  /** Does a part of the work on a run. What is done meanwhile is part of it. `isExpected`: errors that mean that nothing is wrong. */
  ofRun<T>(part: PartOfRun, work: () => Promise<T>): Promise<T>
  /** Notes something that happened to a run, and takes no time. */
  addEvent(runId: string, name: string, attributes: SpanAttributes): void
  /** Gives the run's trace its first span, below which all others stand. */
  recordRun(run: TracedRun): void
}

type PartOfRun = {
  readonly runId: string
  readonly name: string
  readonly kind?: SpanKind
  readonly attributes: SpanAttributes
  readonly isExpected?: (error: unknown) => boolean
}

export const noTraces: Traces = {
  isOn: false,
  ofRun: (_part, work) => work(),
  addEvent() {},
  recordRun() {},
}

type Current = { readonly span: OpenSpan; inherited: SpanAttributes }

const current = new AsyncLocalStorage<Current>()

/** The trace that the work under way belongs to; null: it belongs to none. */
export function currentTrace(): string | null {
  return current.getStore()?.span.traceId ?? null
}

/** A run's id as the id of a trace. */
export function traceIdOf(runId: string): string {
  return runId.replaceAll('-', '')
}

/** Says something of the span under way. */
export function setAttributes(attributes: SpanAttributes): void {
  current.getStore()?.span.setAttributes(attributes)
}

/** Says something of the span under way and of all that will stand below it. */
export function setInheritedAttributes(attributes: SpanAttributes): void {
  const store = current.getStore()
  if (store === undefined) return
  store.inherited = { ...store.inherited, ...attributes }
  store.span.setAttributes(attributes)
}

/** Does a step of work that belongs to a trace. Outside of one, it is just done. */
export async function traceStep<T>(
  name: string,
  work: () => Promise<T>,
  {
    kind = 'internal',
    attributes = {},
    describeResult: found,
  }: {
    readonly kind?: SpanKind
    readonly attributes?: SpanAttributes
    /** What a result says; `fault` where it is none that was hoped for. */
    readonly describeResult?: (result: T) => { readonly attributes: SpanAttributes; readonly fault?: string | null }
  } = {},
): Promise<T> {
  const above = current.getStore()
  if (above === undefined) return await work()
  const span = above.span.startChild(name, kind, { ...above.inherited, ...attributes })
  return await runInSpan(span, above.inherited, async () => {
    const result = await work()
    const told = found?.(result)
    if (told) span.setAttributes(told.attributes)
    return { result, fault: told?.fault ?? null }
  })
}

/** Does the work as that of a span, and ends the span with it. */
export async function runInSpan<T>(
  span: OpenSpan,
  told: SpanAttributes,
  work: () => Promise<{ readonly result: T; readonly fault: string | null }>,
  isExpected: (error: unknown) => boolean = () => false,
): Promise<T> {
  try {
    const { result, fault } = await current.run({ span, inherited: told }, work)
    span.end(fault)
    return result
  } catch (error) {
    span.end(isExpected(error) ? null : faultOf(error))
    throw error
  }
}

/** The kind of an error: its message may quote data. */
function faultOf(error: unknown): string {
  return errorCode(error) ?? (error instanceof Error ? error.name : typeof error)
}
