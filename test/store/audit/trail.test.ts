import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Database, openDatabase } from '../../../src/database/database.ts'
import { type Checkpoint, checkpointText, digestOf, nextHash } from '../../../src/store/audit/chain.ts'
import { auditExcerpt, type ExcerptFilter } from '../../../src/store/audit/excerpt.ts'
import { type AuditKey, auditKey, newKeyPem, publicPem, Signing } from '../../../src/store/audit/key.ts'
import { lastCheckpoint, replaceKey, signPending } from '../../../src/store/audit/sign.ts'
import { type Act, entryText, readEntry, recordAuditEntries, recordAuditEntry } from '../../../src/store/audit/trail.ts'
import { verifyTrail } from '../../../src/store/audit/verify.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import type { Db, StoreSchema } from '../../../src/store/schema.ts'
import { createPgliteDatabase, createPostgresDatabase, emptyTables } from '../../helpers/servers/databases.ts'
import { isFull } from '../../helpers/tier.ts'
import { reportTrials } from '../../helpers/trials.ts'

const run = promisify(execFile)
const script = fileURLToPath(new URL('verify-excerpt.mjs', import.meta.url))
const now = new Date('2026-11-20T03:00:00.000Z')
const runId = '0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f'
const key = auditKey(newKeyPem(), 'the key of the tests')
const otherKey = auditKey(newKeyPem(), 'another key')

let opened: Database<StoreSchema>
let db: Db
const stack = new AsyncDisposableStack()
beforeAll(async () => {
  opened = await open((await stack.use(await createPgliteDatabase())).at)
  db = opened.db.withPlugin(new Signing(key))
})
beforeEach(() => emptyTables(opened, 'rollcall'))
afterAll(() => stack.disposeAsync())

async function open(at: string): Promise<Database<StoreSchema>> {
  return stack.use(await openDatabase<StoreSchema>({ at, schemas: ['rollcall'], migrations }))
}

async function act(to: Db, name: Act, by: string, at = now): Promise<void> {
  await recordAuditEntry(to, {
    act: name,
    connection: 'acme',
    by,
    runId,
    details: { digest: 'sha256:12', reason: 'Müller, "quoted"' },
    now: at,
  })
}

/** A trail of some nights; answers the head that was signed last, as it is kept outside. */
async function smallTrail(): Promise<Checkpoint | null> {
  for (const by of ['Ada', 'Ben', 'Cleo']) {
    await act(db, 'run.requested', by)
    await act(db, 'run.approved', by)
    await signPending(db, { key, kept: await lastCheckpoint(db), now })
  }
  return await lastCheckpoint(db)
}

const finding = async (kept: Checkpoint | null, publicKey = key.publicKey) =>
  (await verifyTrail(opened.db, { publicKey, kept, key })).finding

type Row = Readonly<Record<string, string | number>>
const columns = {
  audit_trail: { ordinal: 'bigint', entry: 'text', hash: 'text' },
  audit_checkpoints: {
    ordinal: 'bigint',
    key: 'text',
    previous: 'bigint',
    hash: 'text',
    at: 'text',
    signature: 'text',
  },
} as const
type Table = keyof typeof columns
const tables = Object.keys(columns) as Table[]

async function rowsOf(table: Table): Promise<Row[]> {
  const { rows } = await sql<Row>`select * from ${sql.table(table)} order by ordinal`.execute(opened.db)
  return rows
}

/** Puts these rows in the testDatabase of all of a table. */
async function putRows(table: Table, rows: readonly Row[]): Promise<void> {
  const typed = Object.entries(columns[table]).map(([name, type]) => `${name} ${type}`)
  await sql`delete from ${sql.table(table)}`.execute(opened.db)
  await sql`insert into ${sql.table(table)} select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as r(${sql.raw(typed.join(', '))})`.execute(
    opened.db,
  )
}

/** The ways in which one row may be edited in one byte, as far as its type allows: all of them, or every thirteenth. */
function flips(row: Row): { readonly name: string; readonly row: Row }[] {
  return Object.entries(row).flatMap(([column, value]) => {
    const text = String(value)
    return [...text].flatMap((_, at) => {
      if (!isFull && at % 13 !== text.length % 13) return []
      const flipped = isDigits(text) ? digitFlipped(text, at) : bitFlipped(text, at)
      return flipped === text ? [] : [{ name: `${column}, byte ${at}`, row: { ...row, [column]: flipped } }]
    })
  })
}

