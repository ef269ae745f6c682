import { expect, test } from 'vitest'
import { giveBackMemory } from '../../src/daemon/give-back-memory.ts'

test('memory that nothing holds is given back, and the collector is left to nobody', async () => {
  const dropped = new WeakRef({ rows: new Array(100_000).fill('row') })
  const before = Object.hasOwn(globalThis, 'gc')
  // What a reference was asked for stays until the work under way has ended.
  await new Promise(setImmediate)

  giveBackMemory()

  expect(dropped.deref()).toBeUndefined()
  expect(Object.hasOwn(globalThis, 'gc')).toBe(before)
})
