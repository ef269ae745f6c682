import { unreachable } from '../file/failures.ts'
import type { ObjectStorageSource } from './settings.ts'
import type { ObjectStore } from './store.ts'

/** The time limits of the work on a bucket. */
export type Limits = Disposable & {
  /** Aborts when the caller stops, or when a limit is exceeded, with the failure as reason. */
  readonly signal: AbortSignal
  /** Waits for an answer, which has to arrive within `idleTimeoutMs`. Rejects as soon as the signal aborts. */
  readonly answer: <T>(work: Promise<T>) => Promise<T>
}

/** Starts the limits that the settings name. */
export function startLimits(
  { bucket, idleTimeoutMs, totalTimeoutMs }: Pick<ObjectStorageSource, 'bucket' | 'idleTimeoutMs' | 'totalTimeoutMs'>,
  caller: AbortSignal,
): Limits {
  const controller = new AbortController()
  const stop = (problem: string, setting: string) => () =>
    controller.abort(unreachable(`${bucket} ${problem}`, `check the network, or raise ${setting}`))
  const total = setTimeout(stop(`took more than ${totalTimeoutMs} ms to fetch`, 'totalTimeoutMs'), totalTimeoutMs)
  const signal = AbortSignal.any([caller, controller.signal])
  return {
    signal,
    async answer(work) {
      const idle = setTimeout(stop(`sent nothing for ${idleTimeoutMs} ms`, 'idleTimeoutMs'), idleTimeoutMs)
      return await untilAborted(work, signal).finally(() => clearTimeout(idle))
    },
    [Symbol.dispose]: () => clearTimeout(total),
  }
}

/**
 * The store within the limits. The clients of the providers have no such limits: those for tokens and for profiles of the machine do not
 * even look at the signal.
 */
export function limitStore(store: ObjectStore, { answer, signal }: Limits): ObjectStore {
  return {
    ...store,
    list: (start) => limitEach(store.list(start), answer),
    find: (key) => answer(store.find(key)),
    read: (object, from) => limitEach(store.read(object, from), answer),
    // A server may be silent while it copies a large object.
    copy: (object, key) => untilAborted(store.copy(object, key), signal),
    remove: (object) => answer(store.remove(object)),
  }
}

async function* limitEach<T>(values: AsyncIterable<T>, answer: Limits['answer']): AsyncGenerator<T> {
  const iterator = values[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await answer(iterator.next())
      if (next.done) return
      yield next.value
    }
  } finally {
    // Nobody waits for the end of a request that does not look at the signal.
    iterator.return?.().catch(() => {})
  }
}

async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
