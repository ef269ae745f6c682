import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import { forgetPerson } from '../../../src/store/retention/forget.ts'
import { approveRun, previewPart } from '../../../src/sync/sync.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { type Host, type HrPerson, openWorld, peopleOn, staff, startHost } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

/** Groups are what the column of titles says, which is mapped to no field here. */
const mapping = Mapping.parse({
  fields: { identityId: 'Worker ID', email: 'Email', firstName: 'First Name', separatedAt: { column: 'Leaving Date' } },
  status: { column: 'Status', leftWhen: ['Inactive'], employedWhen: ['Active'] },
  group: 'job title',
})
const html = '<b>Sales & "Co"</b>'
const groups = [html, 'Legal', '', ' Legal ', html]
const people = (count: number): HrPerson[] =>
  staff(count).map((person, at) => ({ ...person, title: groups[at % groups.length] ?? '' }))

describe.each(databases)('a group of a held plan on $name', ({ createDatabase }) => {
  async function open() {
    const stack = new AsyncDisposableStack()
    const { client } = await host.tenant()
    const { at } = stack.use(await createDatabase())
    const world = stack.use(await openWorld({ at, client, feed: { mapping } }))
    await world.night(people(40), { asOf: '2026-11-19T01:00:00.000Z' })
    const separated = async () =>
      [...(await peopleOn(client))].flatMap(([key, person]) => (person.separatedAt ? [key] : [])).sort()
    const groupsIn = async (table: 'roster' | 'changes') => {
      const rows = await world.sync.store.db.selectFrom(table).select(['identity_id', 'group_value']).execute()
      return new Map(rows.map((row) => [row.identity_id, row.group_value]))
    }
    return { client, world, separated, groupsIn, [Symbol.asyncDispose]: () => stack.disposeAsync() }
  }

  test('is approved alone, also of people whom the export no longer has, and stays here', async () => {
    await using opened = await open()
    const { client, world, separated } = opened
    const held = await world.night(people(20), { asOf: '2026-11-20T01:00:00.000Z' })
    const select = async (selected: (string | null)[]) =>
      await previewPart(world.sync, { runId: held.id, selection: { groups: selected } })

    const [sales, legal, none] = [await select([html]), await select(['Legal']), await select([null, html])]
    const part = { groups: [html] }
    await approveRun(world.sync, { runId: held.id, digest: sales.digest, part, by: 'ana' })
    await world.drain()

    expect(held).toMatchObject({ state: 'held', counts: { leave: 20 } })
    expect([sales, legal, none].map(({ people: count }) => count)).toEqual([8, 8, 12])
    expect(await separated()).toEqual(['E0021', 'E0025', 'E0026', 'E0030', 'E0031', 'E0035', 'E0036', 'E0040'])
    expect(await world.runOf(held.id)).toMatchObject({ state: 'held', counts: { leave: 12 } })
    expect(JSON.stringify([...(await peopleOn(client)).values()])).not.toContain('Legal')
  })

  test('that changes is stored without a change for the platform, and a blank cell ends it', async () => {
    await using opened = await open()
    const { world, groupsIn } = opened
    const before = await groupsIn('roster')
    const changed = people(40).map((person) =>
      person.id === 'E0001'
        ? { ...person, title: '' }
        : person.id === 'E0002'
          ? { ...person, title: 'Finance' }
          : person,
    )

    const run = await world.night(changed, { asOf: '2026-11-20T01:00:00.000Z' })

    const after = await groupsIn('roster')
    expect(run).toMatchObject({ state: 'unchanged' })
    expect([before, after].map((map) => [map.get('E0001'), map.get('E0002'), map.get('E0004')])).toEqual([
      [html, 'Legal', 'Legal'],
      [null, 'Finance', 'Legal'],
    ])
  })

  test('keeps its people as they were in the night until the decision', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world } = opened
    const held = await world.night(people(20), { asOf: '2026-11-20T01:00:00.000Z' })
    await world.sync.store.db.updateTable('roster').set({ group_value: 'Elsewhere' }).execute()

    const part = await previewPart(world.sync, { runId: held.id, selection: { groups: ['Legal'] } })

    expect(part.people).toBe(8)
  })

  test('stays known while the export lacks its column, and nothing waits for it', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world, groupsIn } = opened
    const before = await groupsIn('roster')
    world.source.headers = world.source.headers.map((name) => (name === 'Job Title' ? 'Cost Center' : name))

    const run = await world.night(people(40), { asOf: '2026-11-20T01:00:00.000Z' })

    expect(run).toMatchObject({ state: 'unchanged' })
    expect(await groupsIn('roster')).toEqual(before)
  })

  test('is forgotten with the person', async () => {
    await using opened = await open()
    const { world, groupsIn } = opened
    await world.night(
      people(40).map((person) =>
        person.id === 'E0001' ? { ...person, leavingDate: '2026-11-01', status: 'Inactive' } : person,
      ),
      { asOf: '2026-11-20T01:00:00.000Z' },
    )
    const before = [await groupsIn('roster'), await groupsIn('changes')].map((map) => map.get('E0001'))

    const { now } = world.clock
    const about = { connection: 'acme', identityId: 'E0001', reason: 'asked for', by: 'ana' }
    await forgetPerson(world.sync.store.db, { ...about, today: '2026-11-20', now })

    expect(before).toEqual([html, html])
    expect([await groupsIn('roster'), await groupsIn('changes')].map((map) => map.get('E0001'))).toEqual([null, null])
  })
})
