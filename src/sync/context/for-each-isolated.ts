import type { SyncContext } from './context.ts'

/** Runs a task for each item, one after the other. A failure is logged and does not stop the others. */
export async function forEachIsolated<T>(
  { events }: Pick<SyncContext, 'events'>,
  { during, all }: { readonly during: string; readonly all: Iterable<T> },
  act: (one: T) => Promise<unknown>,
): Promise<void> {
  for (const one of all) {
    try {
      await act(one)
    } catch (error) {
      events.unexpected({ during, error })
    }
  }
}
