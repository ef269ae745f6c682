import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Database, openDatabase } from '../../../src/database/database.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import {
  currentRunStates,
  currentRuns,
  ensureConnection,
  listRuns,
  type RunFilter,
} from '../../../src/store/runs/runs.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import { databases, type TestDatabase } from '../../helpers/servers/databases.ts'
import { storeRun } from '../../helpers/stored-runs.ts'

const connections = ['acme', 'globex', 'initech'] as const
const states = ['finished', 'unchanged', 'failed'] as const
const triggers = ['schedule', 'operator', 'file'] as const

describe.each(databases)('the list of runs on $name', ({ createDatabase }) => {
  let at: TestDatabase
  let store: Database<StoreSchema>
  let ids: string[]
  beforeAll(async () => {
    at = await createDatabase()
    store = await openDatabase<StoreSchema>({ at: at.at, schemas: ['rollcall'], migrations })
    for (const name of connections) await ensureConnection(store.db, name)
    ids = []
    // Three runs begin at each moment, so that a page ends between runs of the same time.
    for (let index = 0; index < 54; index++) {
      const pick = <T>(of: readonly T[], step: number) => of[Math.floor(index / step) % of.length] as T
      const run = { connection: pick(connections, 1), state: pick(states, 3), trigger: pick(triggers, 9) }
      ids.push(await storeRun(store.db, { ...run, at: new Date(Date.UTC(2026, 10, 1 + Math.floor(index / 3))) }))
    }
  })
  afterAll(async () => {
    await store[Symbol.asyncDispose]()
    await at[Symbol.asyncDispose]()
  })

  const walk = async (filter: Omit<RunFilter, 'limit' | 'after'>) => {
    const listed: Awaited<ReturnType<typeof listRuns>> = []
    for (;;) {
      const page = await listRuns(store.db, { ...filter, after: listed.at(-1), limit: 4 })
      listed.push(...page)
      if (page.length < 4) return listed
    }
  }

  test('goes page by page from the newest to the oldest, and returns each run once', async () => {
    const listed = await walk({})

    expect(listed.map(({ id }) => id).sort()).toEqual(ids.toSorted())
    expect(listed.map(({ createdAt }) => createdAt)).toEqual(
      listed
        .map(({ createdAt }) => createdAt)
        .sort()
        .reverse(),
    )
  })

  test.each<Omit<RunFilter, 'limit'>>([
    { connection: 'globex' },
    { states: ['failed'] },
    { triggers: ['operator', 'file'] },
    { states: ['finished', 'failed'], triggers: ['schedule'] },
    { connection: 'acme', states: ['unchanged'], triggers: ['file'] },
    { states: ['held'] },
  ])('is narrowed by %o', async (filter) => {
    const all = await walk({})

    const listed = await walk(filter)

    const expected = all.filter(
      ({ connection, state, trigger }) =>
        (filter.connection ?? connection) === connection &&
        (filter.states ?? [state]).includes(state) &&
        (filter.triggers ?? [trigger]).includes(trigger),
    )
    expect(listed).toEqual(expected)
  })

  test('shows what a connection does now, however many runs have ended since', async () => {
    await ensureConnection(store.db, 'hooli')
    const currentOf = async (names: string[]) => await currentRuns(store.db, await currentRunStates(store.db, names))
    const atMinute = (minute: number) => new Date(Date.UTC(2026, 10, 20, 0, minute))
    const waiting = await storeRun(store.db, { connection: 'hooli', state: 'waiting', at: atMinute(0) })
    const ended: string[] = []
    for (let minute = 2; minute < 24; minute++)
      ended.push(
        await storeRun(store.db, { connection: 'hooli', feed: 'webhook', state: 'finished', at: atMinute(minute) }),
      )

    const first = (await currentOf(['hooli', 'acme'])).get('hooli')
    const held = await storeRun(store.db, { connection: 'hooli', state: 'held', at: atMinute(1) })
    const current = await currentOf(['hooli', 'acme', 'new'])

    expect([first?.active?.id, first?.last?.id]).toEqual([waiting, ended.at(-1)])
    expect([current.get('hooli')?.active?.id, current.get('hooli')?.last?.id]).toEqual([held, ended.at(-1)])
    expect(current.get('acme')).toMatchObject({ active: null, last: { connection: 'acme' } })
    expect(current.get('new')).toEqual({ active: null, last: null })
  })
})
