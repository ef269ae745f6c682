import { pluralize } from '../render/text.ts'
import { type CommonOptions, requireConnection, withSession } from '../session/session.ts'

/** The options of `rollcall retry-events`. */
export type RetryOptions = CommonOptions & { readonly by: string }

/** Queues rejected events for another attempt, for example after the mapping was fixed. */
export async function retryEvents(ids: readonly string[], options: RetryOptions): Promise<number> {
  return await withSession(options, {}, async ({ config, control, output }) => {
    const params = { connection: requireConnection(options, config) }
    const done = await control.retryEvents({
      params,
      body: { ...(ids.length > 0 && { ids: [...ids] }), by: options.by },
    })
    output.printResult(done, ({ events: count }) => `${pluralize(count, 'event')} will be read again by the next run`)
    return 0
  })
}
