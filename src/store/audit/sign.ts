import { sql } from 'kysely'
import type { Db } from '../schema.ts'
import { type Checkpoint, checkpointText, digestOf, firstHash, isSigned, nextHash } from './chain.ts'
import type { AuditKey } from './key.ts'
import { type Details, entryText } from './trail.ts'

/** The end of the chain, and its checkpoint. */
type End = { readonly ordinal: number; readonly hash: string; readonly head: Checkpoint | null }

/** Why nothing may be appended: a new signature would vouch for a change that somebody else has made. */
type BrokenTrail = { readonly kind: 'broken'; readonly reason: string }

type SignResult =
  | {
      readonly kind: 'sealed'
      readonly entries: number
      readonly head: Checkpoint | null
      /** What is pending but cannot be signed: entries without a valid MAC, or copies. */
      readonly waiting: PendingEntries | null
    }
  /** Another process is signing. */
  | { readonly kind: 'busy' }
  | BrokenTrail

/** The key of the advisory lock; the number spells SEAL. */
const lockKey = 0x5345414c
/** Maximum number of entries per signature. */
const atOnce = 1000
const pageSize = 1000

/** The pending entries. While it is unchanged, no entry was added. */
export type PendingEntries = { readonly count: number; readonly newest: string | null }

type SigningInput = {
  readonly key: AuditKey
  readonly kept: Checkpoint | null
  readonly unsigned?: PendingEntries | null
  readonly now: Date
}

/**
 * Appends committed entries to the chain and signs its new end. One process at a time does so; the others return `busy` at once. `kept`
 * is the checkpoint that this installation signed last, stored outside the database. `unsigned` is what was pending when nothing could be
 * signed; it is not checked again until another entry arrives.
 */
export async function signPending(db: Db, { key, kept, unsigned = null, now }: SigningInput): Promise<SignResult> {
  const waiting = await readPending(db)
  const isKnown = unsigned !== null && waiting.count === unsigned.count && waiting.newest === unsigned.newest
  if (waiting.count === 0 || isKnown) return { kind: 'sealed', entries: 0, head: null, waiting }
  return await db.transaction().execute(async (tx): Promise<SignResult> => {
    const { rows } = await sql<{ isOurs: boolean }>`select pg_try_advisory_xact_lock(${lockKey}) as "isOurs"`.execute(
      tx,
    )
    if (!rows[0]?.isOurs) return { kind: 'busy' }
    const end = await endOf(tx)
    const reason = await whyBroken(tx, { end, key: key.publicKey, kept })
    if (reason !== null) return { kind: 'broken', reason }
    const own: PendingEntry[] = []
    for await (const pending of pendingEntries(tx)) {
      const isOwn = !pending.isKnown && pending.mac === key.mac(pending.entry)
      if (isOwn && own.push(pending) === atOnce) break
    }
    if (own.length === 0) return { kind: 'sealed', entries: 0, head: null, waiting }
    const head = await append(tx, { end, entries: own.map(({ entry }) => entry), keys: [key], now })
    await sql`delete from audit_pending where id = any(${own.map(({ id }) => id)}::bigint[])`.execute(tx)
    return { kind: 'sealed', entries: own.length, head, waiting: null }
  })
}

type KeyReplacement = {
  readonly former: AuditKey | null
  readonly next: AuditKey
  readonly kept: Checkpoint | null
  readonly by: string
  readonly reason: string
  readonly now: Date
}

/**
 * Replaces the key and records that as an entry. The former key signs that entry too if it is available and the trail is intact. All
 * pending entries are appended first, including those without a valid MAC; the entry counts them.
 */
