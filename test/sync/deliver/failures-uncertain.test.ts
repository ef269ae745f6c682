import { afterAll, beforeAll, expect, test } from 'vitest'
import { cancelRun } from '../../../src/sync/sync.ts'
import { faults } from '../../helpers/faults/faults.ts'
import type { ReceivedRequest } from '../../helpers/faults/proxy.ts'
import { openStory } from '../../helpers/faults/story.ts'
import { type Host, peopleOn, startHost } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

function isUpdateOf(id: string) {
  return ({ operation, identityIds }: ReceivedRequest) =>
    operation === 'updateHrisUserIdentity' && identityIds.includes(id)
}

test('the next run finds and repairs a request that reached the platform long after it was abandoned', async () => {
  await using story = await openStory(host)
  await story.night()
  story.hr.correct('E0005', '2026-11-05')
  story.useShortTimeout()
  const holding = story.proxy.hold(isUpdateOf('E0005'), 'arrived')
  const run = await story.night()
  const clearing = await holding
  const late = story.proxy.requests.at(-1)
  story.useAddress(story.proxy.baseUrl)
  const ended = await story.end(run)
  const corrected = (await peopleOn(story.client)).get('E0005')?.separatedAt

  clearing.release()
  await expect.poll(() => late?.applied).toBe(200)
  const undone = (await peopleOn(story.client)).get('E0005')?.separatedAt
  await story.night()

  expect(ended.state).toBe('finished')
  expect(corrected).toBe('2026-11-05T00:00:00.000Z')
  expect(undone).toBeNull()
  expect(await story.findings()).toEqual([])
})

test('a change that was applied without an answer before its run was cancelled is undone when HR states otherwise', async () => {
  await using story = await openStory(host)
  await story.night()
  story.hr.change('E0002', { title: 'Director' })
  story.setFault(faults.resetAfter)
  const run = await story.night()
  // Answers that are certain do not end the doubt about the earlier one.
  await story.proxy.line('refused')
  await story.advanceMinutes(1)
  await cancelRun(story.world.sync, { runId: run.id, by: 'ana' })
  await story.heal()
  story.hr.change('E0002', { title: 'Engineer' })

  await story.night()

  expect(await story.findings()).toEqual([])
})

test('a certain answer does not end the doubt about an earlier request', async () => {
  await using story = await openStory(host)
  await story.night()
  story.hr.change('E0002', { title: 'Director' })
  story.setFault(faults.resetAfter)
  const run = await story.night()
  story.proxy.fault(() => faults.answer({ status: 429 }))
  await story.advanceMinutes(1)
  story.setFault(faults.answer({ status: 400 }))
  await story.end(run)
  await story.heal()
  story.hr.change('E0002', { title: 'Engineer' })

  await story.night()

  expect(await story.findings()).toEqual([])
})

test('one of several concurrent requests without an answer leaves the batch uncertain', async () => {
  await using story = await openStory(host)
  await story.night()
  story.hr.leave('E0002', '2026-11-18')
  story.hr.leave('E0003', '2026-11-19')
  story.setFault((request) =>
    isUpdateOf('E0002')(request) ? faults.answer({ status: 429 }) : faults.delayed(100, faults.resetAfter),
  )
  const run = await story.night()
  const [batch] = await story.batchesOf(run)
  await story.heal()
  const ended = await story.end(run)

  expect(batch).toMatchObject({ state: 'due', uncertain: true })
  expect(ended.state).toBe('finished')
  expect(await story.findings()).toEqual([])
})
