import type { Alert, alertOperations } from '../../contract/control/alerts.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { conditionSettings } from '../alerts/freshness.ts'
import { alertLinks } from '../alerts/links.ts'
import { alertViews, channelViews } from '../alerts/message.ts'
import type { ControlContext } from './control-context.ts'
import type { WithActor } from './with-permissions.ts'

/** Handlers of the operations about alerts. */
export const alertHandlers: Handlers<typeof alertOperations, ControlContext & WithActor> = {
  async listAlerts(ctx) {
    return { status: 200, body: { data: await currentAlerts(ctx), channels: channelViews(ctx.alerts) } }
  },

  async testAlerts(ctx, { body: { channel } }) {
    // Commands only need the alerts themselves.
    const { testAlerts } = await import('../alerts/senders.ts')
    const data = await testAlerts(ctx.alerts, { channel, now: ctx.sync.now(), signal: ctx.signal })
    return { status: 200, body: { data } }
  },
}

/** The alerts that are open now, by connection and kind. */
export async function currentAlerts({ sync, alerts, monitored }: ControlContext): Promise<Alert[]> {
  return await alertViews(sync.store.db, {
    ...conditionSettings(monitored, alerts, sync.now()),
    linkOf: alertLinks(alerts),
  })
}