export async function replaceKey(
  db: Db,
  { former, next, kept, by, reason, now }: KeyReplacement,
): Promise<{ readonly head: Checkpoint; readonly tied: boolean }> {
  return await db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(${lockKey})`.execute(tx)
    const end = await endOf(tx)
    const broken = former ? await whyBroken(tx, { end, key: former.publicKey, kept }) : 'the former key is not there'
    const tied = former !== null && broken === null
    const pending = (await Array.fromAsync(pendingEntries(tx))).filter(({ isKnown }) => !isKnown)
    const unproven = pending.filter((one) => one.mac !== former?.mac(one.entry)).length
    const details: Details = {
      from: end.head?.key ?? null,
      to: next.publicKey,
      tied,
      ...(broken !== null && { why: broken }),
      entriesTakenOver: unproven,
      reason,
    }
    const entry = entryText({ act: 'audit.key_replaced', connection: null, by, details, now })
    const head = await append(tx, {
      end,
      entries: [...pending.map((one) => one.entry), entry],
      keys: tied ? [former, next] : [next],
      now,
    })
    await sql`delete from audit_pending where id = any(${pending.map(({ id }) => id)}::bigint[])`.execute(tx)
    return { head, tied }
  })
}

/** The newest checkpoint; null before the first. Of two with one ordinal, that of the new key. */
export async function lastCheckpoint(db: Db): Promise<Checkpoint | null> {
  const { rows } = await sql<Checkpoint>`
    select ordinal::float8, previous::float8, hash, at, key, signature from audit_checkpoints
    where ordinal = (select max(ordinal) from audit_checkpoints)`.execute(db)
  const [first, ...others] = rows
  if (!first || others.length === 0) return first ?? null
  const row = await db
    .selectFrom('audit_trail')
    .select('entry')
    .where('ordinal', '=', String(first.ordinal))
    .executeTakeFirst()
  return rows.find(({ key }) => key === keyReplacementIn(row?.entry ?? '')?.to) ?? first
}

/** The keys that an entry replaces; null if it is another kind of entry. */
export function keyReplacementIn(
  entry: string,
): { readonly from: unknown; readonly to: unknown; readonly tied: boolean } | null {
  if (!entry.includes('"act":"audit.key_replaced"')) return null
  try {
    const { act, details } = JSON.parse(entry)
    return act === 'audit.key_replaced' ? { from: details.from, to: details.to, tied: details.tied === true } : null
  } catch {
    return null
  }
}

type ExpectedEnd = {
  readonly end: End
  readonly key: string
  readonly kept: Checkpoint | null
}

/** Why a process with this key may not append; null if it may. */
async function whyBroken(tx: Db, { end, key, kept }: ExpectedEnd): Promise<string | null> {
  const { head } = end
  if (end.ordinal !== (head?.ordinal ?? 0) || end.hash !== (head?.hash ?? firstHash))
    return `entry ${end.ordinal}, the last one, is not what was signed`
  if (head && head.key !== key) return 'the last head was signed by another key'
  if (head && !isSigned(head)) return `the signature of head ${head.ordinal} does not hold`
  if (kept === null) return null
  if (kept.ordinal > end.ordinal) return `it ends with entry ${end.ordinal}, and entry ${kept.ordinal} was signed here`
  const there = await tx
    .selectFrom('audit_trail')
    .select('hash')
    .where('ordinal', '=', String(kept.ordinal))
    .executeTakeFirst()
  return there?.hash === kept.hash ? null : `entry ${kept.ordinal} is not the one that was signed here`
}

async function endOf(tx: Db): Promise<End> {
  const last = await tx
    .selectFrom('audit_trail')
    .select(['ordinal', 'hash'])
    .orderBy('ordinal', 'desc')
    .limit(1)
    .executeTakeFirst()
  return { ordinal: Number(last?.ordinal ?? 0), hash: last?.hash ?? firstHash, head: await lastCheckpoint(tx) }
}

type ChainAddition = {
  readonly end: End
  readonly entries: readonly string[]
  readonly keys: readonly AuditKey[]
  readonly now: Date
}

async function append(tx: Db, { end, entries, keys, now }: ChainAddition): Promise<Checkpoint> {
  let { ordinal, hash } = end
  const rows = entries.map((entry) => {
    ordinal += 1
    hash = nextHash(hash, digestOf(entry))
    return { ordinal, entry, hash }
  })
  await sql`
    insert into audit_trail (ordinal, entry, hash)
    select ordinal, entry, hash from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
      as r(ordinal bigint, entry text, hash text)`.execute(tx)
  const about = { ordinal, previous: end.ordinal, hash, at: now.toISOString() }
  const heads = keys.map(
    (key): Checkpoint => ({ ...about, key: key.publicKey, signature: key.sign(checkpointText(about)) }),
  )
  await tx
    .insertInto('audit_checkpoints')
    .values(heads.map((signed) => ({ ...signed, ordinal: String(ordinal), previous: String(signed.previous) })))
    .execute()
  const head = heads.at(-1)
  if (!head) throw new Error('a chain was to be signed without a key')
  return head
}

async function readPending(db: Db): Promise<PendingEntries> {
  const { rows } = await sql<PendingEntries>`
    select count(*)::int as count, max(id)::text as newest from audit_pending`.execute(db)
  return rows[0] ?? { count: 0, newest: null }
}

type PendingEntry = {
  readonly id: string
  readonly entry: string
  readonly mac: string | null
  /** It is in the chain already, or pending twice: a copy. */
  readonly isKnown: boolean
}

/** The pending entries in the order of arrival. */
async function* pendingEntries(tx: Db): AsyncGenerator<PendingEntry> {
  for (let after = '0'; ; ) {
    const { rows } = await sql<PendingEntry>`
      select id::text, entry, mac, exists (select 1 from audit_trail where md5(audit_trail.entry) = md5(pending.entry))
        or exists (select 1 from audit_pending earlier where md5(earlier.entry) = md5(pending.entry) and earlier.id < pending.id)
          as "isKnown"
      from audit_pending pending where pending.id > ${after} order by pending.id limit ${pageSize}`.execute(tx)
    yield* rows
    const last = rows.at(-1)
    if (!last || rows.length < pageSize) return
    after = last.id
  }
}
