import { hash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import { forgetPerson } from '../../../src/store/retention/forget.ts'
import { listRuns } from '../../../src/store/runs/runs.ts'
import { exportedKeys, populationChange } from '../../../src/store/statement/movements.ts'
import { statementAt, statementPeople } from '../../../src/store/statement/read.ts'
import { holdBack } from '../../../src/sync/requests/hold-backs.ts'
import { answerKeys } from '../../../src/sync/requests/key-answers.ts'
import { approveRun, retractPerson } from '../../../src/sync/sync.ts'
import { createDice } from '../../helpers/dice.ts'
import { noLimits } from '../../helpers/guards/no-limits.ts'
import { differencesStated } from '../../helpers/statements.ts'
import { isFull } from '../../helpers/tier.ts'
import {
  between,
  change,
  type Host,
  type HrPerson,
  openWorld,
  peopleOn,
  staff,
  startHost,
  type World,
  without,
} from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const mapping = Mapping.parse({
  fields: {
    identityId: 'Worker ID',
    email: 'Email',
    firstName: 'First Name',
    jobTitle: 'Job Title',
    startedAt: { column: 'Start Date' },
    separatedAt: { column: 'Leaving Date' },
  },
  status: { column: 'Status', leftWhen: ['Inactive'], employedWhen: ['Active'] },
  scope: '(`Job Title` != "Board")',
})

async function openOwn() {
  const { client } = await host.tenant()
  const world = await openWorld({
    client,
    feed: { mapping, graceRuns: 2, outOfScope: 'keep' },
    connection: { guards: noLimits },
  })
  return { client, world }
}

async function newest({ sync }: World) {
  const statement = await statementAt(sync.store.db, { connection: 'acme' })
  if (!statement) throw new Error('no statement was made')
  return statement
}

/** The parts of a statement that hold anybody. */
function filled(parts: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(parts).filter(([, count]) => count > 0))
}

const operator = { connection: 'acme', reason: 'for the record', by: 'ana' } as const

test('everybody is in one part, on both sides, and each part lists who is in it', async () => {
  const { client, world } = await openOwn()
  await using _ = world
  const { db } = world.sync.store
  const all = staff(24)
  await world.night(all, { asOf: '2026-11-18T01:00:00.000Z' })
  await answerKeys(world.sync, { connection: 'acme', former: 'E0009', identityId: 'N9', same: true, by: 'ana' })
  await retractPerson(world.sync, { ...operator, identityId: 'E0008' })
  for (const held of (await listRuns(db, { limit: 5 })).filter(({ state }) => state === 'held'))
    await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ana' })
  await world.drain()
  await holdBack(world.sync, { ...operator, identityId: 'E0007', until: '2026-12-24' })
  await world.night(change(without(all, 'E0004'), { id: 'E0004' }), { asOf: '2026-11-19T01:00:00.000Z' })
  between(world, (real) => ({
    upsertHrisUserIdentities: async (input, options) => {
      const answer = await real.upsertHrisUserIdentities(input, options)
      if (!('body' in answer)) return answer
      const refused = { statusCode: 400, data: null, error: { message: 'no' } }
      const body = answer.body.map((item, at) =>
        input.body[at]?.identityId === 'E0006' ? { ...item, ...refused } : item,
      )
      return { ...answer, body } as typeof answer
    },
  }))
  const changed = change(
    without(all, 'E0002', 'E0009'),
    { id: 'E0001', leavingDate: '2026-11-18', status: 'Inactive' },
    { id: 'E0003', leavingDate: '2026-12-31' },
    { id: 'E0005', title: 'Board' },
    { id: 'E0006', title: 'Manager' },
    { id: 'E0007', leavingDate: '2026-11-18', status: 'Inactive' },
  )
  const twice = { ...staff(30)[26], id: 'E0027' }
  const total = { id: 'Total', title: '24' }

  const run = await world.night(
    [...changed, { ...staff(9)[8], id: 'N9' }, twice, { ...twice, title: 'Other' }, total],
    {
      asOf: '2026-11-20T01:00:00.000Z',
    },
  )

  const statement = await newest(world)
  expect([run.state, statement.addsUp, statement.differences]).toEqual(['finished_with_problems', true, []])
  const { stated, platform, rows } = statement
  expect(stated).toMatchObject({ exported: 25, further: 0 })
  expect(filled(stated.parts)).toEqual({
    ...{ employed: 17, left: 1, deferred: 1, outOfScope: 1, refused: 1, unreadable: 1, excluded: 2, notAPerson: 1 },
  })
  expect(filled(platform.parts)).toEqual({ stated: 21, absent: 1, alias: 1 })
  expect(filled(rows?.parts ?? {})).toEqual({ used: 22, further: 2, outOfScope: 1, notAPerson: 1 })
  expect(platform.records).toBe((await peopleOn(client)).size)
  const excluded = await statementPeople(db, {
    ...{ connection: 'acme', statement: statement.id, side: 'stated', part: 'excluded', limit: 10, values: true },
  })
  expect(excluded.map(({ identityId, detail, name }) => [identityId, detail, name])).toEqual([
    ['E0007', 'held back until 2026-12-24', 'Person 7'],
    ['E0008', 'retracted', 'Person 8'],
  ])
})

