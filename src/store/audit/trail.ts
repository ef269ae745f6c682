import { randomUUID } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../schema.ts'
import { keyOf } from './key.ts'

/** All acts that the audit trail records, each with its meaning. */
export const auditActs = {
  'audit.key_made': 'the signing key of the audit trail was made; the entry names its public half',
  'audit.key_replaced':
    'another signing key takes over, with the reason; "tied" says whether the former key has signed this',
  'store.accepted':
    'a person said that the store which is there belongs to this installation, though it is not the one that was known',
  'store.backed_up': 'a person had the store written into a backup',
  'store.restored':
    'a person put the store back from a backup; "lost" counts the entries that were signed after it, up to the one that "until" names',
  'store.moved': 'a person carried the store to another database',
  'config.used': 'a daemon or a command started with another configuration than the one before it',
  'config.connected':
    'a person had the first connection written into the configuration, from an export that they gave in the console; the entry names the file',
  'run.requested': 'a person asked for a run',
  'run.planned':
    'a run read its source, or its events, to the end and planned: what it read, the counts and the digest of the plan',
  'run.held': 'guards stopped the plan, which waits for a person',
  'run.passed':
    'a plan was accepted and is delivered; with "approvedBy" because a person had approved it before it was made again; with "of" as the part of a held plan that no failed guard puts in doubt',
  'run.superseded': 'a held plan became void, because a newer plan exists',
  'run.finished': 'everything of a run was answered',
  'run.failed': 'a run ended without a plan that could be accepted',
  'change.delivered':
    'what became of one person who leaves, returns, is corrected or retracted; "sent" stands for the record',
  'batch.delivered': 'what became of joiners and of people whose fields changed, by key',
  'run.approved': 'a person approved the plan of a held run',
  'run.rejected': 'a person dropped the plan of a held run',
  'run.cancelled': 'a person ended a run',
  'values.removed':
    'values of finished runs were removed, because their time was over; keys, dates of leaving, counts and digests stay',
  'history.removed': 'runs were removed with all that they held, because their time was over',
  'person.forgotten': 'a person had the values removed of someone who has left; the key and the date of leaving stay',
  'revert.requested': 'a person asked that what a run did is taken back',
  'separation.requested': 'a person asked to separate people that only the platform knows',
  'retraction.requested': 'a person asked that the data of a person is deleted as sent in error',
  'retraction.undone': 'a person took a retraction back',
  'token.created': 'a person made a token of the control API, with its role and when it expires',
  'token.revoked': 'a person ended a token, and with it the sessions that it had begun',
  'session.began': 'a person signed in to the console; "how" says with what',
  'session.ended': 'a person signed out',
  'access.refused': 'a caller was refused what its role may not do; recorded once a minute for each operation',
  'values.seen':
    'a caller was shown personal values, of the person or the run that is named; recorded once a minute for the same ones',
  'connection.unblocked': 'a person said that what blocked a connection is gone',
  'connection.paused': 'a person paused a connection, so that it takes in nothing new by itself, or changed a pause',
  'connection.resumed': 'a person ended a pause before it was over by itself',
  'value.classed': 'a person said what a value of HR means',
  'keys.answered': 'a person said whether keys of HR name one person or two',
  'keys.withdrawn': 'a person took back what was said of two keys',
  'hold_back.placed': 'a person holds leavings of a person back until a day',
  'hold_back.ended': 'a person ended that before the day',
  'people.searched': 'a person searched for people and was shown personal values; the entry counts them',
  'events.retried': 'a person had rejected events planned again',
  'events.dismissed': 'a person gave events up',
} as const satisfies Record<string, string>

/** The name of an act. */
export type Act = keyof typeof auditActs

/** Details of an act: keys, counts, digests, and the reason that an operator typed. Never a personal value. */
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

/** An entry to record. */
export type NewEntry = {
  readonly act: Act
  /** Null: it is about the installation. */
  readonly connection: string | null
  /** The operator who did it, or `rollcall`. */
  readonly by: string
  readonly runId?: string
  readonly identityId?: string
  readonly details?: Details
  readonly now: Date
}

/** The actor of what the daemon does by itself. */
export const rollcall = 'rollcall'

/**
 * Records an entry in the transaction that it describes, so that neither exists without the other. It is appended to the signed chain
 * later.
 */
export async function recordAuditEntry(tx: Db, entry: NewEntry): Promise<void> {
  await tx.insertInto('audit_pending').values(pendingRow(tx, entry)).execute()
}

/** Records several entries with one statement. */
export async function recordAuditEntries(tx: Db, entries: readonly NewEntry[]): Promise<void> {
  if (entries.length > 0) await pendingInsert(tx, entries).execute(tx)
}

/** The statement that records entries. */
function pendingInsert(db: Db, entries: readonly NewEntry[]): RawBuilder<unknown> {
  const rows = entries.map((entry) => pendingRow(db, entry))
  return sql`
    insert into audit_pending (entry, mac)
    select entry, mac from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as acts(entry text, mac text)`
}

function pendingRow(db: Db, entry: NewEntry): { readonly entry: string; readonly mac: string | null } {
  const text = entryText(entry)
  return { entry: text, mac: keyOf(db)?.mac(text) ?? null }
}

/** The canonical text of an entry. Its members have a fixed order; undefined ones are left out. */
export function entryText({ act, connection, by, runId, identityId, details, now }: NewEntry): string {
  const members = { id: randomUUID(), at: now.toISOString(), act, by, connection, runId, identityId, details }
  const text = JSON.stringify(members)
  // Few texts need the check of each string, which takes longer than the rest of an entry about a thousand people.
  return mayBeUnstorable.test(text) ? JSON.stringify(members, storable) : text
}

/** How JSON escapes NUL and lone surrogates. */
const mayBeUnstorable = /\\u(?:0000|d[89a-f])/

/** An entry as it is read from its text. */
export type Entry = Omit<NewEntry, 'now'> & { readonly id: string; readonly at: string }

/** Parses an entry; null if the text is not JSON. */
export function readEntry(text: string): Entry | null {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** PostgreSQL stores neither NUL nor lone surrogates in a text. */
function storable(_name: string, value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('\0', '\uFFFD').toWellFormed() : value
}
