import { renderPerson } from '../render/person.ts'
import { requirePerson } from '../session/person-name.ts'
import { type CommonOptions, withSession } from '../session/session.ts'

/** The options of `rollcall person`. */
export type PersonOptions = CommonOptions & { readonly showValues?: boolean }

/** Shows what is desired and confirmed for a person, and the changes that led to it. */
export async function person(name: string, options: PersonOptions): Promise<number> {
  return await withSession(options, { isReadOnly: true }, async (session) => {
    const { control, output } = session
    const { connection, identityId } = await requirePerson(session, name, options)
    const params = { connection, identityId }
    const result = await control.getPerson({ params, query: { values: output.mayShowValues(options) } })
    output.printResult(result, renderPerson)
    return 0
  })
}
