import { expect, test } from 'vitest'
import { byDaemon } from '../../../src/cli/commands/restore.ts'

test('a daemon that does not start again is no other process in the way: a restore is not to be repeated unseen', async () => {
  const control = { restoreStore: async () => ({ id: 'r1', people: 3 }) }
  const request = { file: '/backup', replace: true, reason: 'lost', by: 'ada' }

  const restored = byDaemon(control, request, async () => null, 0)

  await expect(restored).rejects.toMatchObject({
    code: 'run_failed',
    retry: false,
    message: expect.stringContaining('has not restarted'),
  })
})
