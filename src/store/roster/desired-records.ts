import { sql } from 'kysely'
import type { Db } from '../schema.ts'

/** A record as stored JSON. Leavers are left out, so none has a leaving date. */
type DesiredRecord = { readonly identityId: string; readonly separatedAt: null; readonly json: string }

/** All records that the platform should have, in key order, page by page: without leavers and retracted people. */
export async function* desiredRecords(
  db: Db,
  connection: string,
  pageSize = 5000,
): AsyncGenerator<readonly DesiredRecord[]> {
  for (let after = ''; ; ) {
    const { rows } = await sql<{ identityId: string; json: string }>`
      select identity_id as "identityId", desired::text as json from roster
      where connection = ${connection} and identity_id > ${after} and desired is not null and retracted_at is null
        and desired ->> 'separatedAt' is null
      order by identity_id limit ${pageSize}`.execute(db)
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows.map((row) => ({ ...row, separatedAt: null }))
    if (rows.length < pageSize) return
    after = last.identityId
  }
}
