import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import type { Kysely } from 'kysely'
import { describe, expect, test } from 'vitest'
import { platformOperations } from '../../src/contract/platform/platform.ts'
import { createClient } from '../../src/http/client/client.ts'
import { openPlatformDatabase } from '../../src/platform/core/database.ts'
import type { PlatformSchema } from '../../src/platform/core/schema.ts'
import { beginAttempt, endAttempt, recentAttempts } from '../../src/platform/identity-sync/attempts.ts'
import { lockForSync, syncIdentities } from '../../src/platform/identity-sync/identity-sync.ts'
import { startNightlySync } from '../../src/platform/identity-sync/nightly.ts'
import { databaseOperator } from '../../src/platform/operators/operator.ts'
import { startPlatform } from '../../src/platform/start.ts'
import { createPostgresDatabase, databases } from '../helpers/servers/databases.ts'
import { platformFolder } from '../helpers/servers/provided.ts'
import { bodyOf, newHrisConnection, openTestPlatform, type TestPlatform } from './helpers/platforms.ts'

/** A folder with an embedded platform, which opens sooner than an empty one. */
async function temporaryFolder() {
  const path = await mkdtemp(join(tmpdir(), 'rollcall-platform-'))
  await cp(await platformFolder(), path, { recursive: true })
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

test('stored data, keys and cursors survive a restart', async () => {
  await using folder = await temporaryFolder()
  const before = await startPlatform({ database: folder.path })
  const operator = databaseOperator(before.database.db)
  await operator.createAccount({
    body: {
      name: 'Acme',
      entitlements: ['CUSTOM_CONNECTIONS_AND_TESTS'],
      termsAcceptedAt: '2026-01-01T00:00:00.000Z',
    },
  })
  const { key } = await operator.createKey({ body: { account: 'Acme', name: 'test', permissions: 'all' } })
  const first = createClient(platformOperations, { baseUrl: before.baseUrl, bearer: key })
  const params = { connectionId: await newHrisConnection(first) }
  await first.upsertHrisUserIdentities({ params, body: [{ identityId: 'a' }, { identityId: 'b' }] })
  const page = bodyOf(await first.listHrisUserIdentities({ params, query: { size: 1 } }), 200)
  await before[Symbol.asyncDispose]()

  await using after = await startPlatform({ database: folder.path })

  const second = createClient(platformOperations, { baseUrl: after.baseUrl, bearer: key })
  const rest = await second.listHrisUserIdentities({ params, query: { size: 1, cursor: page.pagination.cursor ?? '' } })
  expect(bodyOf(rest, 200)).toMatchObject({ data: [{ identityId: 'b' }], pagination: {} })
})

test('a second platform on the same folder is refused and names the owner', async () => {
  await using folder = await temporaryFolder()
  await using _first = await startPlatform({ database: folder.path })

  const second = startPlatform({ database: folder.path })

  await expect(second).rejects.toMatchObject({
    code: 'already_active',
    message: expect.stringContaining(`${process.pid}`),
  })
})

test('a taken port is a failure that names it, and leaves the database free', async () => {
  await using folder = await temporaryFolder()
  await using database = await createPostgresDatabase()
  await using first = await startPlatform({ database: database.at })

  const second = startPlatform({ database: folder.path, port: first.port })

  await expect(second).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining(`${first.port}`),
  })
  await using third = await startPlatform({ database: folder.path })
  expect(third.port).toBeGreaterThan(0)
})

test('the platform says that it is healthy and describes itself', async () => {
  await using opened = await openTestPlatform(createPostgresDatabase)
  const { baseUrl } = opened.platform

  const health = await fetch(new URL('/healthz', baseUrl))
  const document = JSON.parse(await (await fetch(`${baseUrl}/openapi.json`)).text())

  expect([health.status, await health.json()]).toEqual([200, { status: 'ok' }])
  expect(await new Validator().validate(structuredClone(document))).toMatchObject({ valid: true })
  expect(document.paths).toHaveProperty(['/custom-connections/{connectionId}/hris-user-identities'])
})

