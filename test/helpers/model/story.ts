import { createHash } from 'node:crypto'
import type { RunRow } from '../../../src/store/schema.ts'
import { requestRun } from '../../../src/sync/sync.ts'
import { judge } from '../crash/judge.ts'
import type { HrEvent } from '../events.ts'
import { peopleOn, type World } from '../world.ts'
import { createHr, type ExpectedPerson, type Hr, type HrMessage, type Night } from './hr-model.ts'
import type { Setup, TestSystem } from './test-system.ts'

/** The expected state: HR, the messages accepted so far, and the people whom an operator withholds. */
export type Model = {
  readonly hr: Hr
  /** In the order in which the runs accepted it. */
  readonly accepted: HrMessage[]
  readonly acceptedRuns: Set<string>
  readonly withheld: Set<string>
  /** Events that HR has sent, and those received, by key. */
  readonly outbox: HrEvent[]
  readonly received: Map<string, HrEvent>
  /** Every state in which the platform may ever show a person. */
  readonly possible: Map<string, ExpectedPerson[]>
  /** Whom somebody else has changed on the platform. */
  readonly tampered: Set<string>
  /** Whose retraction an operator has taken back. */
  readonly restored: Set<string>
}

export function createModel({ people, leavers }: Setup): Model {
  const hr = createHr(people)
  for (const id of [...hr.people.keys()].slice(0, leavers)) hr.leave(id, '2026-11-02')
  return {
    hr,
    accepted: [],
    acceptedRuns: new Set(),
    withheld: new Set(),
    outbox: [],
    received: new Map(),
    possible: new Map(),
    tampered: new Set(),
    restored: new Set(),
  }
}

/** Everybody whom the platform has to hold after what was accepted. */
export function expectedNow({ hr, accepted, withheld }: Model): Map<string, ExpectedPerson> {
  return new Map([...hr.expected(accepted)].filter(([id]) => !withheld.has(id)))
}

export async function takeExport(
  { hr }: Model,
  system: TestSystem,
  options: { full?: boolean; verify?: boolean } = {},
): Promise<string> {
  system.show(hr.night(system.world.sync.now().toISOString()))
  return (await requestRun(system.world.sync, { connection: 'acme', trigger: 'operator', options })).id
}

/** Delivers what cancelled runs, refusals and foreign changes left undone, by a run that reads nothing new. */
export async function deliverRemaining(model: Model, system: TestSystem): Promise<void> {
  const options = { verify: model.tampered.size > 0 }
  await requestRun(system.world.sync, { connection: 'acme', feed: 'roster', trigger: 'operator', options })
  await system.calm()
  await recordAccepted(model, system)
}

/** Records what runs have accepted since the last call. */
export async function recordAccepted(model: Model, { world }: TestSystem): Promise<void> {
  const { accepted, acceptedRuns, withheld, possible } = model
  const { rows } = await world.sync.store.pool.query<RunRow>(
    `select runs.* from runs where state in ('unchanged', 'finished', 'finished_with_problems', 'delivering')
      or exists (select 1 from deliveries where run_id = runs.id) order by started_at`,
  )
  for (const run of rows) {
    if (acceptedRuns.has(run.id)) continue
    acceptedRuns.add(run.id)
    if (run.options.retract) withheld.add(run.options.retract.identityId)
    accepted.push(...(await messagesOf(run, model, world)))
    for (const [id, person] of expectedNow({ ...model, withheld: new Set() }))
      possible.set(id, [...(possible.get(id) ?? []), person])
  }
}

async function messagesOf(run: RunRow, { hr, received }: Model, { sync }: World): Promise<HrMessage[]> {
  if (run.feed === 'source') return await exportOf(run, hr, sync)
  if (run.feed !== 'webhook') return []
  const { rows } = await sync.store.pool.query<{ dedup_key: string }>(
    `select dedup_key from inbox where run_id = $1 and state = 'settled'`,
    [run.id],
  )
  const acknowledged = rows.flatMap(({ dedup_key }) => received.get(dedup_key) ?? [])
  return acknowledged.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at))
}

