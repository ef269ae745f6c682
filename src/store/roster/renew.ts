import { sql } from 'kysely'
import type { IdentityRecord, Traits } from '../../identity/record.ts'
import { holdsDigests, isOfKey, type Stated, type ValueDigests, withDigests } from '../../identity/value-digests.ts'
import type { Db } from '../schema.ts'
import { traitsOf } from './value-digests.ts'

type Row = {
  readonly identity_id: string
  readonly wanted: IdentityRecord | null
  readonly confirmed: IdentityRecord | null
}

/** A person as the platform holds them. */
export type Held = { readonly identityId: string } & Stated

/** Puts digests of the present key in the place of those of another one, made from what the platform holds. Answers of how many people. */
export async function storeRenewed(
  tx: Db,
  { connection, digests, held }: { connection: string; digests: ValueDigests; held: readonly Held[] },
): Promise<number> {
  const keys = held.map(({ identityId }) => identityId)
  const { rows } = await sql<Row>`
    select roster.identity_id, roster.wanted, acknowledged.confirmed from roster
    left join acknowledged on acknowledged.connection = roster.connection and acknowledged.identity_id = roster.identity_id
    where roster.connection = ${connection} and roster.identity_id = any(${keys})
    order by roster.identity_id for update of roster`.execute(tx)
  const byKey = new Map(held.map((person) => [person.identityId, person]))
  const renewed = rows.flatMap((row) => {
    const person = byKey.get(row.identity_id)
    if (!person || !(holdsDigests(row.wanted) || holdsDigests(row.confirmed))) return []
    return [{ ...row, ...renewedOf(row, person, digests) }]
  })
  if (renewed.length === 0) return 0
  const values = JSON.stringify(renewed)
  await sql`
    update roster set wanted = d.wanted, traits = coalesce(roster.traits, '{}') || d.traits
    from jsonb_to_recordset(${values}::jsonb) as d(identity_id text, wanted jsonb, traits jsonb)
    where roster.connection = ${connection} and roster.identity_id = d.identity_id`.execute(tx)
  await sql`
    update acknowledged set confirmed = d.confirmed
    from jsonb_to_recordset(${values}::jsonb) as d(identity_id text, confirmed jsonb)
    where acknowledged.connection = ${connection} and acknowledged.identity_id = d.identity_id and d.confirmed is not null`.execute(
    tx,
  )
  return renewed.length
}

function renewedOf(
  { identity_id: identityId, wanted, confirmed }: Row,
  person: Held,
  digests: ValueDigests,
): Pick<Row, 'wanted' | 'confirmed'> & { readonly traits: Traits } {
  const renew = (of: IdentityRecord | null) =>
    of &&
    withDigests(of, (field, digest) => {
      if (isOfKey(digest, digests.keyName)) return undefined
      const value = person[field] ?? null
      return value === null ? null : digests.of(identityId, field, value)
    })
  // What waits to be acknowledged is kept as it is, and counts before what the platform has.
  const shown = wanted && withDigests(wanted, (field) => person[field] ?? null)
  return { wanted: renew(wanted), confirmed: renew(confirmed), traits: shown ? traitsOf(shown, digests) : {} }
}
