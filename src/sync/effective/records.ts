import type { LastSync, ShownPerson, ShownRecord } from '../../identity/effective/cause.ts'
import { createRequestBudget, readChangedRecords, readRecord } from './details.ts'
import type { ComparedConnection, ExpectedPerson } from './roster-book.ts'

/** A person who is not shown as implied, before the reason is known. */
export type Suspect = {
  readonly person: ExpectedPerson
  readonly shown: ShownPerson | null
  readonly overruledBy: string | null
  readonly candidates: readonly ShownPerson[]
  /** Somebody under another e-mail has a record of the same connection, and may be this person. */
  readonly mayBeMatched: boolean
}

type Records = {
  readonly records: ReadonlyMap<Suspect, ShownRecord>
  /** Connections with more changed records than were read. */
  readonly incomplete: ReadonlySet<ComparedConnection>
}

type Reading = {
  readonly connections: readonly ComparedConnection[]
  readonly lastSync: LastSync
  readonly maxLookUps: number
}

/** Records that changed since the last identity sync come from lists; others are looked up in the order of the suspects, up to a number. */
export async function readRecords(
  { connections, lastSync, maxLookUps }: Reading,
  suspects: readonly Suspect[],
): Promise<Records> {
  const budget = createRequestBudget()
  const changed = new Map<ComparedConnection, ReadonlyMap<string, ShownRecord>>()
  const incomplete = new Set<ComparedConnection>()
  const doubtful = suspects.filter(needsRecord)
  for (const connection of connections) {
    if (!(lastSync instanceof Date) || !doubtful.some(({ person }) => person.connection === connection)) continue
    const { records, isComplete } = await readChangedRecords(connection.endpoint, lastSync, budget)
    changed.set(connection, records)
    if (!isComplete) incomplete.add(connection)
  }
  let lookUps = Math.min(maxLookUps, budget.requests)
  const records = new Map<Suspect, ShownRecord>()
  // Somebody who may be matched has a finding only if the record is missing.
  for (const suspect of doubtful.toSorted((a, b) => Number(a.mayBeMatched) - Number(b.mayBeMatched))) {
    const { person } = suspect
    const known = changed.get(person.connection)?.get(person.identityId)
    if (known === undefined && lookUps-- <= 0) continue
    records.set(suspect, known ?? (await readRecord(person.connection.endpoint, person.identityId)))
  }
  return { records, incomplete }
}

/** What the platform shows explains somebody out of scope, and another key somebody who is overruled. */
function needsRecord({ shown, overruledBy }: Suspect): boolean {
  return overruledBy === null && shown?.status !== 'OUT_OF_SCOPE' && shown?.status !== 'SERVICE_ACCOUNT'
}
