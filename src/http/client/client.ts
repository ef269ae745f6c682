import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { type ArgumentsOf, bytesType, type Operation, type OperationTable } from '../../contract/operation.ts'
import { requestPath } from './address.ts'
import type { Answer, AnyAnswer } from './answer.ts'
import { lazyAgent } from './lazy-agent.ts'
import { readAnswer } from './read-answer.ts'
import { provenServers } from './tls.ts'
import { type EndCauses, noticeSending, type Progress, stoppedReading, unreachableAnswer } from './unreachable.ts'

/** A function for each operation of a table. None throws because of the network or the server. */
export type Client<T extends OperationTable> = {
  readonly [K in keyof T]: (input: ArgumentsOf<T[K]>, options?: CallOptions) => Promise<Answer<T[K]>>
}

/** Options of one call. */
export type CallOptions = {
  readonly signal?: AbortSignal
  /** The body as JSON, sent as it is. */
  readonly bodyJson?: string | Uint8Array
}

/** Called before each request. */
type LazyDispatcher = () => Promise<Dispatcher>

/** Options of a client. */
export type ClientOptions = {
  /** The address with the prefix below which the operations are served. */
  readonly baseUrl: string
  /** The key, or a function that returns it before every request. Its errors reach the caller. */
  readonly bearer?: string | (() => Promise<string>)
  readonly dispatcher?: Dispatcher | LazyDispatcher
  /** The time from the call to the last byte of the response. */
  readonly timeoutMs?: number
  readonly maxResponseBytes?: number
  /** Sends each request by `send`, and may examine the answer. Default: only sends it. */
  readonly around?: Around
}

/** Wraps every request of a client, for example to trace it. */
export type Around = (
  request: { readonly operation: string; readonly method: string },
  send: () => Promise<AnyAnswer>,
) => Promise<AnyAnswer>

type Values = Readonly<Record<string, unknown>>
type Input = { readonly params?: Values; readonly query?: Values; readonly body?: unknown }
type Call = (input: Input, options?: CallOptions) => Promise<AnyAnswer>

const connectTimeoutMs = 10_000
const defaultTimeoutMs = 60_000
const defaultMaxResponseBytes = 32 * 1024 * 1024

/** The typed client of a table. It follows no redirects and repeats nothing by itself. */
export function createClient<T extends OperationTable>(table: T, options: ClientOptions): Client<T> {
  const { dispatcher: configured } = options
  const own = lazyAgent({ connect: { timeout: connectTimeoutMs, ...provenServers } })
  const dispatcher =
    typeof configured === 'function' ? configured : configured ? async () => configured : own.dispatcher
  const calls = Object.entries(table).map(([name, operation]) => [
    name,
    callWithAround(name, operation, dispatcher, options),
  ])
  return Object.fromEntries(calls) as Client<T>
}

function callWithAround(name: string, operation: Operation, dispatcher: LazyDispatcher, options: ClientOptions): Call {
  const call = caller(operation, dispatcher, options)
  const { around } = options
  if (around === undefined) return call
  return (input, how) => around({ operation: name, method: operation.method }, () => call(input, how))
}

function caller(operation: Operation, dispatcher: LazyDispatcher, options: ClientOptions): Call {
  const { timeoutMs = defaultTimeoutMs, maxResponseBytes: maxBytes = defaultMaxResponseBytes } = options
  const base = new URL(options.baseUrl)
  return async (input, { signal, bodyJson } = {}) => {
    const request = await buildRequest(operation, base, input, { bearer: options.bearer, bodyJson })
    const timeout = AbortSignal.timeout(timeoutMs)
    const ending: EndCauses = { host: base.host, timeoutMs, timeout, signal }
    const progress: Progress = { sent: false }
    const stop = signal ? AbortSignal.any([signal, timeout]) : timeout
    const limits = { signal: stop, headersTimeout: timeoutMs, bodyTimeout: timeoutMs }
    try {
      const undici = await dispatcher()
      stop.throwIfAborted()
      const responding = undici.compose(noticeSending(progress)).request({ ...request, ...limits })
      const response = await unlessAborted(stop, responding)
      return await readAnswer(operation, response, { maxBytes, stopped: (error) => stoppedReading(error, ending) })
    } catch (error) {
      return unreachableAnswer(error, progress, ending)
    }
  }
}

// A request that waits for a connection ignores its signal. Once it is its turn, it is dropped without being sent.
async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

async function buildRequest(
  operation: Operation,
  base: URL,
  input: Input,
  { bearer, bodyJson }: { bearer: ClientOptions['bearer']; bodyJson: CallOptions['bodyJson'] },
) {
  const json = () => bodyJson ?? (input.body === undefined ? null : JSON.stringify(input.body))
  const body = operation.takesBytes ? Readable.from(input.body as AsyncIterable<Uint8Array>) : json()
  return {
    origin: base.origin,
    path: requestPath(base, operation, input),
    method: operation.method,
    headers: {
      accept: 'application/json',
      ...(bearer !== undefined && {
        authorization: `Bearer ${typeof bearer === 'string' ? bearer : await bearer()}`,
      }),
      ...(body !== null && { 'content-type': operation.takesBytes ? bytesType : 'application/json' }),
    },
    body,
  }
}
