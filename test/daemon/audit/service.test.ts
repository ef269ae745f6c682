import { copyFile, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { makeNextKey } from '../../../src/daemon/audit/key-file.ts'
import { openAudit } from '../../../src/daemon/audit/service.ts'
import type { Config } from '../../../src/daemon/config/config.ts'
import { Secret } from '../../../src/daemon/config/secret.ts'
import { type Database, openDatabase } from '../../../src/database/database.ts'
import { newKeyPem } from '../../../src/store/audit/key.ts'
import { recordAuditEntry } from '../../../src/store/audit/trail.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import { type Event, silentEvents } from '../../../src/telemetry/events.ts'
import { createPostgresDatabase, emptyTables } from '../../helpers/servers/databases.ts'

const now = () => new Date('2026-11-20T03:00:00.000Z')
const stack = new AsyncDisposableStack()
let opened: Database<StoreSchema>

beforeEach(async () => {
  opened ??= stack.use(
    await openDatabase<StoreSchema>({
      at: stack.use(await createPostgresDatabase()).at,
      schemas: ['rollcall'],
      migrations,
    }),
  )
  await emptyTables(opened, 'rollcall')
  return async () => {
    for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true })
  }
})

const folders: string[] = []

async function dataFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'keeper-'))
  folders.push(folder)
  return folder
}

type ProcessOptions = {
  readonly signingKey?: string
  readonly digest?: string
  readonly database?: Database<StoreSchema>
}

/** A process of the installation in that folder. */
async function start(dataDir: string, { signingKey, digest = 'sha256:1', database = opened }: ProcessOptions = {}) {
  const reported: string[] = []
  const events = silentEvents((event: Event) => {
    if (event.event === 'audit.unsigned') reported.push(event.reason)
  })
  const config = {
    dataDir,
    digest,
    platform: { baseUrl: 'http://platform.example', apiKeyName: '${file:key}' },
    audit: { signingKey: signingKey === undefined ? null : new Secret([{ text: signingKey }]) },
  } as Config
  const { store, audit } = await openAudit(database, { config, events, now })
  return {
    reported,
    ...audit,
    act: () => recordAuditEntry(store.db, { act: 'run.requested', connection: 'acme', by: 'Ada', now: now() }),
    [Symbol.asyncDispose]: () => audit[Symbol.asyncDispose](),
  }
}

/** Runs an action in a process that starts and ends. */
async function during<T>(
  dataDir: string,
  task: (process: Awaited<ReturnType<typeof start>>) => Promise<T>,
  options?: Parameters<typeof start>[1],
): Promise<T> {
  await using process = await start(dataDir, options)
  return await task(process)
}

async function actsOf({ db }: Database<StoreSchema> = opened): Promise<string[]> {
  const { rows } = await sql<{
    act: string
  }>`select entry::json ->> 'act' as act from audit_trail order by ordinal`.execute(db)
  return rows.map(({ act }) => act)
}

test('the first start makes a key that only its owner can read, and each configuration is recorded once', async () => {
  const folder = await dataFolder()

  await during(folder, (process) => process.act())
  await during(folder, (process) => process.act())
  await during(folder, (process) => process.act(), { digest: 'sha256:2' })

  expect(await actsOf()).toEqual([
    'audit.key_made',
    'config.used',
    'run.requested',
    'run.requested',
    'config.used',
    'run.requested',
  ])
  const { mode } = await stat(join(folder, 'audit-key.pem'))
  expect((mode & 0o777).toString(8)).toBe('600')
  const head = JSON.parse(await readFile(join(folder, 'audit-head.json'), 'utf8'))
  const verified = await during(folder, ({ verify }) => verify({}), { digest: 'sha256:2' })
  expect(verified).toMatchObject({ finding: null, entries: 6, pending: 0 })
  expect(head.ordinal).toBe(6)
})

test('a trail that was cut back to an earlier head is noticed at the next entry, and by verify', async () => {
  const folder = await dataFolder()
  await during(folder, (process) => process.act())
  await during(folder, (process) => process.act())
  await sql`delete from audit_trail where ordinal = 4`.execute(opened.db)
  await sql`delete from audit_checkpoints where ordinal = 4`.execute(opened.db)

  const { reported, trouble, verified } = await during(folder, async (process) => {
    await process.act()
    await process.seal()
    return { reported: process.reported, trouble: process.trouble(), verified: await process.verify({}) }
  })

  expect(trouble).toBe(reported[0])
  expect(reported).toEqual(['it ends with entry 3, and entry 4 was signed here; see "rollcall audit verify"'])
  expect(verified).toMatchObject({
    finding: 'the trail was cut short: it ends with entry 3, and entry 4 was signed here',
    ordinal: 4,
    pending: 1,
  })
})

test('a lost key stops no action and is reported, and a person can replace it with a reason', async () => {
  const folder = await dataFolder()
  await during(folder, (process) => process.act())
  await rm(join(folder, 'audit-key.pem'))

  const lost = await during(folder, async (process) => {
    await process.act()
    await process.seal()
    return { reported: process.reported, verified: await process.verify({}) }
  })
  const replaced = await during(folder, async (process) => {
    const done = await process.replaceKey({ by: 'Ada', reason: 'the disk broke' })
    expect(process.trouble()).toBeNull()
    return done
  })
  const after = await during(folder, ({ verify, reported }) => verify({}).then((verified) => ({ verified, reported })))

  expect(lost.reported).toEqual([expect.stringContaining(`the key that signed the audit trail is not in ${folder}`)])
  expect(lost.verified).toMatchObject({ finding: null, entries: 3, pending: 1 })
  expect(replaced.tied).toBe(false)
  expect(after).toMatchObject({ reported: [], verified: { finding: null, entries: 5, untiedUpTo: 4 } })
})

