import { expect, test, vi } from 'vitest'
import type { Control } from '../../src/cli/control-client.ts'
import { followRun } from '../../src/cli/follow-run.ts'
import { noProgress } from '../../src/cli/render/progress.ts'
import type { Run } from '../../src/contract/control/shapes.ts'

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
