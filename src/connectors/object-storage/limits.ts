import { unreachable } from '../file/failures.ts'
import type { ObjectStorageSource } from './settings.ts'

/** The time limits of the work on a bucket. */
export type Limits = Disposable & {
  /** Aborts when the caller stops, or when a limit is exceeded, with the failure as reason. */
  readonly signal: AbortSignal
  /** The next part of a download has to arrive within `idleTimeoutMs` from now on. */
  readonly expectProgress: () => void
}

/** Starts the limits that the settings name. */
export function startLimits(
  { bucket, idleTimeoutMs, totalTimeoutMs }: Pick<ObjectStorageSource, 'bucket' | 'idleTimeoutMs' | 'totalTimeoutMs'>,
  signal: AbortSignal,
): Limits {
  const controller = new AbortController()
  const stop = (problem: string, setting: string) => () =>
    controller.abort(unreachable(`${bucket} ${problem}`, `check the network, or raise ${setting}`))
  const total = setTimeout(stop(`took more than ${totalTimeoutMs} ms to fetch`, 'totalTimeoutMs'), totalTimeoutMs)
  let idle: NodeJS.Timeout | undefined
  return {
    signal: AbortSignal.any([signal, controller.signal]),
    expectProgress() {
      clearTimeout(idle)
      idle = setTimeout(stop(`sent nothing for ${idleTimeoutMs} ms`, 'idleTimeoutMs'), idleTimeoutMs)
    },
    [Symbol.dispose]() {
      clearTimeout(total)
      clearTimeout(idle)
    },
  }
}
