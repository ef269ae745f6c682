import { requestRun } from '../sync/sync.ts'
import { describeError } from '../telemetry/describe-error.ts'
import type { Parts } from './assembly.ts'

/** Asks for a run of each connection as soon as its source says that something new has come, where it is told to watch. */
export async function startWatches({ sync }: Parts): Promise<AsyncDisposable> {
  await using starting = new AsyncDisposableStack()
  for (const { name, feeds } of sync.connections.values()) {
    const failed = (error: unknown): void => {
      const { message, type } = describeError(error)
      sync.events.sourceWatchFailed({ connection: name, reason: message ?? type })
    }
    const arrived = (): void => {
      requestRun(sync, { connection: name, trigger: 'file' }).catch(failed)
    }
    const watch = await feeds.source?.connector.watch?.({ arrived, failed })
    if (watch) starting.use(watch)
  }
  return starting.move()
}