const isDigits = (text: string) => /^\d{1,18}$/.test(text)
const bitFlipped = (text: string, at: number) =>
  text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ 1) + text.slice(at + 1)
const digitFlipped = (text: string, at: number) =>
  text.slice(0, at) + ((Number(text[at]) + 1) % 10) + text.slice(at + 1)

describe('a trail that was edited in the database without the key', () => {
  test('is found by each byte of each column of each row', async ({ task }) => {
    const kept = await smallTrail()
    expect(await finding(kept)).toBeNull()
    const unfound: string[] = []
    let tried = 0

    for (const table of tables) {
      const rows = await rowsOf(table)
      for (const [index, row] of rows.entries()) {
        for (const flip of flips(row)) {
          const clash = rows.some((other, at) => at !== index && other.ordinal === Number(flip.row.ordinal))
          if (clash) continue
          tried += 1
          await putRows(table, rows.with(index, flip.row))
          if ((await finding(kept)) === null) unfound.push(`${table} ${index}: ${flip.name}`)
        }
      }
      await putRows(table, rows)
    }

    expect(unfound).toEqual([])
    expect(tried).toBeGreaterThan(isFull ? 2000 : 150)
    expect(await finding(kept)).toBeNull()
    reportTrials(task, { subject: 'bytes flipped in an audit trail', times: `${tried} flips`, result: 'all found' })
  })

  test('is found with a row removed, swapped, duplicated or inserted', async () => {
    const kept = await smallTrail()
    const unfound: string[] = []
    let tried = 0

    for (const table of tables) {
      const rows = await rowsOf(table)
      const edits = rows.flatMap((row, index) => {
        const next = rows[index + 1]
        return [
          { what: 'removed', rows: rows.toSpliced(index, 1) },
          { what: 'removed with all that follow', rows: rows.slice(0, index) },
          { what: 'copied to the end', rows: [...rows, { ...row, ordinal: Number(rows.at(-1)?.ordinal) + 1 }] },
          ...(next
            ? [
                {
                  what: 'swapped',
                  rows: rows
                    .with(index, { ...next, ordinal: row.ordinal ?? 0 })
                    .with(index + 1, { ...row, ordinal: next.ordinal ?? 0 }),
                },
              ]
            : []),
        ]
      })
      for (const edit of edits) {
        tried += 1
        await sql`drop index if exists audit_trail_once`.execute(opened.db)
        await putRows(table, edit.rows)
        if ((await finding(kept)) === null) unfound.push(`${table}: ${edit.what}`)
      }
      await putRows(table, rows)
    }
    await sql`create unique index audit_trail_once on audit_trail (md5(entry))`.execute(opened.db)

    expect(unfound).toEqual([])
    expect(tried).toBeGreaterThan(30)
  })

  test('is found if all hashes were recomputed, and if it was cut back to an earlier head', async () => {
    const kept = await smallTrail()
    const rows = await rowsOf('audit_trail')
    const heads = await rowsOf('audit_checkpoints')
    let hash = '0'.repeat(64)
    const forged = rows.map(({ ordinal = 0, entry }, index) => {
      const text = index === 2 ? String(entry).replace('Ben', 'Eve') : String(entry)
      hash = nextHash(hash, digestOf(text))
      return { ordinal, entry: text, hash }
    })

    await putRows('audit_trail', forged)
    const recounted = await finding(kept)
    await putRows('audit_checkpoints', heads.slice(0, 1))
    const withoutHeads = await finding(kept)
    await putRows('audit_trail', rows.slice(0, 4))
    await putRows('audit_checkpoints', heads.slice(0, 2))
    const cut = await finding(kept)
    const unaware = await finding(null)

    expect(recounted).toBe('the signature of head 4 does not hold')
    expect(withoutHeads).toContain('cut short')
    expect(cut).toBe('the trail was cut short: it ends with entry 4, and entry 6 was signed here')
    expect(unaware).toBeNull()
  })

  test('is found if the entries of an accepted run are missing, but not if they wait to be signed', async () => {
    const kept = await smallTrail()
    const other = '0198c5d1-1a2b-7c3d-8e4f-000000000000'
    const common = { connection: 'acme', trigger: 'operator', options: '{}', created_at: now }
    await opened.db.insertInto('connections').values({ name: 'acme' }).execute()
    await opened.db
      .insertInto('runs')
      .values([
        { ...common, id: runId, state: 'finished' },
        { ...common, id: other, state: 'delivering' },
        { ...common, id: '0198c5d1-1a2b-7c3d-8e4f-000000000001', state: 'unchanged' },
      ])
      .execute()

    const missing = await finding(kept)
    await recordAuditEntry(db, {
      act: 'run.passed',
      connection: 'acme',
      by: 'rollcall',
      runId: other,
      details: {},
      now,
    })
    const waiting = await finding(kept)
    await signPending(db, { key, kept, now })

    expect(missing).toBe(`no act says who or what accepted the plan of run ${other}`)
    expect(waiting).toBeNull()
    expect(await finding(await lastCheckpoint(db))).toBeNull()
  })

  test('is not signed any further, so that the next entry does not vouch for it', async () => {
    const kept = await smallTrail()
    const rows = await rowsOf('audit_trail')
    const heads = await rowsOf('audit_checkpoints')
    await act(db, 'run.cancelled', 'Ada')

    await putRows('audit_trail', rows.slice(0, 4))
    await putRows('audit_checkpoints', heads.slice(0, 2))
    const cut = await signPending(db, { key, kept, now })
    await putRows('audit_trail', rows)
    await putRows('audit_checkpoints', heads.slice(0, 2))
    const unsigned = await signPending(db, { key, kept, now })
    await putRows('audit_checkpoints', heads)
    const whole = await signPending(db, { key, kept, now })

    expect(cut).toEqual({ kind: 'broken', reason: 'it ends with entry 4, and entry 6 was signed here' })
    expect(unsigned).toEqual({ kind: 'broken', reason: 'entry 6, the last one, is not what was signed' })
    expect(whole).toMatchObject({ kind: 'sealed', entries: 1 })
  })
})

