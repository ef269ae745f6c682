import type { Db } from '../schema.ts'

/** What the audit trail holds: the closed list of acts, each with what it says. */
export const acts = {
  'run.requested': 'a person asked for a run',
  'run.approved': 'a person approved the plan of a held run',
  'run.rejected': 'a person dropped the plan of a held run',
  'run.cancelled': 'a person ended a run',
  'retraction.requested': 'a person asked that the data of a person is deleted as sent in error',
  'retraction.undone': 'a person took a retraction back',
  'connection.unblocked': 'a person said that what blocked a connection is gone',
  'value.classed': 'a person said what a value of HR means',
  'events.retried': 'a person had rejected events planned again',
  'events.dismissed': 'a person gave events up',
} as const satisfies Record<string, string>

export type Act = keyof typeof acts

/** What more is to be said of an act: keys, counts, digests, and the reason that a person typed. Never a personal value. */
export type Details = {
  readonly [name: string]: string | number | boolean | null | readonly string[] | Readonly<Record<string, number>>
}

export type NewEntry = {
  readonly act: Act
  /** null: it concerns the installation. */
  readonly connection: string | null
  /** The person who did it, or the part of the daemon. */
  readonly by: string
  readonly runId?: string
  readonly identityId?: string
  readonly details?: Details
  readonly now: Date
}

/** Adds an act to the audit trail, in the transaction of what it is about, so that there is never one without the other. */
export async function record(tx: Db, entry: NewEntry): Promise<void> {
  await tx
    .insertInto('audit_trail')
    .values({ entry: entryText(entry) })
    .execute()
}

/** The text that stands for an act from then on. Its members have a fixed order; those that say nothing are left out. */
function entryText({ act, connection, by, runId, identityId, details, now }: NewEntry): string {
  return JSON.stringify({ at: now.toISOString(), act, by, connection, runId, identityId, details }, storable)
}

/** A database stores neither zeros nor halves of characters in a text. */
function storable(_name: string, value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('\0', '\uFFFD').toWellFormed() : value
}
