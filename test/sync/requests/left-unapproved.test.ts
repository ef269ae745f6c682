import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ChangeKind } from '../../../src/identity/change.ts'
import type { Run } from '../../../src/store/runs/runs.ts'
import { approveRun, previewPart, rejectRun } from '../../../src/sync/sync.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { type Host, type HrPerson, openWorld, peopleOn, staff, startHost, type World } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const keysOf = (people: readonly HrPerson[]) => people.map(({ id }) => id)
const everybody = staff(100)
// The last people stay: an export without them looks as if its end were cut off.
const staying = everybody.slice(12)
const leavers = keysOf(everybody.slice(0, 12))
const approved = leavers.slice(0, 8)
const doubted = leavers.slice(8)

const joiner = { id: 'N1', email: 'n1@acme.example', first: 'N', status: 'Active' }

describe.each(databases)('people left in a plan of which a part was approved, on $name', ({ createDatabase }) => {
  async function open(send: ChangeKind[] = []) {
    const stack = new AsyncDisposableStack()
    const { client } = await host.tenant()
    const { at } = stack.use(await createDatabase())
    const world = stack.use(await openWorld({ at, client, connection: { onHold: { send } } }))
    const night = async (day: number, people: readonly HrPerson[] = staying) =>
      await world.night(people, { asOf: `2026-11-${day}T01:00:00.000Z` })
    const separated = async () =>
      [...(await peopleOn(client))].flatMap(([key, person]) => (person.separatedAt ? [key] : [])).sort()
    await night(10, everybody)
    const held = await night(11)
    const { digest } = await previewPart(world.sync, { runId: held.id, selection: { people: approved } })
    await approveRun(world.sync, { runId: held.id, digest, part: { people: approved }, by: 'ana' })
    await world.drain()
    expect(held).toMatchObject({ state: 'held', counts: { leave: 12 } })
    expect(await separated()).toEqual(approved)
    return { world, held, night, separated, [Symbol.asyncDispose]: () => stack.disposeAsync() }
  }

  const failed = ({ guards }: Run) => (guards ?? []).filter(({ ok }) => !ok)
  const heldForThem = [{ name: 'leftUnapproved', actual: 4, limit: 0, people: doubted, taints: ['leave'] }]

  async function approve(world: World, { id: runId, digest }: Run): Promise<void> {
    await approveRun(world.sync, { runId, digest: digest ?? '', by: 'ben' })
    await world.drain()
  }

  test('are held every night until somebody approves them, although no limit counts so few', async () => {
    await using opened = await open()
    const { world, held, night, separated } = opened

    const second = await night(12)
    const third = await night(13)
    const before = await separated()
    await approve(world, third)

    expect(await world.runOf(held.id)).toMatchObject({ state: 'superseded' })
    for (const run of [second, third]) {
      expect(run).toMatchObject({ counts: { leave: 4 } })
      expect(failed(run)).toMatchObject(heldForThem)
    }
    expect(third.state).toBe('held')
    expect(third.reason).toContain('4 people were left out when a part of a held plan was approved')
    expect(before).toEqual(approved)
    expect(await separated()).toEqual(leavers)
    expect(await night(14)).toMatchObject({ state: 'unchanged' })
  })

  test('are held after the rest, and what was held for it, were rejected', async () => {
    await using opened = await open()
    const { world, held, night, separated } = opened

    await rejectRun(world.sync, { runId: held.id, by: 'ben' })
    const second = await night(12)
    await rejectRun(world.sync, { runId: second.id, by: 'ben' })
    const third = await night(13)

    expect(failed(second)).toMatchObject(heldForThem)
    expect(third.state).toBe('held')
    expect(failed(third)).toMatchObject(heldForThem)
    expect(await separated()).toEqual(approved)
  })

  test('hold nothing once HR states them as employed, and leave as anybody else later', async () => {
    await using opened = await open()
    const { night, separated } = opened
    const back = everybody.filter(({ id }) => !approved.includes(id))

    const second = await night(12, back)
    const third = await night(13)

    expect(failed(second)).toEqual([])
    expect(failed(third)).toEqual([])
    expect(third).toMatchObject({ state: 'finished', counts: { leave: 4 } })
    expect(await separated()).toEqual(leavers)
  })

  test('that HR takes back are not counted, and those of another kind of change go on', {
    tags: ['full'],
  }, async () => {
    await using opened = await open(['join'])
    const { world, night, separated } = opened
    const [first] = doubted

    const second = await night(12, [...staying, ...everybody.filter(({ id }) => id === first), joiner])
    const joined = await world.runOf(second.wentOn ?? '')

    expect(second).toMatchObject({ state: 'held', counts: { leave: 3, join: 0 } })
    expect(failed(second)).toMatchObject([{ name: 'leftUnapproved', actual: 3, people: doubted.slice(1) }])
    expect(joined).toMatchObject({ state: 'finished', counts: { join: 1 } })
    expect(await separated()).toEqual(approved)
    // The joiners were sent on their own, which approves nobody else.
    expect(failed(await night(13, [...staying, joiner]))).toMatchObject([
      { name: 'leftUnapproved', people: doubted.slice(1) },
    ])
  })
})
