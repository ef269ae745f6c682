import { sql } from 'kysely'
import type { AuditVerification } from '../../contract/control/audit.ts'
import type { Db } from '../schema.ts'
import { type Checkpoint, digestOf, firstHash, isSigned, nextHash } from './chain.ts'
import type { AuditKey } from './key.ts'
import { keyReplacementIn } from './sign.ts'
import { readEntry } from './trail.ts'

/** The result of verifying the whole trail. */
export type VerificationResult = AuditVerification

type RestoreEntry = NonNullable<VerificationResult['restored']>

/** What is known outside the database. */
type TrustAnchor = {
  /** The public key that must have signed the newest checkpoint. */
  readonly publicKey: string
  /** The checkpoint that was signed here last; null: none is stored. */
  readonly kept: Checkpoint | null
  /** With the private key, the MACs of pending entries are checked too. */
  readonly key: AuditKey | null
}

type Row = { readonly ordinal: number; readonly entry: string; readonly hash: string }

const pageSize = 2000

/** Verifies the whole trail from its beginning. Entries that arrive meanwhile are left for the next call. */
export async function verifyTrail(db: Db, { publicKey, kept, key }: TrustAnchor): Promise<VerificationResult> {
  const upTo = await lastOrdinals(db)
  const walked = await walk(db, { upTo: upTo.head, publicKey, kept })
  const pending = await lookAtPending(db, key)
  const beyond =
    upTo.entry > upTo.head && (await lastOrdinals(db)).head === upTo.head
      ? wrongEntry(
          upTo.head + 1,
          `entry ${upTo.head + 1} stands behind the last signed head: it was put in without the key`,
        )
      : null
  const fault = walked.wrong ?? beyond ?? pending.wrong ?? (await lookForUnaccounted(db))
  const { finding = null, ordinal = null } = fault ?? {}
  const { entries, heads, untiedUpTo, restored } = walked
  return { entries, heads, pending: pending.count, finding, ordinal, untiedUpTo, restored }
}

type Wrong = { readonly finding: string; readonly ordinal: number | null }

function wrongEntry(ordinal: number | null, finding: string): Wrong {
  return { ordinal, finding }
}

type WalkInput = {
  readonly upTo: number
  readonly publicKey: string
  readonly kept: Checkpoint | null
}

async function walk(
  db: Db,
  { upTo, publicKey, kept }: WalkInput,
): Promise<Pick<VerificationResult, 'entries' | 'heads' | 'untiedUpTo' | 'restored'> & { wrong: Wrong | null }> {
  const ids = new Set<string>()
  let entries = 0
  let heads = 0
  let hash = firstHash
  let headsUpTo = 0
  let key: unknown = null
  let untiedUpTo: number | null = null
  let restored: RestoreEntry | null = null
  const ended = (fault: Wrong | null) => ({ entries, heads, untiedUpTo, restored, wrong: fault })

  for (let after = Number.MIN_SAFE_INTEGER; ; ) {
    const page = await entriesAfter(db, { after, upTo })
    const signed = Map.groupBy(
      await headsAfter(db, { after, upTo: page.at(-1)?.ordinal ?? upTo }),
      ({ ordinal }) => ordinal,
    )
    for (const row of page) {
      const expected = entries + 1
      if (row.ordinal !== expected) return ended(wrongEntry(expected, `entry ${expected} is missing`))
      hash = nextHash(hash, digestOf(row.entry))
      if (hash !== row.hash)
        return ended(
          wrongEntry(row.ordinal, `entry ${row.ordinal} was changed: it does not have the hash that it was given`),
        )
      const id = readEntry(row.entry)?.id
      if (id === undefined || ids.has(id))
        return ended(
          wrongEntry(
            row.ordinal,
            `entry ${row.ordinal} is ${id === undefined ? 'no entry' : 'a copy of an earlier one'}`,
          ),
        )
      ids.add(id)
      entries += 1
      if (kept?.ordinal === row.ordinal && kept.hash !== hash)
        return ended(wrongEntry(row.ordinal, `entry ${row.ordinal} is not the one that was signed here`))
      restored = putBackBy(row) ?? restored
      const takeover = keyReplacementIn(row.entry)
      const here = signed.get(row.ordinal) ?? []
      signed.delete(row.ordinal)
      heads += here.length
      for (const head of here) {
        if (head.hash !== hash || !isSigned(head))
          return ended(wrongEntry(row.ordinal, `the signature of head ${row.ordinal} does not hold`))
        key ??= head.key
        if (head.previous !== headsUpTo)
          return ended(wrongEntry(row.ordinal, `a head between entry ${headsUpTo} and entry ${row.ordinal} is missing`))
        if (head.key !== key && head.key !== takeover?.to)
          return ended(wrongEntry(row.ordinal, `head ${row.ordinal} was signed by another key`))
      }
      if (here.length > 0) headsUpTo = row.ordinal
      if (takeover) {
        if (key !== null && takeover.tied && !here.some((head) => head.key === key))
          return ended(
            wrongEntry(row.ordinal, `entry ${row.ordinal} says that the former key has signed it, and it has not`),
          )
        if (!here.some((head) => head.key === takeover.to))
          return ended(wrongEntry(row.ordinal, `the key that entry ${row.ordinal} names did not sign it`))
        if (!takeover.tied) untiedUpTo = row.ordinal - 1
        key = takeover.to
      }
    }
    const [stray] = signed.keys()
    if (stray !== undefined) return ended(wrongEntry(stray, `head ${stray} stands for an entry that is missing`))
    const last = page.at(-1)
    if (!last || page.length < pageSize) break
    after = last.ordinal
  }
  if (entries < upTo) return ended(wrongEntry(entries + 1, `entry ${entries + 1} is missing`))
  if (kept && kept.ordinal > entries)
    return ended(
      wrongEntry(
        entries + 1,
        `the trail was cut short: it ends with entry ${entries}, and entry ${kept.ordinal} was signed here`,
      ),
    )
  if (key !== null && key !== publicKey)
    return ended(
      wrongEntry(entries, `head ${entries}, the last one, was signed by another key than that of this installation`),
    )
  return ended(null)
}

