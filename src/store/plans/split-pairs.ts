import { sql } from 'kysely'
import type { KeyChangeCandidate } from '../../identity/key-change-candidates.ts'
import { openCandidates } from '../key-answers.ts'
import type { Db } from '../schema.ts'
import { isInPart, type PartSelection } from './approved-part.ts'

type SplitQuery = { readonly connection: string; readonly runId: string; readonly selection: PartSelection }

/**
 * The pairs of keys that look like one person each and that a part of a held plan would take apart. The former key need not have a change
 * of its own yet: then the person would be created again, and separated by a later plan that knows of no pair.
 */
export async function splitPairs(
  db: Db,
  { connection, runId, selection }: SplitQuery,
): Promise<Pick<KeyChangeCandidate, 'former' | 'identityId'>[]> {
  const pairs = await openCandidates(db, { connection, runId })
  if (pairs.length === 0) return []
  const keys = pairs.flatMap(({ former, identityId }) => [former, identityId])
  const { rows } = await sql<{ key: string }>`
    select identity_id as key from changes
    where run_id = ${runId} and identity_id = any(${keys}::text[]) and ${isInPart(selection)}`.execute(db)
  const chosen = new Set(rows.map(({ key }) => key))
  return pairs.filter(({ former, identityId }) => chosen.has(former) !== chosen.has(identityId))
}