test('a body that is too large or not JSON is refused in the shape of the contract', async () => {
  await using opened = await openTestPlatform(createPostgresDatabase)
  const { name } = await opened.newAccount()
  const { key } = await opened.operator.createKey({ body: { account: name, name: 'test', permissions: 'all' } })
  const send = (body: string) =>
    fetch(`${opened.platform.baseUrl}/custom-connections`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body,
    })

  const broken = await send('{"name":')
  const large = await send(`{"name":"${'x'.repeat(10 * 1024 * 1024)}"}`)

  expect(await broken.json()).toMatchObject({ statusCode: 400, name: expect.any(String), code: expect.any(Number) })
  expect(large.status).toBe(413)
})

test('a schedule that cannot be is a failure of the configuration', async () => {
  await using database = await createPostgresDatabase()
  const { at } = database

  const badCron = startPlatform({ database: at, sync: { cron: 'at night', timeZone: 'UTC' } })
  await expect(badCron).rejects.toMatchObject({ code: 'config_invalid', message: expect.stringContaining('at night') })

  const badZone = startPlatform({ database: at, sync: { cron: '0 3 * * *', timeZone: 'Mars/Olympus' } })
  await expect(badZone).rejects.toMatchObject({ code: 'config_invalid', message: expect.stringContaining('Olympus') })
})

