import { randomUUID } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../schema.ts'
import { keyOf } from './key.ts'

/** All acts that the audit trail records, each with its meaning. */
export const auditActs = {
  'audit.key_made': 'the signing key of the audit trail was created; the entry holds its public half',
  'audit.key_replaced': 'another signing key replaced the former one; "tied": that one signed this too',
  'store.accepted': 'a person accepted another store as the one of this installation',
  'store.backed_up': 'a person wrote the store to a backup',
  'store.restored':
    'a person restored the store from a backup; "lost" counts the entries signed after it, up to "until"',
  'store.moved': 'a person moved the store to another database',
  'config.used': 'a daemon or a command started with a configuration that differs from the one before it',
  'config.connected': 'a person wrote the first connection to the configuration, from the named uploaded export',
  'settings.changed':
    'a person changed the settings of a connection; recorded just before the file is replaced. "difference": the changed lines, "approvedBy": the second person, "undo": the previous version is restored',
  'settings.failed': 'that change was not made: the file could not be replaced, or the process ended before that',
  'settings.proposed':
    'a person proposed such a change, which waits for a second person. "replaces": the configuration that was proposed before, and no longer waits',
  'settings.rejected': 'a person rejected a proposed change',
  'run.requested': 'a person requested a run',
  'run.planned': 'a run read its source or its events and made a plan: what it read, counts and digest',
  'run.held': 'guards hold the plan; it waits for a decision',
  'run.passed':
    'a plan was accepted; "approvedBy": it was approved before it was made again; "of": it is the part of that held plan which no guard questions',
  'run.superseded': 'a newer plan replaced a held plan',
  'run.finished': 'every change of a run was answered',
  'statement.made': 'the population statement after an accepted run, and whether it adds up',
  'run.failed': 'a run ended without a plan that could be accepted',
  'change.delivered':
    'the result for one person who leaves, returns, is corrected or retracted; "sent" stands for the record',
  'batch.delivered': 'the result for joiners and for people whose fields changed, by key',
  'run.approved': 'a person approved the plan of a held run, or a part of it ("of")',
  'run.split': 'what stays held after a part of the plan was approved',
  'run.rejected': 'a person rejected the plan of a held run',
  'run.cancelled': 'a person cancelled a run',
  'values.removed':
    'values of finished runs were removed after their retention; keys, leaving dates, counts and digests stay',
  'history.removed': 'runs were removed with everything that they held, after their retention',
  'person.forgotten': 'a person removed the values of a leaver; the key and the leaving date stay',
  'revert.requested': 'a person asked to revert a run',
  'separation.requested': 'a person asked to separate people who are only on the platform',
  'retraction.requested': 'a person asked to delete the data of a person who was sent by mistake',
  'retraction.undone': 'a person undid a retraction',
  'token.created': 'a person created a token of the control API, with its role and its expiry',
  'token.revoked': 'a person revoked a token, which ended its sessions',
  'session.began': 'a person signed in to the console; "how" names the method',
  'session.ended': 'a person signed out',
  'access.refused': 'a caller asked for something that its role may not do; recorded once a minute for each operation',
  'values.seen': 'a caller saw personal values of a person, a run or a list; recorded once a minute',
  'connection.unblocked': 'a person unblocked a connection',
  'connection.paused': 'a person paused a connection, or changed its pause',
  'connection.resumed': 'a person ended the pause of a connection',
  'value.classed': 'a person classified a value of HR',
  'keys.answered': 'a person said whether keys of HR are one person or two',
  'keys.withdrawn': 'a person withdrew an answer about two keys',
  'hold_back.placed': 'a person held back the departures of another person until a day',
  'hold_back.ended': 'a person ended a hold-back before its day',
  'departure.stated': 'a person stated a departure before HR; "waits": for a second person; "emergency": without one',
  'departure.approved': 'a second person stated the same departure',
  'departure.withdrawn': 'a person withdrew a stated departure; "waits": for a second person',
  'departure.confirmed': 'the leaving date of HR replaced a stated departure',
  'people.searched': 'a person searched for people and saw personal values; the entry counts the people',
  'events.retried': 'a person retried rejected events',
  'sync_reset.requested':
    'a person reset the sync of another person who was edited by hand on the platform; "identityId" is the key, or the number there',
  'hr.mailed': 'HR was mailed what it has to correct: how many rows, and whether with personal values',
  'entry.unreadable': 'this entry cannot be read: see `rollcall audit verify`',
  'events.dismissed': 'a person dismissed rejected events',
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

/** An entry, if its text has the shape of one; null: something other than Rollcall has changed the table. */
export function readableEntry(text: string): Entry | null {
  const entry: unknown = readEntry(text)
  return isEntry(entry) ? entry : null
}

function isEntry(value: unknown): value is Entry {
  if (!isObject(value)) return false
  const { id, at, act, by, connection, runId, identityId, details } = value
  return (
    [id, at, act, by].every((part) => typeof part === 'string') &&
    Number.isFinite(Date.parse(String(at))) &&
    (connection === null || typeof connection === 'string') &&
    [runId, identityId].every((part) => part === undefined || typeof part === 'string') &&
    (details === undefined || isObject(details))
  )
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** PostgreSQL stores neither NUL nor lone surrogates in a text. */
function storable(_name: string, value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('\0', '\uFFFD').toWellFormed() : value
}
