import { pauseOf } from '../../store/connections/pauses.ts'
import { requestRun, type SyncContext } from '../../sync/sync.ts'
import { repeat } from '../../system/repeat.ts'
import { describeError } from '../../telemetry/describe-error.ts'

/** How often runs are requested again that could not be: during a pause, or while the store was unreachable. */
const retryMs = 5000

/** Requests a run of a connection as soon as its watched source reports something new. */
export async function startWatches(sync: SyncContext, { pauseMs = retryMs } = {}): Promise<AsyncDisposable> {
  await using starting = new AsyncDisposableStack()
  const waiting = new Set<string>()

  async function request(connection: string): Promise<void> {
    waiting.delete(connection)
    try {
      const isPaused = (await pauseOf(sync.store.db, { connection, now: sync.now() })) !== null
      if (isPaused) waiting.add(connection)
      else await requestRun(sync, { connection, trigger: 'file' })
    } catch (error) {
      waiting.add(connection)
      sync.events.unexpected({ during: 'watches', error })
    }
  }

  function reportFailure(connection: string, error: unknown): void {
    const { message, type } = describeError(error)
    sync.events.sourceWatchFailed({ connection, reason: message ?? type })
  }

  for (const { name, feeds } of sync.connections.values()) {
    const watch = await feeds.source?.connector.watch?.({
      onArrival: () => {
        request(name).catch((error: unknown) => reportFailure(name, error))
      },
      onError: (error) => reportFailure(name, error),
    })
    if (watch) starting.use(watch)
  }
  const requestWaiting = async (): Promise<void> => {
    for (const connection of [...waiting]) await request(connection)
  }
  starting.use(
    repeat(requestWaiting, { pauseMs, onError: (error) => sync.events.unexpected({ during: 'watches', error }) }),
  )
  return starting.move()
}