/** The restore that an entry records; null if it is another kind of entry. */
function putBackBy({ ordinal, entry: text }: Row): RestoreEntry | null {
  if (!text.includes('"act":"store.restored"')) return null
  const entry = readEntry(text)
  if (entry?.act !== 'store.restored') return null
  const lost = entry.details?.lost
  return { ordinal, at: entry.at, lost: typeof lost === 'number' ? lost : null }
}

async function lookAtPending(db: Db, key: AuditKey | null): Promise<{ count: number; wrong: Wrong | null }> {
  const rows = await db.selectFrom('audit_pending').select(['entry', 'mac']).orderBy('id').execute()
  const foreign = key === null ? 0 : rows.filter(({ entry, mac }) => mac !== key.mac(entry)).length
  if (foreign === 0) return { count: rows.length, wrong: null }
  const subject = foreign === 1 ? 'an entry that waits' : `${foreign} entries that wait`
  const finding = `${subject} to be signed came from elsewhere, or from a process without the key`
  return { count: rows.length, wrong: wrongEntry(null, finding) }
}

/** Runs whose plan was accepted without an entry: somebody removed the entry before it was signed, or inserted the run. */
async function lookForUnaccounted(db: Db): Promise<Wrong | null> {
  const { rows } = await sql<{ id: string; runs: number }>`
    with accounted as (
      select substring(entry from '"runId":"([^"]+)"') as id
      from (select entry from audit_trail union all select entry from audit_pending) acts
      where entry like '%"act":"run.passed"%' or entry like '%"act":"run.approved"%'
    )
    select id, (count(*) over ())::int as runs from runs
    where state in ('delivering', 'finished', 'finished_with_problems')
      and not exists (select 1 from accounted where accounted.id = runs.id::text)
    order by created_at, id limit 1`.execute(db)
  const [first] = rows
  if (!first) return null
  const others = first.runs === 1 ? '' : `, and ${first.runs - 1} more`
  return wrongEntry(null, `no act says who or what accepted the plan of run ${first.id}${others}`)
}

async function lastOrdinals(db: Db): Promise<{ readonly head: number; readonly entry: number }> {
  const { rows } = await sql<{ head: number; entry: number }>`
    select coalesce((select max(ordinal) from audit_checkpoints), 0)::float8 as head,
      coalesce((select max(ordinal) from audit_trail), 0)::float8 as entry`.execute(db)
  return rows[0] ?? { head: 0, entry: 0 }
}

type Part = { readonly after: number; readonly upTo: number }

async function entriesAfter(db: Db, { after, upTo }: Part): Promise<Row[]> {
  const { rows } = await sql<Row>`
    select ordinal::float8, entry, hash from audit_trail where ordinal > ${after} and ordinal <= ${upTo}
    order by ordinal limit ${pageSize}`.execute(db)
  return rows
}

async function headsAfter(db: Db, { after, upTo }: Part): Promise<Checkpoint[]> {
  const { rows } = await sql<Checkpoint>`
    select ordinal::float8, previous::float8, hash, at, key, signature from audit_checkpoints where ordinal > ${after} and ordinal <= ${upTo}
    order by ordinal`.execute(db)
  return rows
}