describe('pending entries', () => {
  test('are taken only from a process with the key, each once', async () => {
    await smallTrail()
    await act(opened.db, 'run.approved', 'Eve')
    await act(db, 'run.approved', 'Ada')
    const { rows: waiting } = await sql<{
      entry: string
      mac: string
    }>`select entry, mac from audit_pending order by id desc`.execute(opened.db)
    const replayed = waiting[0]
    if (!replayed) throw new Error('nothing waits')
    await opened.db.insertInto('audit_pending').values(replayed).execute()
    const first = await signPending(db, { key, kept: null, now })
    await opened.db.insertInto('audit_pending').values(replayed).execute()
    const second = await signPending(db, { key, kept: null, now })

    expect(first).toMatchObject({ kind: 'sealed', entries: 1, waiting: null })
    expect(second).toMatchObject({ kind: 'sealed', entries: 0, waiting: { count: 3 } })
    expect(await finding(null)).toContain('an entry that waits to be signed came from elsewhere')
  })

  test('that cannot be signed are checked once, until another one comes, also one that commits late', async () => {
    const looked: string[] = []
    const counting: AuditKey = {
      ...key,
      mac(entry) {
        looked.push(entry)
        return key.mac(entry)
      },
    }
    await act(db, 'run.requested', 'Ada')
    const { rows: late } = await sql<Row>`delete from audit_pending returning id::float8, entry, mac`.execute(opened.db)
    await act(opened.db, 'run.approved', 'Eve')
    await act(opened.db, 'run.approved', 'Eve')

    const first = await signPending(db, { key: counting, kept: null, now })
    const unsigned = first.kind === 'sealed' ? first.waiting : null
    const again = await signPending(db, { key: counting, kept: null, unsigned, now })
    const lookedAtFirst = looked.length
    await sql`
      insert into audit_pending (id, entry, mac) overriding system value
      values (${late[0]?.id}, ${late[0]?.entry}, ${late[0]?.mac})`.execute(opened.db)
    const whole = await signPending(db, { key: counting, kept: null, unsigned, now })

    expect(unsigned).toMatchObject({ count: 2 })
    expect(again).toEqual(first)
    expect(lookedAtFirst).toBe(2)
    expect(whole).toMatchObject({ kind: 'sealed', entries: 1 })
  })

  test('are taken in their order, however many there are', async () => {
    const acts = Array.from({ length: 2200 }, (_, index) => ({
      act: 'run.requested' as const,
      connection: 'acme',
      by: String(index),
      now,
    }))
    await recordAuditEntries(db, acts)

    const sealed = []
    for (let turn = 0; turn < 4; turn++) sealed.push(await signPending(db, { key, kept: null, now }))

    expect(sealed).toMatchObject([{ entries: 1000 }, { entries: 1000 }, { entries: 200 }, { entries: 0 }])
    expect((await rowsOf('audit_trail')).map(({ entry }) => JSON.parse(String(entry)).by)).toEqual(
      acts.map(({ by }) => by),
    )
    expect(await finding(await lastCheckpoint(db))).toBeNull()
    const lines = await Array.fromAsync(auditExcerpt(opened.db), ({ kind }) => kind)
    expect(lines).toHaveLength(2200 + 3 + 2)
  })

  test('survive a crash between their commit and the signing, in the order of the chain', async () => {
    await act(db, 'run.requested', 'Ada')
    await expect(
      db.transaction().execute(async (tx) => {
        await act(tx, 'run.approved', 'nobody')
        throw new Error('killed')
      }),
    ).rejects.toThrow('killed')
    await act(db, 'run.rejected', 'Ben')

    const sealed = await signPending(db, { key, kept: null, now })

    expect(sealed).toMatchObject({ entries: 2 })
    expect((await rowsOf('audit_trail')).map(({ entry }) => JSON.parse(String(entry)).by)).toEqual(['Ada', 'Ben'])
    expect(await finding(await lastCheckpoint(db))).toBeNull()
  })
})

