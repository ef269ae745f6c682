import { randomUUID } from 'node:crypto'
import type { Db } from '../../src/store/schema.ts'

export type StoredRun = {
  readonly id?: string
  readonly connection?: string
  readonly feed?: 'source' | 'webhook' | 'roster'
  readonly trigger?: 'schedule' | 'operator' | 'file'
  readonly state: string
  /** When it was asked for, began, and where it has ended, ended. */
  readonly at: Date
  readonly digest?: string | null
  readonly reason?: string
  readonly failure?: string
  readonly guards?: readonly { readonly name: string; readonly ok: boolean }[]
  readonly counts?: Readonly<Record<string, number>>
  readonly options?: object
  /** The as-of time of what it read. Without it, there was nothing new to read. */
  readonly asOf?: Date
  /** Until when its plan can be approved. */
  readonly expiresAt?: Date
}

/** Writes a run as it stands in the store. A run that failed was not planned, every other one was. */
export async function storeRun(
  db: Db,
  {
    id = randomUUID(),
    connection = 'acme',
    feed = 'source',
    trigger = 'schedule',
    state,
    at,
    digest,
    options = {},
    guards,
    counts,
    asOf,
    expiresAt,
    ...texts
  }: StoredRun,
): Promise<string> {
  const isOver = !['held', 'delivering'].includes(state)
  await db
    .insertInto('runs')
    .values({
      id,
      connection,
      feed,
      trigger,
      state,
      options: JSON.stringify(options),
      digest: digest === undefined ? (state === 'failed' ? null : 'sha256:abc') : digest,
      guards: JSON.stringify(guards ?? []),
      counts: counts ? JSON.stringify(counts) : null,
      source: asOf ? JSON.stringify({ name: 'people.csv' }) : null,
      as_of: asOf ?? null,
      expires_at: expiresAt ?? null,
      created_at: at,
      started_at: at,
      finished_at: isOver ? at : null,
      ...texts,
    })
    .execute()
  return id
}

export type StoredBatch = {
  readonly runId: string
  readonly batch: number
  /** What kind of change is due for whom; joins and updates travel in batches of their own. */
  readonly people: Readonly<Record<string, string>>
  /** By which kind of request; left out: by that of an HRIS connection. */
  readonly kind?: string
  readonly state?: string
  readonly dueAt: Date
  readonly lease?: number
  readonly failingSince?: Date
  readonly lastCode?: string
  readonly lastFailure?: string
}

/** Writes a batch with its changes, as it stands in the store while a run delivers. */
export async function storeBatch(
  db: Db,
  { runId, batch, people, kind, state = 'due', dueAt, lease, failingSince, lastCode, lastFailure }: StoredBatch,
): Promise<void> {
  const about = { run_id: runId, batch }
  await db
    .insertInto('deliveries')
    .values({
      ...about,
      kind: kind ?? (Object.values(people).some((change) => ['join', 'update'].includes(change)) ? 'upsert' : 'update'),
      state,
      due_at: dueAt,
      attempts: 0,
      requests: 0,
      people: Object.keys(people).length,
      lease: lease ?? null,
      failing_since: failingSince ?? null,
      last_code: lastCode ?? null,
      last_failure: lastFailure ?? null,
    })
    .execute()
  await db
    .insertInto('changes')
    .values(
      Object.entries(people).map(([identityId, change]) => ({
        ...about,
        identity_id: identityId,
        kind: change,
        state: 'due',
        inferred: false,
        carried: false,
        requests: 0,
      })),
    )
    .execute()
}
