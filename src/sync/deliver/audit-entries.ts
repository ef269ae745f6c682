import { keyOf } from '../../store/audit/key.ts'
import { type NewEntry, rollcall } from '../../store/audit/trail.ts'
import type { ClaimedDelivery } from '../../store/deliveries/claim.ts'
import type { PersonOutcome } from '../../store/deliveries/outcomes.ts'
import type { PendingChange } from '../../store/deliveries/pending.ts'
import type { Db } from '../../store/schema.ts'

type AuditInput = {
  readonly db: Db
  readonly claim: ClaimedDelivery
  readonly changeOf: (identityId: string) => PendingChange | undefined
  readonly now: Date
}

/**
 * The audit entries about the outcomes of a request: one for each person who leaves, returns, is corrected or retracted, and one for all
 * others together, because a million joiners must not cost a million entries. People who are still due have no outcome yet.
 */
export function auditEntriesOf(people: readonly PersonOutcome[], { db, claim, changeOf, now }: AuditInput): NewEntry[] {
  const { runId, connection, batch, kind: job } = claim
  const closed = people.filter(({ state }) => state !== 'due')
  if (closed.length === 0) return []
  const about = { connection, by: rollcall, runId, now }
  const isSingle = ({ identityId }: PersonOutcome) =>
    job !== 'upsert' && (job !== 'session' || singleKinds.has(changeOf(identityId)?.kind ?? ''))
  const together = closed.filter((person) => !isSingle(person))
  const batches = Array.from({ length: Math.ceil(together.length / batchSize) }, (_, at): NewEntry => {
    const part = together.slice(at * batchSize, (at + 1) * batchSize)
    return { ...about, act: 'batch.delivered', details: { batch, ...outcomesOf(part) } }
  })
  const key = keyOf(db)
  const singles = closed.filter(isSingle).map(({ identityId, state, answer }): NewEntry => {
    const { kind, json } = changeOf(identityId) ?? { kind: null, json: null }
    const sent = json === null || key === null ? null : key.digest('record', json)
    return {
      ...about,
      act: 'change.delivered',
      identityId,
      details: { kind, outcome: state, status: answer.status, sent },
    }
  })
  return [...batches, ...singles]
}

/** A session gets an entry for each person with one of these changes. */
const singleKinds: ReadonlySet<string> = new Set(['leave', 'return', 'retract'])
const batchSize = 1000

function outcomesOf(people: readonly PersonOutcome[]) {
  const keys = (outcome: PersonOutcome['state']) =>
    people.filter(({ state }) => state === outcome).map(({ identityId }) => identityId)
  return { people: keys('confirmed'), refused: keys('problem') }
}
