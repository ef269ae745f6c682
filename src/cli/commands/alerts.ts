import { failures } from '../../errors.ts'
import { renderAlerts, renderAlertTests } from '../render/alerts.ts'
import { type CommonOptions, withSession } from '../session/session.ts'

/** The options of `rollcall alerts test`. */
export type AlertsTestOptions = CommonOptions & { readonly channel?: string }

/** Lists what needs attention, and the messages sent about it. */
export async function alerts(options: CommonOptions): Promise<number> {
  return await withSession(options, {}, async ({ control, output }) => {
    output.printResult(await control.listAlerts({}), renderAlerts)
    return 0
  })
}

/** Sends a test message through one channel or all of them. The exit code tells whether every channel took it. */
export async function alertsTest(options: AlertsTestOptions): Promise<number> {
  return await withSession(options, {}, async ({ control, output }) => {
    const tested = await control.testAlerts({ body: { channel: options.channel } })
    output.printResult(tested, renderAlertTests)
    return tested.data.some(({ failure }) => failure !== null) ? failures.alert_unsent.exit : 0
  })
}
