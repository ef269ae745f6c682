import { counted } from '../render/text.ts'
import { type CommonOptions, connectionNamed, withSession } from '../session/session.ts'

export type DismissOptions = CommonOptions & { readonly by: string }

/** Lets rejected events go. */
export async function dismissEvents(ids: readonly string[], options: DismissOptions): Promise<number> {
  return await withSession(options, {}, async ({ config, control, output }) => {
    const params = { connection: connectionNamed(options, config) }
    const done = await control.dismissEvents({ params, body: { ids: [...ids], by: options.by } })
    output.result(done, ({ events: count }) => `${counted(count, 'event')} dismissed`)
    return 0
  })
}
