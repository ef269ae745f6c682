import { afterAll, beforeAll, expect, test } from 'vitest'
import { machineCaller } from '../../../src/contract/control/access.ts'
import type { ControlContext } from '../../../src/daemon/control/control-context.ts'
import { checkedHandlers } from '../../../src/daemon/control/handlers.ts'
import type { ChangeKind } from '../../../src/identity/change.ts'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import { requestRun, retractPerson } from '../../../src/sync/sync.ts'
import { quietAlerts } from '../../helpers/alert-settings.ts'
import { change, type Host, openWorld, staff, startHost, type World } from '../../helpers/world.ts'

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
    managerName: 'Start Date',
    separatedAt: { column: 'Leaving Date' },
  },
  status: { column: 'Status', leftWhen: ['Inactive'], employedWhen: ['Active'] },
})

/** A company of thirty in three teams. In one night all move to another mail domain, and twelve leave. */
async function heldWorld() {
  const { client } = await host.tenant()
  const stack = new AsyncDisposableStack()
  const world = stack.use(await openWorld({ client, feed: { mapping } }))
  const before = staff(31).map((person, at) => ({ ...person, start: `Manager ${at % 3}` }))
  const [gone = { id: '' }] = before
  await world.night(change(before, { id: gone.id, leavingDate: '2026-10-31', status: 'Inactive' }), {
    asOf: '2026-11-19T01:00:00.000Z',
  })
  const now = before.map((person, at) => ({
    ...person,
    email: `e${at + 1}@globex.example`,
    ...(at === 0 && { title: 'Lead' }),
    ...(at >= 1 && at <= 8 && { leavingDate: '2026-11-19' }),
    ...(at >= 9 && at <= 10 && { status: 'Inactive' }),
  }))
  world.setExport(
    now.filter((_, at) => at !== 11),
    '2026-11-20T01:00:00.000Z',
  )
  const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
  await world.drain()
  const run = await world.runOf(id)
  return { world, run, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

const unused = (): never => {
  throw new Error('nothing here asks for the audit trail')
}

const contextOf = ({ sync }: World): ControlContext => ({
  sync,
  caller: machineCaller('ana'),
  audit: { seal: unused, verify: unused, replaceKey: unused, trouble: unused },
  schedules: [],
  alerts: quietAlerts,
  monitored: { connections: ['acme'], sources: [], maxLeaverHours: new Map<string, number>() },
  about: { version: '0', daemon: null, configuration: '', database: '', queue: '', platform: '' },
  signal: new AbortController().signal,
})

async function changesOf(world: World, runId: string, { kind, values }: { kind?: ChangeKind; values: boolean }) {
  const query = { limit: 500, values, ...(kind !== undefined && { kind }) }
  return (await checkedHandlers.listChanges(contextOf(world), { params: { runId }, query })).body
}

test('each leaver, return and retraction says who it is and why, to those who may see values', async () => {
  await using held = await heldWorld()
  const { world, run } = held
  const request = { connection: 'acme', identityId: 'E0020', reason: 'a test account', by: 'ben' }
  const retraction = await retractPerson(world.sync, request)

  const leavers = await changesOf(world, run.id, { kind: 'leave', values: true })
  const returns = await changesOf(world, run.id, { kind: 'return', values: true })
  const movers = await changesOf(world, run.id, { kind: 'update', values: true })
  const retracted = await changesOf(world, retraction.id, { values: true })

  const byKey = new Map([...leavers.data, ...returns.data].map((one) => [one.identityId, one]))
  expect(leavers.data).toHaveLength(11)
  expect(byKey.get('E0002')).toMatchObject({
    why: 'the date is stated: people.csv:3',
    person: {
      firstName: 'Person 2',
      jobTitle: 'Engineer',
      managerName: 'Manager 1',
      email: 'e2@globex.example',
    },
  })
  expect(byKey.get('E0010')?.why).toBe('has left, without a date: people.csv:11')
  expect(byKey.get('E0012')).toMatchObject({ why: 'missing from the source', person: { firstName: 'Person 12' } })
  expect(byKey.get('E0001')).toMatchObject({ why: 'employed again: people.csv:2', person: { jobTitle: 'Lead' } })
  expect(retracted.data).toMatchObject([{ reason: 'a test account', person: { firstName: 'Person 20' } }])
  expect(movers.data.some((mover) => 'person' in mover)).toBe(false)
})

test('without that right only keys, dates and evidence are shown', async () => {
  await using held = await heldWorld()
  const { world, run } = held

  const { data } = await changesOf(world, run.id, { values: false })
  const { body: summary } = await checkedHandlers.summarizeRun(contextOf(world), {
    params: { runId: run.id },
    query: { values: false },
  })

  expect(data).toHaveLength(31)
  expect(data[1]).toEqual({
    kind: 'leave',
    identityId: 'E0002',
    fields: { email: { hidden: true }, separatedAt: { from: null, to: '2026-11-19T00:00:00.000Z' } },
    why: 'the date is stated: people.csv:3',
    carried: false,
  })
  expect(JSON.stringify([data, summary])).not.toMatch(/Person \d|Manager \d|e\d+@|Engineer|Lead/)
})

test('a summary counts by field and by manager, leavers of the same manager together', async () => {
  await using held = await heldWorld()
  const { world, run } = held

  const { body } = await checkedHandlers.summarizeRun(contextOf(world), {
    params: { runId: run.id },
    query: { values: true },
  })

  expect(body).toMatchObject({
    fields: [
      {
        field: 'email',
        people: 30,
        blanked: 0,
        filled: 0,
        ways: [{ way: 'from @acme.example to @globex.example', people: 30 }],
        examples: ['E0001', 'E0002', 'E0003'],
      },
      { field: 'separatedAt', people: 12, blanked: 1, filled: 11, ways: [] },
      { field: 'jobTitle', people: 1, values: [{ from: 'Engineer', to: 'Lead', people: 1 }] },
    ],
    managers: [
      { manager: 'Manager 1', leavers: 4, examples: ['E0002', 'E0005', 'E0008'] },
      { manager: 'Manager 2', leavers: 4, examples: ['E0003', 'E0006', 'E0009'] },
      { manager: 'Manager 0', leavers: 3 },
    ],
    managersCount: 3,
  })
})
