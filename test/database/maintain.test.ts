import { expect, test } from 'vitest'
import { openDatabase } from '../../src/database/database.ts'
import { maintain } from '../../src/database/maintain.ts'
import { openQueue } from '../../src/queue/queue.ts'
import { migrations } from '../../src/store/migrations/index.ts'
import { silentEvents } from '../../src/telemetry/events.ts'
import { createPgliteDatabase } from '../helpers/servers/databases.ts'

test('dead rows of tables and of the catalogue are removed, so that an embedded database stops growing', async () => {
  await using server = await createPgliteDatabase()
  await using database = await openDatabase({ at: server.at, schemas: ['rollcall', 'bullmq'], migrations })
  const { pool } = database
  const deadIn = async (table: string) => {
    // What was counted in a session is known to all after a second, or at once if it is asked for.
    await pool.query('select pg_stat_force_next_flush()')
    const { rows } = await pool.query('select n_dead_tup as dead from pg_stat_all_tables where relname = $1', [table])
    return rows[0].dead
  }
  await pool.query(`do $$ begin
    for turn in 1 .. 80 loop create temp table passing as select 1 as a; drop table passing; end loop; end $$`)
  expect(await deadIn('pg_attribute')).toBeGreaterThan(400)
  await maintain(pool)
  expect(await deadIn('pg_attribute')).toBe(0)

  await pool.query('create table counted as select n from generate_series(1, 500) n')
  const sizes: number[] = []
  for (let round = 0; round < 5; round++) {
    await pool.query('do $$ begin for turn in 1 .. 5 loop update counted set n = n + 1; end loop; end $$')
    expect(await deadIn('counted')).toBeGreaterThan(1000)
    await maintain(pool)
    const { rows } = await pool.query("select pg_relation_size('counted') as size")
    sizes.push(rows[0].size)
  }
  expect(Math.max(...sizes)).toBeLessThanOrEqual((sizes[0] ?? 0) * 2)
})

test('a single job leaves nothing dead in the catalogue', async () => {
  await using server = await createPgliteDatabase()
  await using database = await openDatabase({ at: server.at, schemas: ['rollcall', 'bullmq'], migrations })
  await using queue = await openQueue({ backend: { kind: 'database', database }, events: silentEvents() })
  const job = { name: 'run', payload: { runId: '5f0c1a52-9b4e-4e0c-8a53-0d0a6c7f1b11' } } as const
  const columns = async () => {
    await database.pool.query('select pg_stat_force_next_flush()')
    const { rows } = await database.pool.query(
      "select n_tup_ins as made from pg_stat_all_tables where relname = 'pg_attribute'",
    )
    return rows[0].made
  }
  await queue.enqueue([{ ...job, id: 'first' }])
  const before = await columns()

  for (let turn = 0; turn < 5; turn++) await queue.enqueue([{ ...job, id: `again-${turn}` }])

  expect(await columns()).toBe(before)
})