describe('a key', () => {
  test('that is lost leaves the trail verifiable by its public half, and a new one states that it is not cross-signed', async () => {
    const kept = await smallTrail()
    await act(opened.db, 'run.cancelled', 'Ada')

    const withoutKey = await verifyTrail(opened.db, { publicKey: key.publicKey, kept, key: null })
    const { head, tied } = await replaceKey(opened.db, {
      former: null,
      next: otherKey,
      kept,
      by: 'Ada',
      reason: 'the disk broke',
      now,
    })
    const after = await verifyTrail(opened.db, { publicKey: otherKey.publicKey, kept: head, key: otherKey })

    expect(withoutKey).toMatchObject({ finding: null, pending: 1, entries: 6 })
    expect(tied).toBe(false)
    expect(after).toMatchObject({ finding: null, entries: 8, pending: 0, untiedUpTo: 7 })
    const last = (await rowsOf('audit_trail')).at(-1)
    expect(JSON.parse(String(last?.entry))).toMatchObject({
      act: 'audit.key_replaced',
      details: {
        from: key.publicKey,
        to: otherKey.publicKey,
        tied: false,
        entriesTakenOver: 1,
        reason: 'the disk broke',
      },
    })
  })

  test('that is replaced on purpose signs its successor, and neither part can be edited', async () => {
    const kept = await smallTrail()

    const { head, tied } = await replaceKey(db, { former: key, next: otherKey, kept, by: 'Ada', reason: 'yearly', now })
    await act(opened.db.withPlugin(new Signing(otherKey)), 'run.cancelled', 'Ada')
    await signPending(db, { key: otherKey, kept: head, now })
    const whole = await verifyTrail(opened.db, { publicKey: otherKey.publicKey, kept: head, key: otherKey })
    await sql`delete from audit_checkpoints where ordinal = 7 and key = ${key.publicKey}`.execute(opened.db)
    const untied = await finding(head, otherKey.publicKey)

    expect(tied).toBe(true)
    expect(whole).toMatchObject({ finding: null, entries: 8, heads: 6, untiedUpTo: null })
    expect(untied).toBe('entry 7 says that the former key has signed it, and it has not')
  })

  test('of another installation that signed the last checkpoint is found', async () => {
    const kept = await smallTrail()
    const about = { ordinal: 6, previous: 4, hash: kept?.hash ?? '', at: now.toISOString() }
    const forged = { ...about, key: otherKey.publicKey, signature: otherKey.sign(checkpointText(about)) }

    const heads = await rowsOf('audit_checkpoints')
    await putRows('audit_checkpoints', heads.with(2, forged))

    expect(await finding(kept)).toBe('head 6 was signed by another key')
    expect(await finding(kept, otherKey.publicKey)).toBe('head 6 was signed by another key')
  })
})

