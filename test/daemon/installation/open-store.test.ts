import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openAudit } from '../../../src/daemon/audit/service.ts'
import { loadConfig } from '../../../src/daemon/config/load-config.ts'
import { acceptStore } from '../../../src/daemon/installation/accept.ts'
import { ensureDataDir, openStore } from '../../../src/daemon/installation/open-store.ts'
import { openDatabase } from '../../../src/database/database.ts'
import { recordMoveTarget } from '../../../src/store/connections/installation.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import { ensureConnection, getRun } from '../../../src/store/runs/runs.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import { takeLease } from '../../../src/store/workers/leases.ts'
import { createEvents, silentEvents } from '../../../src/telemetry/events.ts'
import { createEmptyPostgresDatabase, createPostgresDatabase } from '../../helpers/servers/databases.ts'
import { storeRun } from '../../helpers/stored-runs.ts'
import { openWorkplace } from '../../helpers/workplace.ts'

const baseUrl = 'http://127.0.0.1:9/public/v2'
const now = () => new Date('2026-11-20T03:00:00.000Z')

test('a store on PostgreSQL belongs to its data folder, and another one or none is refused', async () => {
  await using first = await createPostgresDatabase()
  await using second = await createPostgresDatabase()
  await using work = await openWorkplace({ baseUrl, key: 'x', database: first.at })
  const reported: object[] = []
  const keep = (fields: object): void => {
    reported.push(fields)
  }
  const events = createEvents({ error: keep, warn: keep, info: keep, debug: keep })
  const marker = join(work.folder, 'data', 'store.json')
  const pointAt = (at: string) => writeFile(join(work.folder, 'database'), at)
  const opened = async () => {
    await using store = await openStore(await loadConfig(work.configFile, process.env), { events, now })
    return store.location
  }

  await opened()
  const { installation } = JSON.parse(await readFile(marker, 'utf8'))

  await rm(marker)
  await opened()
  expect(JSON.parse(await readFile(marker, 'utf8'))).toEqual({ installation })
  expect(reported).toContainEqual(expect.objectContaining({ event: 'store.marked' }))

  await pointAt(second.at)
  await expect(opened()).rejects.toMatchObject({
    code: 'store_lost',
    exit: 74,
    message: expect.stringMatching(
      /is empty, and the store that belongs to .*"rollcall restore FILE --replace".*"rollcall accept-store"/,
    ),
  })

  const config = await loadConfig(work.configFile, process.env)
  const accepted = await acceptStore(config, { by: 'ada', reason: 'the database was lost', events, now })
  expect(accepted).toMatchObject({ former: installation, people: 0 })
  await opened()
  await expect(acceptStore(config, { by: 'ada', reason: 'again', events, now })).rejects.toMatchObject({
    code: 'conflict',
  })
  {
    await using store = await openStore(config, { events, now })
    const { rows } = await store.pool.query(
      "select entry from rollcall.audit_trail where entry like '%store.accepted%'",
    )
    expect(JSON.parse(rows[0].entry)).toMatchObject({
      by: 'ada',
      details: { reason: 'the database was lost', former: installation },
    })
    await recordMoveTarget(store.db, { to: 'PostgreSQL at elsewhere', at: now() })
  }
  await expect(opened()).rejects.toMatchObject({
    message: expect.stringContaining('was moved to PostgreSQL at elsewhere'),
  })

  await pointAt(first.at)
  await expect(opened()).rejects.toMatchObject({ message: expect.stringContaining('of another installation') })
})

test('a store that other processes use cannot be accepted, and a failed acceptance leaves the data folder as it is', async () => {
  await using known = await createPostgresDatabase()
  await using busy = await createPostgresDatabase()
  await using work = await openWorkplace({ baseUrl, key: 'x', database: known.at })
  const events = silentEvents()
  const config = await loadConfig(work.configFile, process.env)
  const accept = () => acceptStore(config, { by: 'ada', reason: 'moved', events, now })
  {
    const { audit } = await openAudit(await openStore(config, { events, now }), { config, events, now })
    await audit[Symbol.asyncDispose]()
  }
  const head = await readFile(join(config.dataDir, 'audit-head.json'), 'utf8')
  await writeFile(join(work.folder, 'database'), busy.at)
  await using other = await openDatabase<StoreSchema>({ at: busy.at, schemas: ['rollcall'], migrations })
  await ensureConnection(other.db, 'acme')
  const run = await storeRun(other.db, { state: 'held', at: now() })
  {
    await using _lease = await takeLease(other)
    await expect(accept()).rejects.toMatchObject({
      code: 'already_active',
      message: 'a process works on the store; stop them first',
    })
  }
  await other.pool.query('alter table rollcall.audit_pending rename to elsewhere')

  await expect(accept()).rejects.toThrow()

  expect(await getRun(other.db, run)).toMatchObject({ state: 'held' })
  expect(await readFile(join(config.dataDir, 'audit-head.json'), 'utf8')).toBe(head)
})

test.each(['PostgreSQL', 'the embedded database'])(
  'a store of a development version from before the first release is refused: %s',
  async (kind) => {
    await using server = await createEmptyPostgresDatabase()
    const isServer = kind === 'PostgreSQL'
    await using work = await openWorkplace({ baseUrl, key: 'x', ...(isServer && { database: server.at }) })
    const config = await loadConfig(work.configFile, process.env)
    const former = [{ name: '0001-connections', sql: 'create table connections (name text)' }]
    await ensureDataDir(config.dataDir)
    const at = isServer ? server.at : join(config.dataDir, 'store')
    const store = await openDatabase({ at, schemas: ['rollcall'], migrations: former })
    await store[Symbol.asyncDispose]()

    await expect(openStore(config, { now })).rejects.toMatchObject({
      code: 'config_invalid',
      exit: 78,
      message: expect.stringMatching(
        /"rollcall" of .* was written by a development version .*"0001-connections".*: begin with an empty database or folder/,
      ),
    })
  },
)

test('an embedded store whose folder was removed is refused, and a new one is not made', async () => {
  await using work = await openWorkplace({ baseUrl, key: 'x' })
  const config = await loadConfig(work.configFile, process.env)
  await ensureDataDir(config.dataDir)
  await writeFile(
    join(config.dataDir, 'store.json'),
    JSON.stringify({ installation: '5f0c1a52-9b4e-4e0c-8a53-0d0a6c7f1b11' }),
  )

  await expect(openStore(config)).rejects.toMatchObject({
    code: 'store_lost',
    message: expect.stringContaining('gone'),
  })
  await writeFile(join(config.dataDir, 'store.json'), '{')
  await expect(openStore(config)).rejects.toMatchObject({
    code: 'store_lost',
    message: expect.stringContaining('store.json'),
  })
})