describe.each(databases)('the nightly sync on $name', ({ createDatabase }) => {
  test('syncs every account at its time, and one that fails does not stop the others', async () => {
    await using opened = await openTestPlatform(createDatabase)
    const [first, broken, last] = [await opened.newAccount(), await opened.newAccount(), await opened.newAccount()]
    const { db, pool } = opened.platform.database
    await pool.query(`
      create function refuse() returns trigger language plpgsql as $$ begin raise 'broken'; end $$;
      create trigger refuse before insert on identity_syncs for each row when (new.account_id = ${broken.id}) execute function refuse();
    `)
    const ended = Promise.withResolvers<void>()
    const reports: (readonly [number | null, 'done' | 'failed'])[] = []
    const hear = (account: number | null, how: 'done' | 'failed') => {
      reports.push([account, how])
      if (account === last.id) ended.resolve()
    }

    await using _nightly = startNightlySync(db, {
      schedule: { cron: '* * * * * *', timeZone: 'UTC' },
      report: { onFinished: (account) => hear(account, 'done'), onFailed: (account) => hear(account, 'failed') },
      now: opened.clock.now,
    })
    await ended.promise

    expect(reports.slice(0, 3)).toEqual([
      [first.id, 'done'],
      [broken.id, 'failed'],
      [last.id, 'done'],
    ])
    const kept = await db.selectFrom('identity_syncs').select('trigger').where('account_id', '=', first.id).execute()
    expect(kept[0]).toEqual({ trigger: 'schedule' })
  })

  const silent = { onFinished: () => {}, onFailed: () => {} }
  const nightly = { cron: '0 3 * * *', timeZone: 'Europe/Berlin' }

  /** Starts and stops a process with a nightly sync at this time, twice. */
  async function restart(opened: TestPlatform, instant: string): Promise<void> {
    const { db } = opened.platform.database
    const now = () => new Date(instant)
    for (let start = 0; start < 2; start++) {
      await using _nightly = startNightlySync(db, { schedule: nightly, report: silent, now })
    }
  }

  const startsOf = async ({ platform }: TestPlatform, accountId: number) => {
    const { db } = platform.database
    const rows = await db
      .selectFrom('identity_syncs')
      .select('started_at')
      .where('account_id', '=', accountId)
      .execute()
    return rows.map(({ started_at }) => started_at.toISOString())
  }

  test('makes up once for the nights in which nothing ran, also over a clock change, and not for those before an account', async () => {
    await using opened = await openTestPlatform(createDatabase)
    const { id } = await opened.newAccount()
    const made = opened.clock.now().toISOString().slice(0, 10)

    await restart(opened, `${made}T23:30:00.000Z`)
    const before = await startsOf(opened, id)
    for (const at of ['2026-10-24T12:00:00.000Z', '2026-10-25T01:59:59.000Z', '2026-10-25T02:00:00.000Z'])
      await restart(opened, at)
    await restart(opened, '2026-10-28T09:00:00.000Z')

    expect(before).toEqual([])
    expect(await startsOf(opened, id)).toEqual([
      '2026-10-24T12:00:00.000Z',
      '2026-10-25T02:00:00.000Z',
      '2026-10-28T09:00:00.000Z',
    ])
  })

  test('makes up for a night in which its process was killed, and is done once by two processes', async () => {
    await using opened = await openTestPlatform(createDatabase)
    const { id } = await opened.newAccount()
    const { db } = opened.platform.database
    const killedAt = new Date('2026-10-28T02:00:00.000Z')
    await beginAttempt(db, { accountId: id, trigger: 'schedule', now: () => killedAt })
    const failures: unknown[] = []
    const report = { onFinished: () => {}, onFailed: (_account: number | null, error: unknown) => failures.push(error) }
    const now = () => new Date('2026-10-28T02:00:10.000Z')

    const processes = [1, 2].map(() => startNightlySync(db, { schedule: nightly, report, now }))
    for (const process of processes) await process[Symbol.asyncDispose]()

    expect(await startsOf(opened, id)).toEqual(['2026-10-28T02:00:10.000Z'])
    expect(failures).toEqual([])
  })

  type SyncReport = { readonly account: number | null; readonly how: 'done' | 'failed' }

  /** A nightly sync that checks without a pause, and its log. */
  function startWatched(db: Kysely<PlatformSchema>, now: () => Date) {
    const reports: SyncReport[] = []
    const waiting: { readonly how: SyncReport['how']; readonly resolve: () => void }[] = []
    const hear = (account: number | null, how: SyncReport['how']) => {
      reports.push({ account, how })
      for (const { resolve } of waiting.filter((one) => one.how === how)) resolve()
    }
    const report = {
      onFinished: (account: number) => hear(account, 'done'),
      onFailed: (account: number | null) => hear(account, 'failed'),
    }
    const until = (how: SyncReport['how']) => new Promise<void>((resolve) => waiting.push({ how, resolve }))
    return { heard: reports, until, sync: startNightlySync(db, { schedule: nightly, report, now, maxPauseMs: 1 }) }
  }

  test('is tried again in the same night after it failed', async () => {
    await using opened = await openTestPlatform(createDatabase)
    const { id } = await opened.newAccount()
    const { db, pool } = opened.platform.database
    await pool.query(`
      create function refuse() returns trigger language plpgsql as $$ begin raise 'broken'; end $$;
      create trigger refuse before insert on identity_syncs for each row execute function refuse();
    `)
    const { heard: reports, until, sync } = startWatched(db, () => new Date('2026-10-28T02:00:00.000Z'))
    await using _sync = sync
    await until('failed')
    await pool.query('drop trigger refuse on identity_syncs')

    await until('done')

    expect(reports.at(0)).toEqual({ account: id, how: 'failed' })
    expect(reports.at(-1)).toEqual({ account: id, how: 'done' })
    expect(await startsOf(opened, id)).toEqual(['2026-10-28T02:00:00.000Z'])
  })

  test('stops after the account that it is at, and the next process goes on with the others', async () => {
    await using opened = await openTestPlatform(createDatabase)
    const [first, second] = [await opened.newAccount(), await opened.newAccount()]
    const { db } = opened.platform.database
    const now = () => new Date('2026-10-28T02:00:00.000Z')
    const synced: number[] = []
    const stopping = Promise.withResolvers<void>()
    const report = {
      onFinished: (account: number) => {
        synced.push(account)
        stopping.resolve(sync[Symbol.asyncDispose]())
      },
      onFailed: (_account: number | null, error: unknown) => stopping.reject(error),
    }

    const sync = startNightlySync(db, { schedule: nightly, report, now })
    await stopping.promise
    const atStop = [...synced]
    await restart(opened, '2026-10-28T02:00:10.000Z')

    expect(atStop).toEqual([first.id])
    expect(await startsOf(opened, second.id)).toEqual(['2026-10-28T02:00:10.000Z'])
  })

  test('follows a clock that is set to another time while it runs', async () => {
    await using opened = await openTestPlatform(createDatabase)
    const { id } = await opened.newAccount()
    opened.clock.set('2026-10-28T02:00:00.000Z')
    const { until, sync } = startWatched(opened.platform.database.db, opened.clock.now)
    await using _sync = sync

    for (const instant of ['2027-10-28T02:00:00.000Z', '2026-10-28T02:30:00.000Z', '2026-10-29T02:00:00.000Z']) {
      await until('done')
      opened.clock.set(instant)
    }
    await until('done')

    expect(await startsOf(opened, id)).toEqual([
      '2026-10-28T02:00:00.000Z',
      '2027-10-28T02:00:00.000Z',
      '2026-10-28T02:30:00.000Z',
      '2026-10-29T02:00:00.000Z',
    ])
  })

  test('is not stopped by a sync of a clock that was a year ahead', async () => {
    await using opened = await openTestPlatform(createDatabase)
    const { id } = await opened.newAccount()
    const { db } = opened.platform.database
    const ahead = '2027-10-28T12:00:00.000Z'
    await syncIdentities(db, { accountId: id, trigger: 'schedule', now: () => new Date(ahead) })

    await restart(opened, '2026-10-28T02:00:00.000Z')
    await restart(opened, '2026-10-29T02:00:00.000Z')
    await restart(opened, '2027-10-28T13:00:00.000Z')

    expect(await startsOf(opened, id)).toEqual([
      ahead,
      '2026-10-28T02:00:00.000Z',
      '2026-10-29T02:00:00.000Z',
      '2027-10-28T13:00:00.000Z',
    ])
  })

  test('is known to be done also when many syncs by hand came after it', async () => {
    await using opened = await openTestPlatform(createDatabase)
    const { id } = await opened.newAccount()
    const { db } = opened.platform.database
    await restart(opened, '2026-10-28T02:00:00.000Z')
    const now = () => new Date('2026-10-28T03:00:00.000Z')
    for (let count = 0; count < 20; count++) {
      const attempt = await beginAttempt(db, { accountId: id, trigger: 'operator', now })
      await endAttempt(db, attempt, now())
    }
    const failures: unknown[] = []
    const report = { onFinished: () => {}, onFailed: (_account: number | null, error: unknown) => failures.push(error) }

    await startNightlySync(db, { schedule: nightly, report, now })[Symbol.asyncDispose]()

    expect(failures).toEqual([])
    expect(await startsOf(opened, id)).toHaveLength(1)
  })

  test('is not done by a process that looked before another one had done it', async () => {
    await using opened = await openTestPlatform(createDatabase)
    const { id } = await opened.newAccount()
    const { db } = opened.platform.database
    const slot = new Date('2026-10-28T02:00:00.000Z')
    const now = () => new Date('2026-10-28T02:00:01.000Z')
    const sync = () => syncIdentities(db, { accountId: id, trigger: 'schedule', now, slot })

    await sync()

    await expect(sync()).rejects.toMatchObject({ code: 'conflict' })
    expect(await startsOf(opened, id)).toEqual(['2026-10-28T02:00:01.000Z'])
    expect(await recentAttempts(db, id, 9, now())).toHaveLength(1)
  })
})

test('the nightly sync of a locked account runs as soon as the account is free', async () => {
  await using database = await createPostgresDatabase()
  await using opened = await openTestPlatform(async () => ({ at: database.at, async [Symbol.asyncDispose]() {} }))
  await using outside = await openPlatformDatabase(database.at)
  const { id } = await opened.newAccount()
  const [held, done] = [Promise.withResolvers<unknown>(), Promise.withResolvers<number>()]
  const schedule = { cron: '0 3 * * *', timeZone: 'UTC' }
  const report = {
    onFinished: (account: number) => done.resolve(account),
    onFailed: (_: unknown, why: unknown) => held.resolve(why),
  }

  await using _sync = await outside.db.transaction().execute(async (trx) => {
    await lockForSync(trx, id)
    const started = startNightlySync(opened.platform.database.db, {
      schedule,
      report,
      now: () => new Date('2026-10-28T03:00:00.000Z'),
      maxPauseMs: 1,
    })
    expect(await held.promise).toMatchObject({ code: 'conflict' })
    return started
  })

  expect(await done.promise).toBe(id)
})