describe('an excerpt', () => {
  async function check(
    filter: ExcerptFilter,
    edit: (text: string) => string = (text) => text,
    by: AuditKey = key,
  ): Promise<string> {
    const lines = await Array.fromAsync(auditExcerpt(opened.db, filter), (line) => JSON.stringify(line))
    const folder = await mkdtemp(join(tmpdir(), 'audit-'))
    try {
      await writeFile(join(folder, 'export'), edit(lines.join('\n')))
      await writeFile(join(folder, 'key'), publicPem(by.publicKey))
      return (
        await run(process.execPath, [script, join(folder, 'export'), join(folder, 'key')]).catch((error) => error)
      ).stdout
    } finally {
      await rm(folder, { recursive: true })
    }
  }

  test('is verified by a script that shares no code with us, whole and in part', async () => {
    await smallTrail()
    await act(db, 'run.rejected', 'Dan', new Date('2026-11-21T03:00:00.000Z'))
    await signPending(db, { key, kept: null, now })

    expect(await check({})).toBe('PROVEN: 7 entries\n')
    expect(await check({ from: new Date('2026-11-21') })).toBe('PROVEN: 1 entries\n')
    expect(await check({ runId })).toBe('PROVEN: 7 entries\n')
    expect(await check({ people: new Set(['E1']) })).toContain('NOT PROVEN: the last head was signed by another key')
    expect(await check({}, (text) => text.replace('Ben', 'Eve'))).toContain('NOT PROVEN: head 4')
    expect(await check({}, (text) => text.split('\n').toSpliced(2, 1).join('\n'))).toContain('NOT PROVEN: head 2')
    expect(await check({}, (text) => text.split('\n').slice(0, -1).join('\n'))).toContain('NOT PROVEN: entry 7')
    expect(await check({}, (text) => text, otherKey)).toContain('NOT PROVEN: the last head')
  })

  test('shows only the requested entries, and digests of those up to the next head', async () => {
    await act(db, 'run.requested', 'Ada')
    await recordAuditEntry(db, { act: 'retraction.requested', connection: 'acme', by: 'Ben', identityId: 'E1', now })
    await act(db, 'run.requested', 'Cleo')
    await signPending(db, { key, kept: null, now })
    await act(db, 'run.requested', 'Dan')
    await signPending(db, { key, kept: null, now })

    const lines = await Array.fromAsync(auditExcerpt(opened.db, { people: new Set(['E1']) }))

    expect(lines.map(({ kind }) => kind)).toEqual(['start', 'entry', 'link', 'head'])
    expect(JSON.stringify(lines)).not.toMatch(/Ada|Cleo|Dan/)
    expect(await check({ people: new Set(['E1']) })).toBe('PROVEN: 1 entries\n')
  })
})

test('the text of an entry can be stored in a database, whatever its strings contain', () => {
  const strings = ['a\0b', '\ud800', 'x\udfffy', '\\u0000', '\\ud800', 'Müller "😀"\n', 'plain']
  const about = { act: 'batch.delivered', connection: 'acme', by: 'rollcall', now } as const

  const texts = strings.map((text) => entryText({ ...about, details: { people: ['E1', text] } }))

  expect(texts.map((text) => readEntry(text)?.details?.people)).toEqual(
    ['a\uFFFDb', '\uFFFD', 'x\uFFFDy', '\\u0000', '\\ud800', 'Müller "😀"\n', 'plain'].map((text) => ['E1', text]),
  )
})

test('several processes that sign at once on PostgreSQL make one chain, with entries that commit late', async () => {
  const testDatabase = stack.use(await createPostgresDatabase())
  const processes = await Promise.all(
    Array.from({ length: 3 }, async () => (await open(testDatabase.at)).db.withPlugin(new Signing(key))),
  )
  const [first] = processes
  if (!first) throw new Error('no process')
  let release: () => void = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const late = first.transaction().execute(async (tx) => {
    await act(tx, 'run.approved', 'late')
    await held
  })
  const sealed: number[] = []

  await Promise.all(
    processes.map(async (process, number) => {
      for (let turn = 0; turn < 20; turn++) {
        await act(process, 'run.requested', `process ${number}`)
        const done = await signPending(process, { key, kept: null, now })
        if (done.kind === 'sealed') sealed.push(done.entries)
      }
    }),
  )
  const before = await lastCheckpoint(first)
  release()
  await late
  const last = await signPending(first, { key, kept: null, now })

  const verified = await verifyTrail(first, { publicKey: key.publicKey, kept: await lastCheckpoint(first), key })
  expect(verified).toMatchObject({ finding: null, entries: 61, pending: 0 })
  expect(last).toMatchObject({ kind: 'sealed' })
  expect(sealed.length).toBeGreaterThan(1)
  // An entry whose process found another one signing gets its ordinal only now, maybe after the late one.
  const { rows } = await sql<{ ordinal: number }>`
    select ordinal::int from audit_trail where entry::json ->> 'by' = 'late'`.execute(first)
  expect(rows).toEqual([{ ordinal: expect.any(Number) }])
  expect(rows[0]?.ordinal).toBeGreaterThan(before?.ordinal ?? 0)
})
