import type { SyncContext } from './context.ts'

/** Does something for each of several, one after the other. What fails for one is logged, and the others get their turn all the same. */
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
