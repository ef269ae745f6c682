import type { EventState, InboxEvent } from '../../contract/control/shapes.ts'
import type { Control } from './control-client.ts'

/** Everything that an operation lists, page by page. */
export async function allPages<T, A>(page: (after?: A) => Promise<{ data: T[]; next: A | null }>): Promise<T[]> {
  const all: T[] = []
  let after: A | undefined
  do {
    const { data, next } = await page(after)
    all.push(...data)
    after = next ?? undefined
  } while (after !== undefined)
  return all
}

/** The events of a connection in the order in which they came. */
export async function allEvents(control: Control, connection: string, state?: EventState): Promise<InboxEvent[]> {
  return await allPages((after?: string) =>
    control.listEvents({ params: { connection }, query: { state, after, limit: 1000 } }),
  )
}
