import type { Person } from '../../contract/control/shapes.ts'
import type { Fields, PageContext } from '../site/site.ts'

/** Reads the person that the address or the form names. With `values`, the look at personal values is recorded. */
export async function readPerson({ control }: PageContext, fields: Fields, query = { values: false }): Promise<Person> {
  return await control.getPerson({ params: personId(fields), query })
}

type PersonId = { readonly connection: string; readonly identityId: string }

/** The hidden fields that name a person. */
export function personParams({ connection, identityId }: PersonId): Readonly<Record<string, string>> {
  return { connection, key: identityId }
}

/** The person that the address or the form names. */
export function personId(fields: Fields): PersonId {
  return { connection: fields('connection'), identityId: fields('key') }
}