test('a process with another key adds nothing to the trail, and says so', async () => {
  const folder = await dataFolder()
  const other = await dataFolder()
  await during(folder, (process) => process.act())

  const reported = await during(
    other,
    async (process) => {
      await process.act()
      await process.seal()
      return process.reported
    },
    { signingKey: newKeyPem() },
  )

  expect(reported).toEqual([expect.stringContaining('daemons that share a database need the same audit.signingKey')])
  expect(await during(folder, ({ verify }) => verify({}))).toMatchObject({
    entries: 3,
    pending: 1,
    finding: expect.stringContaining('came from elsewhere, or from a process without the key'),
  })
  await rm(other, { recursive: true })
  folders.splice(folders.indexOf(other), 1)
})

test('a takeover that was killed before the new key was in its place is finished by the next start', async () => {
  const folder = await dataFolder()
  await during(folder, (process) => process.act())
  await copyFile(join(folder, 'audit-key.pem'), join(folder, 'old'))
  await during(folder, (process) => process.replaceKey({ by: 'Ada', reason: 'yearly' }))
  await rename(join(folder, 'audit-key.pem'), join(folder, 'audit-key.next.pem'))
  await rename(join(folder, 'old'), join(folder, 'audit-key.pem'))

  const { reported, verified } = await during(folder, async (process) => {
    await process.act()
    return { reported: process.reported, verified: await process.verify({}) }
  })

  expect(reported).toEqual([])
  expect(verified).toMatchObject({ finding: null, entries: 5, pending: 0, untiedUpTo: null })
})

test('an unreadable copy of the last head is reported, and stops no action', async () => {
  const folder = await dataFolder()
  await during(folder, (process) => process.act())
  await writeFile(join(folder, 'audit-head.json'), '{"ordinal"')

  await during(folder, async (process) => {
    await process.act()
    await process.seal()

    expect(process.reported).toEqual([expect.stringContaining('cannot be understood')])
    await expect(process.verify({})).rejects.toThrow('the copy of the head that was signed last')
  })
})

test('a malformed key is refused at the start without being shown', async () => {
  const folder = await dataFolder()

  const refused = await start(folder, { signingKey: 'canary-secret' }).catch((error: Error) => error.message)

  expect(refused).toBe(
    'audit.signingKey holds no signing key: it has to be an ed25519 key in PKCS#8 PEM, as "openssl genpkey -algorithm ed25519" makes it',
  )
})

/** A process that waits in the middle of a signature until the test releases it. */
async function startSigning(opening: AsyncDisposableStack) {
  const testDatabase = opening.use(await createPostgresDatabase())
  const database = opening.use(
    await openDatabase<StoreSchema>({ at: testDatabase.at, schemas: ['rollcall'], migrations }),
  )
  const folder = await dataFolder()
  const process = opening.use(await start(folder, { database }))
  await process.seal()
  const letGo = Promise.withResolvers<void>()
  opening.defer(letGo.resolve)
  const isLocked = Promise.withResolvers<void>()
  const locking = database.db.transaction().execute(async (tx) => {
    await sql`lock table audit_trail in access exclusive mode`.execute(tx)
    isLocked.resolve()
    await letGo.promise
  })
  await isLocked.promise
  await process.act()
  const waiting = async (kind: 'relation' | 'advisory') => {
    const { rows } = await sql`
      select 1 from pg_locks where not granted and locktype = ${kind}
        and database = (select oid from pg_database where datname = current_database())`.execute(database.db)
    return rows.length
  }
  const first = process.seal()
  await expect.poll(() => waiting('relation')).toBe(1)
  return { process, database, folder, waiting, first, locking, letGo: letGo.resolve }
}

test('a committed entry is visible to every reader, also while the process signs others', async () => {
  await using opening = new AsyncDisposableStack()
  const { process, database, first, locking, letGo } = await startSigning(opening)

  await process.act()
  const acts = process.seal().then(() => actsOf(database))
  await process.act()
  letGo()

  expect((await acts).filter((act) => act === 'run.requested').length).toBeGreaterThanOrEqual(2)
  await Promise.all([first, locking])
})

test('a new key takes over after the signature under way, and the stored head is the newest', async () => {
  await using opening = new AsyncDisposableStack()
  const { process, database, folder, waiting, first, locking, letGo } = await startSigning(opening)

  const replacing = process.replaceKey({ by: 'Ada', reason: 'yearly' })
  // Long enough to make a key several times. A takeover begins by making a key.
  const elsewhere = await dataFolder()
  for (let look = 0; look < 5; look++) {
    await makeNextKey(elsewhere)
    expect(await waiting('advisory')).toBe(0)
  }
  letGo()
  const { head } = await replacing
  await Promise.all([first, locking])

  expect(await actsOf(database)).toEqual(['audit.key_made', 'config.used', 'run.requested', 'audit.key_replaced'])
  expect(JSON.parse(await readFile(join(folder, 'audit-head.json'), 'utf8'))).toMatchObject({ ordinal: head.ordinal })
  expect(process.reported).toEqual([])
})
