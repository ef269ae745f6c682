import type { StatedDeparture, statedDepartureOperations } from '../../contract/control/stated-departures.ts'
import type { Handlers } from '../../http/server/mount.ts'
import type { SyncContext } from '../../sync/context/context.ts'
import { type ListedDeparture, listStatedDepartures, stateDeparture } from '../../sync/requests/stated-departures.ts'
import { withdrawDeparture } from '../../sync/requests/withdrawn-departures.ts'
import type { WithActor } from './with-permissions.ts'

type StatedDepartureHandlers = Handlers<typeof statedDepartureOperations, { readonly sync: SyncContext } & WithActor>

/** Handlers of the operations about departures that operators state. */
export const statedDepartureHandlers: StatedDepartureHandlers = {
  async listStatedDepartures({ sync }, { params: { connection } }) {
    return { status: 200, body: { data: (await listStatedDepartures(sync, connection)).map(statedDepartureView) } }
  },

  async stateDeparture({ sync, actor }, { params, body }) {
    return { status: 201, body: await stateDeparture(sync, { ...params, ...body, ...actor }) }
  },

  async withdrawDeparture({ sync, actor }, { params, body }) {
    return { status: 200, body: await withdrawDeparture(sync, { ...params, ...body, ...actor }) }
  },
}

/** A stated departure, as the control API shows it. */
export function statedDepartureView(listed: ListedDeparture): StatedDeparture {
  const { statedAt, principal: _, unconfirmedUntil: _until, proposal, ...stated } = listed
  if (proposal === null) return { ...stated, at: statedAt.toISOString(), proposal }
  const { leavingDate, by, reason, until } = proposal
  return { ...stated, at: statedAt.toISOString(), proposal: { leavingDate, by, reason, until: until.toISOString() } }
}
