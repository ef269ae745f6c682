import { pauseOf } from '../../store/connections/pauses.ts'
import { requestRun, type SyncContext } from '../../sync/sync.ts'
import { repeat } from '../../system/repeat.ts'
import { describeError } from '../../telemetry/describe-error.ts'

/** How often sources are asked for again that said in a pause, or while the store was away, that something new has come. */
const lookMs = 5000

/** Asks for a run of each connection as soon as its source says that something new has come, where it is told to watch. */
export async function startWatches(sync: SyncContext, { pauseMs = lookMs } = {}): Promise<AsyncDisposable> {
  await using starting = new AsyncDisposableStack()
  const waiting = new Set<string>()

  async function ask(connection: string): Promise<void> {
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

  function failed(connection: string, error: unknown): void {
    const { message, type } = describeError(error)
    sync.events.sourceWatchFailed({ connection, reason: message ?? type })
  }

  for (const { name, feeds } of sync.connections.values()) {
    const watch = await feeds.source?.connector.watch?.({
      onArrival: () => {
        ask(name).catch((error: unknown) => failed(name, error))
      },
      onError: (error) => failed(name, error),
    })
    if (watch) starting.use(watch)
  }
  const askWaiting = async (): Promise<void> => {
    for (const connection of [...waiting]) await ask(connection)
  }
  starting.use(
    repeat(askWaiting, { pauseMs, onError: (error) => sync.events.unexpected({ during: 'watches', error }) }),
  )
  return starting.move()
}
