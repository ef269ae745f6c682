import { randomUUID } from 'node:crypto'
import type { Db } from '../schema.ts'
import { keyOf } from './key.ts'

/** What the audit trail holds: the closed list of acts, each with what it says. */
export const acts = {
  'audit.key_made': 'the signing key of the audit trail was made; the entry names its public half',
  'audit.key_replaced':
    'another signing key takes over, with the reason; "tied" says whether the former key has signed this',
  'config.used': 'a daemon or a command started with another configuration than the one before it',
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
  readonly [name: string]:
    | string
    | number
    | boolean
    | null
    | undefined
    | readonly string[]
    | Readonly<Record<string, number>>
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

/** What a part of the daemon did, and no person. */
export const rollcall = 'rollcall'

/**
 * Adds an act to the audit trail, in the transaction of what it is about, so that there is never one without the other. The act waits
 * for nothing: it gets its place in the chain later.
 */
export async function record(tx: Db, entry: NewEntry): Promise<void> {
  await tx.insertInto('audit_pending').values(pendingRow(tx, entry)).execute()
}

/** What `record` inserts, for a statement that has to do more than that. */
export function pendingRow(db: Db, entry: NewEntry): { readonly entry: string; readonly mac: string | null } {
  const text = entryText(entry)
  return { entry: text, mac: keyOf(db)?.mac(text) ?? null }
}

/** The text that stands for an act from then on. Its members have a fixed order; those that say nothing are left out. */
export function entryText({ act, connection, by, runId, identityId, details, now }: NewEntry): string {
  const members = { id: randomUUID(), at: now.toISOString(), act, by, connection, runId, identityId, details }
  return JSON.stringify(members, storable)
}

/** An act as it is read from its text. */
export type Entry = Omit<NewEntry, 'now'> & { readonly id: string; readonly at: string }

/** null: the text is none of ours. */
export function readEntry(text: string): Entry | null {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** A database stores neither zeros nor halves of characters in a text. */
function storable(_name: string, value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('\0', '\uFFFD').toWellFormed() : value
}
