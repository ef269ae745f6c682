import { renderPerson } from '../render/person.ts'
import { type CommonOptions, connectionNamed, withSession } from '../session.ts'

export type PersonOptions = CommonOptions & { readonly showValues?: boolean }

/** Shows what is wanted and confirmed of a person, and how it came about. */
export async function person(identityId: string, options: PersonOptions): Promise<number> {
  return await withSession(options, {}, async ({ config, control, output }) => {
    const params = { connection: connectionNamed(options, config), identityId }
    const found = await control.getPerson({ params, query: { values: output.mayShowValues(options) } })
    output.result(found, renderPerson)
    return 0
  })
}
