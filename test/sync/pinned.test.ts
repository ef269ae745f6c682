import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Run } from '../../src/store/runs/runs.ts'
import { answerKeys } from '../../src/sync/requests/key-answers.ts'
import { approveRun, requestDueRuns, retractPerson } from '../../src/sync/sync.ts'
import { heldRun, lastRun, later, receive, terminated, webhookFeed } from '../helpers/events.ts'
import { change, type Host, openWorld, peopleOn, staff, startHost, without } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const failed = ({ guards }: Run) => guards?.flatMap(({ ok, name, people }) => (ok ? [] : [{ name, people }]))
const pin = (person: string, name = 'pinned') => ({ name, people: [person] })

test('no run separates a pinned person before an operator approves it', async () => {
  const { client } = await host.tenant()
  const pinned = new Set(['E0001', 'E0002', 'N3'])
  await using world = await openWorld({ client, webhook: webhookFeed(), connection: { pinned } })
  const ending = change(staff(12), { id: 'E0002', leavingDate: '2026-11-22' })
  const first = await world.night(ending, { asOf: '2026-11-19T01:00:00.000Z' })

  await answerKeys(world.sync, { connection: 'acme', former: 'E0003', identityId: 'N3', same: true, by: 'ana' })
  const absent = await world.night(without(ending, 'E0003'), { asOf: '2026-11-20T01:00:00.000Z' })
  await receive(world, terminated('E0001', '2026-11-19', '2026-11-20T02:10:00.000Z'))
  await receive(world, terminated('E0005', '2026-11-19', '2026-11-20T02:10:00.000Z'))
  await later(world, 6)
  const event = await heldRun(world)
  const retraction = await retractPerson(world.sync, {
    ...{ connection: 'acme', identityId: 'E0001', reason: 'a test account', by: 'ana' },
  })
  world.clock.now = new Date('2026-11-22T03:00:00.000Z')
  await requestDueRuns(world.sync)
  await world.drain()
  const due = await lastRun(world)
  const between = await peopleOn(client)
  await approveRun(world.sync, { runId: due.id, digest: due.digest ?? '', by: 'ana' })
  await world.drain()

  expect(first.warnings.at(-1)).toBe('no one has the pinned key N3: the pin keeps no one safe')
  expect([failed(absent), failed(event)]).toEqual([[pin('E0003')], [pin('E0001')]])
  expect(failed(retraction)).toEqual([pin('E0001', 'retractions'), pin('E0001')])
  expect([due.feed, due.state, failed(due)]).toEqual(['roster', 'held', [pin('E0002')]])
  expect(['E0001', 'E0002', 'E0003', 'E0005'].map((key) => between.get(key)?.separatedAt ?? null)).toEqual([
    ...[null, null, null],
    '2026-11-19T00:00:00.000Z',
  ])
  expect((await peopleOn(client)).get('E0002')?.separatedAt).toBe('2026-11-22T00:00:00.000Z')
})
