import { AsyncLocalStorage } from 'node:async_hooks'
import { errorCode } from '../errors.ts'

/** What a span says: ids, names of connections and closed words. Never a key, a value or a name of a person. */
export type Facts = Readonly<Record<string, string | number>>

export type SpanKind = 'internal' | 'job' | 'request'

/** A span that has not ended. */
export type OpenSpan = {
  readonly traceId: string
  /** A span below this one. */
  below(name: string, kind: SpanKind, facts: Facts): OpenSpan
  setAttributes(facts: Facts): void
  /** `fault`: the code of what went wrong; null: nothing did. */
  end(fault?: string | null): void
}

/** A run that is over, as its trace knows it. */
export type EndedRun = {
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
  mark(runId: string, name: string, facts: Facts): void
  /** Gives the run's trace its first span, below which all others stand. */
  ended(run: EndedRun): void
}

type PartOfRun = {
  readonly runId: string
  readonly name: string
  readonly kind?: SpanKind
  readonly facts: Facts
  readonly isExpected?: (error: unknown) => boolean
}

export const noTraces: Traces = {
  isOn: false,
  ofRun: (_part, work) => work(),
  mark() {},
  ended() {},
}

type Current = { readonly span: OpenSpan; told: Facts }

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
export function noteSpan(facts: Facts): void {
  current.getStore()?.span.setAttributes(facts)
}

/** Says something of the span under way and of all that will stand below it. */
export function setInheritedAttributes(facts: Facts): void {
  const store = current.getStore()
  if (store === undefined) return
  store.told = { ...store.told, ...facts }
  store.span.setAttributes(facts)
}

/** Does a step of work that belongs to a trace. Outside of one, it is just done. */
export async function step<T>(
  name: string,
  work: () => Promise<T>,
  {
    kind = 'internal',
    facts = {},
    found,
  }: {
    readonly kind?: SpanKind
    readonly facts?: Facts
    /** What a result says; `fault` where it is none that was hoped for. */
    readonly found?: (result: T) => { readonly facts: Facts; readonly fault?: string | null }
  } = {},
): Promise<T> {
  const above = current.getStore()
  if (above === undefined) return await work()
  const span = above.span.below(name, kind, { ...above.told, ...facts })
  return await within(span, above.told, async () => {
    const result = await work()
    const told = found?.(result)
    if (told) span.setAttributes(told.facts)
    return { result, fault: told?.fault ?? null }
  })
}

/** Does the work as that of a span, and ends the span with it. */
export async function within<T>(
  span: OpenSpan,
  told: Facts,
  work: () => Promise<{ readonly result: T; readonly fault: string | null }>,
  isExpected: (error: unknown) => boolean = () => false,
): Promise<T> {
  try {
    const { result, fault } = await current.run({ span, told }, work)
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
