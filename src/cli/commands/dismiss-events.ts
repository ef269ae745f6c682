import { pluralize } from '../render/text.ts'
import { type CommonOptions, requireConnection, withSession } from '../session/session.ts'

/** The options of `rollcall dismiss-events`. */
export type DismissOptions = CommonOptions & { readonly by: string }

/** Dismisses rejected events; they are not retried. */
export async function dismissEvents(ids: readonly string[], options: DismissOptions): Promise<number> {
  return await withSession(options, {}, async ({ config, control, output }) => {
    const params = { connection: requireConnection(options, config) }
    const done = await control.dismissEvents({ params, body: { ids: [...ids], by: options.by } })
    output.printResult(done, ({ events: count }) => `${pluralize(count, 'event')} dismissed`)
    return 0
  })
}
