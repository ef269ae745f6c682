import { afterAll, beforeAll, expect, test } from 'vitest'
import type { YieldToShortWork } from '../../src/sync/context/context.ts'
import { requestRun } from '../../src/sync/sync.ts'
import { type Host, openWorld, staff, startHost } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

test('a run gives way while it reads, before it stores and commits, and before each table is counted, and its batches before they are claimed and the last one before it tidies up', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  world.source.slice = 600
  world.setExport(staff(1200))
  await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
  const steps: string[] = []
  const yieldToShortWork: YieldToShortWork = async (read) => void steps.push(read ? `${read.rows} rows` : 'gives way')
  const stepNames = { 'run.prepared': 'stored', 'run.committed': 'committed', 'request.begun': 'sends' } as const
  world.sync.events.runPrepared = () => void steps.push(stepNames['run.prepared'])
  world.sync.events.runCommitted = () => void steps.push(stepNames['run.committed'])
  world.sync.events.requestBegun = () => void steps.push(stepNames['request.begun'])

  for (let job = world.jobs.shift(); job; job = world.jobs.shift())
    await world.workOn(job, undefined, { yieldToShortWork: yieldToShortWork })

  expect(steps).toEqual([
    ...['gives way', 'gives way', 'gives way', '600 rows', 'gives way', 'gives way', 'gives way', '1200 rows'],
    ...['gives way', 'stored', 'gives way', 'committed', 'gives way', 'gives way', 'gives way'],
    ...['gives way', 'sends', 'gives way', 'sends', 'gives way'],
  ])
})

test('running work is notified of a requested run before the queue is', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const calls: string[] = []
  const ctx = {
    ...world.sync,
    expectShortWork: () => void calls.push('expected'),
    enqueue: async () => void calls.push('enqueued'),
  }

  await requestRun(ctx, { connection: 'acme', trigger: 'operator' })

  expect(calls).toEqual(['expected', 'enqueued'])
})
