import { namesByKey } from '../../store/roster/names.ts'
import type { SyncContext } from '../../sync/context/context.ts'
import { labelOf } from './views.ts'

type PersonKey = { readonly connection: string; readonly identityId: string | null }

/** A list of people with their names if values are requested; null: no name is stored. Records have the name that the platform shows. */
export async function withNames<T extends PersonKey>(
  { sync }: { readonly sync: Pick<SyncContext, 'store' | 'connections'> },
  people: readonly T[],
  { values }: { readonly values: boolean },
): Promise<(T & { readonly name?: string | null })[]> {
  if (!values) return [...people]
  const names = new Map<string, ReadonlyMap<string, string>>()
  for (const connection of new Set(people.map((person) => person.connection))) {
    const keys = people.flatMap((one) => (one.connection === connection ? (one.identityId ?? []) : []))
    const label = labelOf(sync, connection)
    names.set(connection, await namesByKey(sync.store.db, { connection, keys, ...(label && { fields: [label] }) }))
  }
  return people.map((one) => ({ ...one, name: names.get(one.connection)?.get(one.identityId ?? '') ?? null }))
}
