import { expect, test, vi } from 'vitest'
import { noProgress } from '../../../src/cli/render/progress.ts'
import type { Control } from '../../../src/cli/session/control-client.ts'
import { followRun } from '../../../src/cli/session/follow-run.ts'
import type { Run } from '../../../src/contract/control/shapes.ts'

test('a command that stops waiting explains why the platform took nothing', async () => {
  let nowMs = 0
  using _clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  const run = { id: 'r1', connection: 'acme', state: 'delivering', confirmed: 0, problems: 0, remaining: 38 } as Run
  const platformDelay = 'the platform has not answered since 13:30 UTC (connection refused); next attempt 13:32 UTC'
  const control = {
    async getRun() {
      nowMs += 60_000
      return run
    },
    status: async () => ({ platform: 'https://platform.example', platformDelay, connections: [] }),
  } as unknown as Control
  const { signal } = new AbortController()

  const following = followRun(control, run, { waitSeconds: 1, progress: noProgress, signal })

  await expect(following).rejects.toThrow(
    `the platform at https://platform.example accepted nothing for 1 second: ${platformDelay}; 0 changes delivered, 38 to go`,
  )
})

test('a plan that takes long to store is not taken for a platform that takes nothing', async () => {
  let nowMs = 0
  using _clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  const planned = { id: 'r1', state: 'planned', confirmed: 0, problems: 0, remaining: 5 } as Run
  const next = [planned, { ...planned, state: 'finished' as const }]
  const control = {
    async getRun() {
      nowMs += 60_000
      return next.shift()
    },
    status: async () => ({ platform: 'https://platform.example', connections: [] }),
  } as unknown as Control
  const { signal } = new AbortController()

  const run = await followRun(control, planned, { waitSeconds: 1, progress: noProgress, signal })

  expect(run.state).toBe('finished')
})
