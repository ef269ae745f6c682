import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { localControl } from '../../../src/cli/session/command-context.ts'
import { machineCaller, type Role } from '../../../src/contract/control/access.ts'
import type { ChangeView } from '../../../src/contract/control/shapes.ts'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import { quietAlerts } from '../../helpers/alert-settings.ts'
import { type Host, openWorld, staff, startHost } from '../../helpers/world.ts'

let host: Host
let plan: Awaited<ReturnType<typeof openHeldPlan>>
beforeAll(async () => {
  host = await startHost()
  plan = await openHeldPlan()
})
afterAll(async () => {
  await plan[Symbol.asyncDispose]()
  await host[Symbol.asyncDispose]()
})

const mapping = Mapping.parse({
  fields: { identityId: 'Worker ID', email: 'Email', firstName: 'First Name', separatedAt: { column: 'Leaving Date' } },
  status: { column: 'Status', leftWhen: ['Inactive'], employedWhen: ['Active'] },
  group: 'Job Title',
})
const groups = ['Sales', 'Legal', '']

/** A held plan of leavers on five days, of two who come back, of movers and of joiners, in two groups and without a group. */
async function openHeldPlan() {
  await using opening = new AsyncDisposableStack()
  const { client } = await host.tenant()
  const world = opening.use(await openWorld({ client, feed: { mapping } }))
  const people = staff(46).map((person, at) => ({ ...person, title: groups[at % 3] ?? '' }))
  const left = people
    .slice(0, 40)
    .map((person, at) => (at >= 30 && at < 32 ? { ...person, leavingDate: '2026-10-31', status: 'Inactive' } : person))
  await world.night(left, { asOf: '2026-11-19T01:00:00.000Z' })
  const now = people.map((person, at) => ({
    ...person,
    ...(at < 14 && { leavingDate: `2026-11-${19 - (at % 5)}` }),
    ...(at >= 20 && at < 24 && { email: `new${at}@acme.example` }),
    ...(at === 3 && { first: 'Öztürk' }),
  }))
  const run = await world.night(now, { asOf: '2026-11-20T01:00:00.000Z' })
  const groupOf = new Map(now.map(({ id, title }) => [id, title === '' ? null : title]))
  const opened = opening.move()
  const none = () => Promise.reject(new Error('no key here'))
  const controlOf = (role: Role) =>
    localControl({
      sync: world.sync,
      audit: { trouble: () => null, seal: async () => {}, verify: none, replaceKey: none },
      schedules: [],
      alerts: quietAlerts,
      monitored: { connections: ['acme'], sources: [], maxLeaverHours: new Map<string, number>() },
      about: { version: '1.2.3', daemon: null, configuration: '', database: '', queue: '', platform: '' },
      caller: { ...machineCaller('ana'), role },
      signal: new AbortController().signal,
    })
  return { run, groupOf, controlOf, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** The changes of the plan, read in pages of four. */
async function list(query: object, role: Role = 'operator'): Promise<ChangeView[]> {
  const control = plan.controlOf(role)
  const params = { runId: plan.run.id }
  const changes: ChangeView[] = []
  let after: string | null = null
  do {
    const page = await control.listChanges({ params, query: { ...query, limit: 4, ...(after !== null && { after }) } })
    expect(page.data.length).toBeLessThanOrEqual(4)
    changes.push(...page.data)
    after = page.next
  } while (after !== null)
  return changes
}

const kindsByHarm = ['leave', 'return', 'retract', 'correct', 'join', 'update']

function leavingDateOf({ fields }: ChangeView): string {
  const change = fields?.separatedAt
  // Whoever has no leaving date comes after every date.
  return change !== undefined && 'to' in change && typeof change.to === 'string' ? change.to : '9999'
}

const orders: Readonly<Record<string, (change: ChangeView) => string>> = {
  key: () => '',
  kind: ({ kind }) => String(kindsByHarm.indexOf(kind)),
  leavingDate: leavingDateOf,
}

const filters: readonly [string, object, (change: ChangeView) => boolean][] = [
  ['everybody', {}, () => true],
  ['leavers', { kind: 'leave' }, ({ kind }) => kind === 'leave'],
  ['movers', { kind: 'update' }, ({ kind }) => kind === 'update'],
  ['one group', { group: 'Sales' }, ({ identityId }) => plan.groupOf.get(identityId) === 'Sales'],
  ['those without a group', { withoutGroup: true }, ({ identityId }) => plan.groupOf.get(identityId) === null],
  [
    'the leavers of one group',
    { kind: 'leave', group: 'Legal' },
    ({ kind, identityId }) => kind === 'leave' && plan.groupOf.get(identityId) === 'Legal',
  ],
]

test('the plan has changes of several kinds', async () => {
  const { counts, state } = plan.run

  expect(state).toBe('held')
  expect(counts).toMatchObject({ leave: 14, return: 2, join: 6 })
  expect(counts?.update).toBeGreaterThanOrEqual(4)
})

describe.each(Object.entries(orders))('sorted by %s', (sort, rankOf) => {
  test.each(filters)('the pages hold %s once each, in that order', async (_who, query, isMeant) => {
    const everybody = await list({})

    const listed = await list({ ...query, sort })

    const keyOf = (change: ChangeView) => `${rankOf(change)} ${change.identityId}`
    const expected = everybody.filter(isMeant).map(keyOf)
    expect(expected.length).toBeGreaterThan(2)
    expect(listed.map(keyOf)).toEqual(expected.sort((one, other) => (one < other ? -1 : 1)))
  })
})

test('a search keeps to the kind and the group, and folds letters', async () => {
  const keysOf = async (query: object) => (await list(query)).map(({ identityId }) => identityId)

  expect(await keysOf({ search: 'oeztu', values: true })).toEqual(['E0004'])
  expect(await keysOf({ search: 'ozturk', values: true, group: 'Sales', kind: 'leave' })).toEqual(['E0004'])
  expect(await keysOf({ search: 'ozturk', values: true, group: 'Legal' })).toEqual([])
  expect(await keysOf({ search: 'ozturk' })).toEqual([])
  expect(await keysOf({ search: 'e001', withoutGroup: true })).toEqual(['E0012'])
  expect(await keysOf({ search: '001', group: 'Sales' })).toEqual(['E0001', 'E0010', 'E0013'])
})

test('a page of one order or filter is refused by another, and so is an order of a search', async () => {
  const control = plan.controlOf('operator')
  const params = { runId: plan.run.id }
  const { next } = await control.listChanges({ params, query: { sort: 'kind', limit: 4 } })
  const after = next ?? ''

  for (const query of [{}, { sort: 'leavingDate' }, { sort: 'kind', group: 'Sales' }] as const)
    await expect(control.listChanges({ params, query: { ...query, after } })).rejects.toThrow('belongs to another list')
  await expect(control.listChanges({ params, query: { search: 'e', sort: 'kind' } })).rejects.toThrow('sorted by key')
  await expect(control.listChanges({ params, query: { group: 'Sales', withoutGroup: true } })).rejects.toThrow('group')
})

test('a viewer sorts and filters by kind, and learns of no group', async () => {
  const leavers = await list({ kind: 'leave', sort: 'leavingDate' }, 'viewer')

  expect(leavers).toHaveLength(14)
  await expect(list({ group: 'Sales' }, 'viewer')).rejects.toThrow('filtering by group needs the role operator')
  await expect(list({ withoutGroup: true }, 'viewer')).rejects.toThrow('filtering by group needs the role operator')
})
