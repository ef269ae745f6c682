import { escapeText } from '../render/text.ts'
import { requirePerson } from '../session/person-name.ts'
import { type CommonOptions, withSession } from '../session/session.ts'

/** The options of `rollcall forget`. */
export type ForgetOptions = CommonOptions & {
  readonly reason: string
  readonly by: string
  readonly showValues?: boolean
}

/** Removes what the store knows of a person who has left. */
export async function forget(name: string, options: ForgetOptions): Promise<number> {
  return await withSession(options, {}, async (session) => {
    const { control, output } = session
    const { connection, identityId } = await requirePerson(session, name, options)
    const params = { connection, identityId }
    const { reason, by } = options
    const forgotten = await control.forgetPerson({ params, body: { reason, by } })
    output.printResult(forgotten, ({ identityId: key }, paint) =>
      [
        `${paint('green', '✔')} the values of ${escapeText(key)} were removed; the key and the leaving date stay`,
        `${paint('dim', '-')} HR and the platform still have the person: ask for erasure there as well`,
      ].join('\n'),
    )
    return 0
  })
}
