import { expect, test } from 'vitest'
import { byDaemon } from '../../../src/cli/commands/restore.ts'

test('a restore whose daemon does not restart fails without a retry, because the store may be restored already', async () => {
  const control = { restoreStore: async () => ({ id: 'r1', people: 3 }) }
  const request = { file: '/backup', replace: true, reason: 'lost', by: 'ada' }

  const restored = byDaemon(control, request, async () => null, 0)

  await expect(restored).rejects.toMatchObject({
    code: 'run_failed',
    retry: false,
    message: expect.stringContaining('has not restarted'),
  })
})
