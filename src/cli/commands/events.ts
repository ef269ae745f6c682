import type { EventState } from '../../contract/control/shapes.ts'
import { renderEvents } from '../render/events.ts'
import { allEvents } from '../session/pages.ts'
import { type CommonOptions, requireConnection, withSession } from '../session/session.ts'

/** The options of `rollcall events`. */
export type EventsOptions = CommonOptions & { readonly state?: EventState }

/** Lists the events that came in for a connection. */
export async function events(options: EventsOptions): Promise<number> {
  return await withSession(options, { isReadOnly: true }, async ({ config, control, output }) => {
    const matches = await allEvents(control, requireConnection(options, config), options.state)
    output.printResult({ events: matches }, ({ events: listed }, paint) => renderEvents(listed, paint))
    return 0
  })
}
