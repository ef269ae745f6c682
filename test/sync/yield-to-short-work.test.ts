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
  const told: string[] = []
  const yieldToShortWork: YieldToShortWork = async (read) => void told.push(read ? `${read.rows} rows` : 'gives way')
  const notes = { 'run.prepared': 'stored', 'run.committed': 'committed', 'request.begun': 'sends' } as const
  world.sync.events.runPrepared = () => void told.push(notes['run.prepared'])
  world.sync.events.runCommitted = () => void told.push(notes['run.committed'])
  world.sync.events.requestBegun = () => void told.push(notes['request.begun'])

  for (let job = world.jobs.shift(); job; job = world.jobs.shift())
    await world.workOn(job, undefined, { yieldToShortWork: yieldToShortWork })

  expect(told).toEqual([
    ...['gives way', 'gives way', 'gives way', '600 rows', 'gives way', 'gives way', 'gives way', '1200 rows'],
    ...['gives way', 'stored', 'gives way', 'committed', 'gives way', 'gives way', 'gives way'],
    ...['gives way', 'sends', 'gives way', 'sends', 'gives way'],
  ])
})

test('whatever is under way is told of a run that is asked for before the queue is', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const told: string[] = []
  const ctx = {
    ...world.sync,
    expectShortWork: () => void told.push('expected'),
    enqueue: async () => void told.push('enqueued'),
  }

  await requestRun(ctx, { connection: 'acme', trigger: 'operator' })

  expect(told).toEqual(['expected', 'enqueued'])
})
