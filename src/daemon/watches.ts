import { requestRun } from '../sync/sync.ts'
import type { Parts } from './parts.ts'

/** Asks for a run of each connection as soon as its source says that something new has come, where it is told to watch. */
export async function startWatches({ sync }: Parts): Promise<AsyncDisposable> {
  await using starting = new AsyncDisposableStack()
  for (const { name, feeds } of sync.connections.values()) {
    const failed = (error: unknown): void => {
      const reason = error instanceof Error ? error.message : 'an unknown error'
      sync.events.sourceWatchFailed({ connection: name, reason })
    }
    const arrived = (): void => {
      requestRun(sync, { connection: name, trigger: 'file' }).catch(failed)
    }
    const watch = await feeds.source?.connector.watch?.({ arrived, failed })
    if (watch) starting.use(watch)
  }
  return starting.move()
}