/** The export of a run. A part of a plan is about its own people, and a plan from which people were split off about the others. */
async function exportOf(
  { id, source, as_of, held_part_run_id }: RunRow,
  hr: Hr,
  sync: World['sync'],
): Promise<Night[]> {
  if (as_of === null) return []
  const { rows } = await sync.store.pool.query<{ identity_id: string; is_own: boolean }>(
    `select identity_id, run_id = $1 as is_own from changes join runs on runs.id = run_id
     where run_id in ($1, $2) or part_of_run_id = $2`,
    [id, held_part_run_id],
  )
  const [own, others] = [true, false].map(
    (isOwn) => new Set(rows.flatMap(({ identity_id, is_own }) => (is_own === isOwn ? identity_id : []))),
  )
  if (source === null && own?.size === 0) return []
  const isAbout = (key: string) => (source === null ? own?.has(key) : !others?.has(key)) ?? false
  return hr.nightsOf([as_of.toISOString()]).map((night) => ({ ...night, isAbout }))
}

/** The differences after all work is done. */
export async function findings(model: Model, { client, world }: TestSystem): Promise<string[]> {
  const { db, pool } = world.sync.store
  const judged = await judge({ client, expected: expectedNow(model), db })
  const { rows: failed } = await pool.query<{ id: string; reason: string }>(
    // A run that has to read what the platform holds is over where the platform lets nobody in, or has not answered its tenth attempt.
    `select id, reason from runs
     where state = 'failed' and failure <> 'blocked' and not (failure = 'platform_unreachable' and attempt >= 10)`,
  )
  const { rows: events } = await pool.query<{ dedup_key: string; state: string }>(
    // What an operator cancelled waits for the next event, and what came in behind a held plan waits for the decision about it.
    `select dedup_key, case when inbox.state = 'pending' and coalesce(runs.state, '') not in ('held', 'cancelled')
       and not (runs.id is null and exists (select 1 from runs where feed = 'webhook' and state = 'held'))
     then 'forgotten' else inbox.state end as state from inbox left join runs on runs.id = inbox.run_id`,
  )
  const states = new Map(events.map(({ dedup_key, state }) => [dedup_key, state]))
  return [
    ...judged,
    ...failed.map(({ id, reason }) => `run ${id} failed: ${reason}`),
    ...[...model.received].flatMap(([key, { type, at }]) => {
      const state = states.get(key) ?? 'lost'
      return ['forgotten', 'lost'].includes(state) ? [`the event ${type} of ${at} is ${state}`] : []
    }),
  ]
}

/**
 * At no time does the platform say of a person what no accepted word of HR has said, but that a leaver is still here. It keeps the
 * first leaving date until that is cleared: where an answer was lost, a newer record stands beside an older date for a moment.
 */
export async function expectNothingUnstated(model: Model, { client }: TestSystem): Promise<void> {
  const { possible, tampered } = model
  for (const [id, identity] of await peopleOn(client)) {
    if (tampered.has(id)) continue
    const { email, firstName, jobTitle, startedAt, separatedAt } = identity
    const stated = possible.get(id) ?? []
    const isRecordPossible = stated.some(
      (one) =>
        one.email === email && one.firstName === firstName && one.jobTitle === jobTitle && one.startedAt === startedAt,
    )
    const isDatePossible = separatedAt === null || stated.some((one) => one.separatedAt === separatedAt)
    if (!isRecordPossible || !isDatePossible)
      throw new Error(`the platform says of ${id} what HR never said: ${JSON.stringify(identity)}`)
  }
}

/** The key by which the receiver identifies an event. */
export function keyOf(event: HrEvent): string {
  return createHash('sha256').update(JSON.stringify(event)).digest('hex')
}