/** One night of a company: some of its people leave, come back, get another key, are corrected, or come. */
function turn(people: HrPerson[], roll: (sides: number) => number, day: string): HrPerson[] {
  const result = [...people]
  const at = roll(result.length)
  const person = result[at]
  if (person === undefined) return result
  switch (roll(6)) {
    case 0:
      result[at] = { ...person, leavingDate: day, status: 'Inactive' }
      break
    case 1:
      result[at] = { ...person, leavingDate: '', status: 'Active' }
      break
    case 2:
      if (person.leavingDate) result[at] = { ...person, leavingDate: '2026-01-02' }
      break
    case 3:
      result.splice(at, 1)
      break
    case 4:
      result.unshift({ ...person, id: `J${day}`, email: `j${day}@acme.example`, leavingDate: '', status: 'Active' })
      break
    default:
      result[at] = { ...person, title: `Title of ${day}` }
  }
  return result
}

test('over a year, who was there at the start and who came are who is there at the end and who left', {
  timeout: 600_000,
}, async () => {
  const { client, world } = await openOwn()
  await using _ = world
  const { db } = world.sync.store
  const dice = createDice(7)
  const roll = (sides: number) => dice.integer(0, sides - 1)
  const nights = isFull ? 365 : 22
  const first = Temporal.PlainDate.from('2026-01-10')
  let people = staff(30)
  const employed: string[][] = []
  const retracted = new Set<string>()

  for (let night = 0; night < nights; night += 1) {
    const day = first.add({ days: night }).toString()
    world.clock.now = new Date(`${day}T03:00:00.000Z`)
    if (night > 0) people = turn(turn(people, roll, day), roll, day)
    if (night % 13 === 5) {
      const former = people.find(({ id, status }) => id.startsWith('E') && status === 'Active' && !retracted.has(id))
      if (former) {
        await answerKeys(world.sync, {
          connection: 'acme',
          former: former.id,
          identityId: `N${day}`,
          same: true,
          by: 'ana',
        })
        people = people.map((person) => (person.id === former.id ? { ...person, id: `N${day}` } : person))
      }
    }
    // By chance alone nobody comes back for weeks.
    const leaver = people.find(({ status }) => status === 'Inactive')
    if (night % 17 === 15 && leaver) people = change(people, { id: leaver.id, leavingDate: '', status: 'Active' })
    if (night % 17 === 7) {
      const mistake = people.find(({ id, status }) => id.startsWith('E') && status === 'Active' && !retracted.has(id))
      if (mistake) {
        await retractPerson(world.sync, { ...operator, identityId: mistake.id })
        retracted.add(mistake.id)
      }
    }
    await world.night(people, { asOf: `${day}T01:00:00.000Z` })
    for (const held of (await listRuns(db, { limit: 5 })).filter(({ state }) => state === 'held'))
      await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ana' })
    await world.drain()
    employed.push(
      [...(await peopleOn(client))].flatMap(([id, { separatedAt }]) => (separatedAt === null ? [id] : [])).toSorted(),
    )
  }

  expect(await differencesStated(world)).toEqual([])
  const middle = Math.floor(nights / 2)
  const midnight = (night: number) => new Date(`${first.add({ days: night })}T00:00:00.000Z`)
  const all = await populationChange(db, { connection: 'acme', from: midnight(0), to: midnight(nights) })
  const half = await populationChange(db, { connection: 'acme', from: midnight(middle), to: midnight(nights) })
  for (const [{ startKeys, endKeys, movements }, before] of [
    [all, []],
    [half, employed[middle - 1]],
  ] as const) {
    const keysOf = (entered: boolean) =>
      movements.flatMap((move) => (move.entered === entered ? [move.identityId] : []))
    expect(startKeys).toEqual(before)
    expect(endKeys).toEqual(employed.at(-1))
    expect([...startKeys, ...keysOf(true)].toSorted()).toEqual([...endKeys, ...keysOf(false)].toSorted())
  }
  const kinds = new Set(all.movements.map(({ kind }) => kind))
  expect([...kinds].toSorted()).toEqual(['join', 'leave', 'retraction', 'return'])
  // Everybody who moved has the run that sent it and the answer of the platform.
  expect(all.movements.filter(({ runId, status }) => runId === null || status === null)).toEqual([])
})

test('the key of a forgotten person becomes a digest in all statements, and the counts stay', async () => {
  const { world } = await openOwn()
  await using _ = world
  const { db } = world.sync.store
  const people = staff(12)
  await world.night(people, { asOf: '2026-11-18T01:00:00.000Z' })
  const left = change(people, { id: 'E0004', leavingDate: '2026-11-18', status: 'Inactive' })
  await world.night(left, { asOf: '2026-11-19T01:00:00.000Z' })
  const before = await newest(world)

  const [now, today] = [world.clock.now, '2026-11-20']
  await forgetPerson(db, { connection: 'acme', identityId: 'E0004', reason: 'asked for', by: 'ana', today, now })
  await world.night(left, { asOf: '2026-11-20T01:00:00.000Z' })

  const after = await newest(world)
  expect([after.stated, after.platform, after.addsUp]).toEqual([before.stated, before.platform, true])
  expect(after.export?.keys).toBe(before.export?.keys)
  for (const { id } of [before, after]) {
    const exported = await exportedKeys(db, { connection: 'acme', statement: id })
    expect(hash('sha256', exported.map(({ digest }) => `${digest}\n`).join(''))).toBe(after.export?.keys)
    expect(exported.filter(({ key }) => key === null)).toHaveLength(1)
  }
  const everywhere = await db.selectFrom('accounted_people').select('identity_id').execute()
  expect(everywhere.map((row) => row.identity_id).filter((key) => key === 'E0004')).toEqual([])
  const { movements } = await populationChange(db, {
    ...{ connection: 'acme', from: new Date('2026-01-01'), to: new Date('2027-01-01') },
  })
  const ofPerson = movements.filter(({ identityId }) => identityId.startsWith('forgotten:'))
  expect(ofPerson.map(({ kind }) => kind)).toEqual(['join', 'leave'])
})
