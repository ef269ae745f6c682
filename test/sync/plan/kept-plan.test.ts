import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { planDryRun, requestRun } from '../../../src/sync/sync.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { change, type Host, openWorld, peopleOn, staff, startHost, without } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

describe.each(databases)('a plan that was kept, on $name,', ({ createDatabase }) => {
  async function open() {
    const stack = new AsyncDisposableStack()
    const { client } = await host.tenant()
    const { at } = stack.use(await createDatabase())
    const world = stack.use(await openWorld({ at, client }))
    await world.night(staff(20), { asOf: '2026-11-19T01:00:00.000Z' })
    world.clock.now = new Date(world.clock.now.getTime() + 60_000)
    world.setExport(without(staff(20), 'E0007'), '2026-11-20T01:00:00.000Z')
    const { kept } = await planDryRun(world.sync, 'acme', new AbortController().signal)
    const ask = async () => {
      const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'operator', options: { plan: kept } })
      await world.drain()
      return await world.runOf(id)
    }
    const separated = async () => (await peopleOn(client)).get('E0007')?.separatedAt ?? null
    return { world, kept, ask, separated, [Symbol.asyncDispose]: () => stack.disposeAsync() }
  }

  test('is what the run delivers', async () => {
    await using opened = await open()

    const run = await opened.ask()

    expect(run).toMatchObject({ state: 'finished', digest: opened.kept.digest, counts: { leave: 1 } })
    expect(await opened.separated()).toBe('2026-11-20T00:00:00.000Z')
  })

  test('is held if a guard stops it', async () => {
    await using opened = await open()
    const { world } = opened
    world.setExport(staff(8), '2026-11-20T02:00:00.000Z')
    const { kept } = await planDryRun(world.sync, 'acme', new AbortController().signal)

    const request = { connection: 'acme', trigger: 'operator', options: { plan: kept } } as const
    const { id } = await requestRun(world.sync, request)
    await world.drain()

    expect(await world.runOf(id)).toMatchObject({ state: 'held', digest: kept.digest })
  })

  test.each([
    {
      cause: 'the source was replaced',
      meanwhile: async ({ world }: Opened) => world.setExport(without(staff(20), 'E0007'), '2026-11-20T02:00:00.000Z'),
      reason: 'the source was replaced since',
    },
    {
      cause: 'the configuration is another one',
      meanwhile: async ({ world }: Opened) => Object.assign(world.connection, { configuration: 'another' }),
      reason: 'the configuration of the connection, or a classified value, has changed since',
    },
    {
      cause: 'facts were accepted',
      meanwhile: async ({ world }: Opened) => {
        const rows = world.source.rows
        await world.night(change(staff(20), { id: 'E0008', title: 'Lead' }), { asOf: '2026-11-19T02:00:00.000Z' })
        Object.assign(world.source, { rows, asOf: '2026-11-20T01:00:00.000Z' })
      },
      reason: 'facts were accepted since, by run ',
    },
  ])('is refused if $cause since, and sends nothing', async ({ meanwhile, reason }) => {
    await using opened = await open()
    await meanwhile(opened)

    const run = await opened.ask()

    expect(run).toMatchObject({ state: 'failed', failure: 'conflict' })
    expect(run.reason).toContain(`this is not the plan that was kept: ${reason}`)
    expect(await opened.separated()).toBeNull()
  })

  test('does not bind waiting runs of others, or requests that join it', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world, kept } = opened
    const options = { plan: kept }
    await requestRun(world.sync, { connection: 'acme', trigger: 'schedule' })
    await expect(requestRun(world.sync, { connection: 'acme', trigger: 'operator', options })).rejects.toThrow(
      'waits already; ask again when it has ended',
    )
    await world.drain()
    const bound = await requestRun(world.sync, { connection: 'acme', trigger: 'operator', options })
    const joined = await requestRun(world.sync, { connection: 'acme', trigger: 'schedule' })
    await world.drain()
    await world.minute()

    expect(joined.id).toBe(bound.id)
    expect((await world.runOf(bound.id)).state).toBe('failed')
    const runs = await world.sync.store.db.selectFrom('runs').select(['state']).orderBy('created_at').execute()
    expect(runs.map(({ state }) => state).toSorted()).toEqual(['failed', 'finished', 'finished', 'unchanged'])
  })

  type Opened = Awaited<ReturnType<typeof open>>
})
