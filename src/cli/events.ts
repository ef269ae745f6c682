import type { EventState, InboxEvent } from '../contract/control/shapes.ts'
import type { Control } from './control-client.ts'
import { renderEvents } from './render/events.ts'
import { type CommonOptions, connectionNamed, withSession } from './session.ts'
import { counted } from './render/text.ts'

export type EventsOptions = CommonOptions & { readonly state?: EventState }
export type DismissOptions = CommonOptions & { readonly by: string }

/** Lists the events that came in for a connection. */
export async function events(options: EventsOptions): Promise<number> {
  return await withSession(options, {}, async ({ config, control, output }) => {
    const found = await allEvents(control, connectionNamed(options, config), options.state)
    output.result({ events: found }, ({ events: listed }, paint) => renderEvents(listed, paint))
    return 0
  })
}

/** Has rejected events read again, as when the mapping was mended. */
export async function retryEvents(ids: readonly string[], options: CommonOptions): Promise<number> {
  return await withSession(options, {}, async ({ config, control, output }) => {
    const params = { connection: connectionNamed(options, config) }
    const done = await control.retryEvents({ params, body: ids.length > 0 ? { ids: [...ids] } : {} })
    output.result(done, ({ events: count }) => `${counted(count, 'event')} will be read again by the next run`)
    return 0
  })
}

/** Lets rejected events go. */
export async function dismissEvents(ids: readonly string[], options: DismissOptions): Promise<number> {
  return await withSession(options, {}, async ({ config, control, output }) => {
    const params = { connection: connectionNamed(options, config) }
    const done = await control.dismissEvents({ params, body: { ids: [...ids], by: options.by } })
    output.result(done, ({ events: count }) => `${counted(count, 'event')} dismissed`)
    return 0
  })
}

/** The events of a connection in the order in which they came, page by page. */
export async function allEvents(control: Control, connection: string, state?: EventState): Promise<InboxEvent[]> {
  const all: InboxEvent[] = []
  let after: string | undefined
  do {
    const { data, next } = await control.listEvents({ params: { connection }, query: { state, after, limit: 1000 } })
    all.push(...data)
    after = next ?? undefined
  } while (after !== undefined)
  return all
}
