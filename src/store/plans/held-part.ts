import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { PlanCounts, Verdict } from '../../identity/change.ts'
import type { PlannedPerson } from '../../identity/decide/planned.ts'
import type { PeopleCounts } from '../../identity/guards/facts.ts'
import type { KeyChangeCandidate } from '../../identity/key-change-candidates.ts'
import { holdEvents } from '../inbox/inbox.ts'
import { recordCandidates } from '../key-answers.ts'
import { heldReason } from '../runs/held-runs.ts'
import type { Db } from '../schema.ts'
import { stagePeople } from './plans.ts'

/** An event with a waiting item: in the held part, or behind a run that is already held. */
export type WaitingEvent = { readonly id: string; readonly runId: string | null; readonly reason: string }

/** The part of an event plan that a guard holds, while the rest is delivered. */
export type HeldPart = {
  /** In key order; empty if all of them queue behind held runs. */
  readonly people: readonly PlannedPerson[]
  readonly counts: PlanCounts
  /** The counts of its people for the limits. */
  readonly peopleCounts: PeopleCounts
  readonly digest: string
  /** The verdicts about the whole plan. */
  readonly guards: readonly Verdict[]
  readonly pairs: readonly KeyChangeCandidate[]
  readonly events: readonly WaitingEvent[]
}

const peopleAtOnce = 1000

type HeldPartInput = {
  readonly runId: string
  readonly heldPart: HeldPart
  readonly expiresAt: Date
  readonly now: Date
}

/**
 * Creates a held run with the held part and its events, in the transaction that completes the plan of the rest. Returns the held run;
 * null if all people queue behind held runs.
 */
export async function storeHeldPart(
  tx: Db,
  { runId, heldPart, expiresAt, now }: HeldPartInput,
): Promise<string | null> {
  const { people, events } = heldPart
  const held = people.length > 0 ? randomUUID() : null
  if (held !== null) {
    await sql`
      insert into runs (id, connection, feed, trigger, options, state, reason, mode, source, as_of, rows, records, warnings, verification,
        counts, people_counts, guards, digest, configuration, basis, requested_by, expires_at, created_at, started_at)
      select ${held}, connection, feed, trigger, '{}', 'held', ${heldReason(heldPart.guards)}, mode, source, as_of, rows, ${people.length},
        '[]', 'null', ${JSON.stringify(heldPart.counts)}, ${JSON.stringify(heldPart.peopleCounts)}, ${JSON.stringify(heldPart.guards)}, ${heldPart.digest}, configuration, basis, requested_by,
        ${expiresAt}, ${now}, ${now}
      from runs where id = ${runId}`.execute(tx)
    await tx.updateTable('runs').set({ held_part_run_id: held }).where('id', '=', runId).execute()
    for (let start = 0; start < people.length; start += peopleAtOnce) {
      await stagePeople(tx, held, people.slice(start, start + peopleAtOnce))
    }
    await recordCandidates(tx, held, heldPart.pairs)
    const own = events.flatMap((event) => (event.runId === null ? [event.id] : []))
    await sql`
      insert into rejects
        (run_id, line, column_name, reason, identity_id, event, cell_only, may_leave, fingerprint, unlisted, retry_at,
          cause, expected)
      select ${held}, line, column_name, reason, identity_id, event, cell_only, may_leave, fingerprint, unlisted, retry_at,
        cause, expected
      from rejects
      where run_id = ${runId} and event = any(${own}) order by seq`.execute(tx)
  }
  await holdEvents(tx, {
    takenBy: runId,
    events: events.flatMap(({ id, runId: behind, reason }) => {
      const waitsFor = behind ?? held
      return waitsFor === null ? [] : [{ id, runId: waitsFor, reason, joined: behind !== null }]
    }),
  })
  return held
}
