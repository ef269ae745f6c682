import { expect, test, vi } from 'vitest'
import { lazyFunctions } from '../../../src/http/client/lazy-functions.ts'

type Sums = { add(a: number, b: number): Promise<number>; fail(): Promise<never> }

const sums: Sums = {
  add: async (a, b) => a + b,
  fail: async () => {
    throw new Error('no sum')
  },
}

test('functions are loaded once one of them is called, and are passed everything on', async () => {
  const load = vi.fn(async () => sums)

  const later = lazyFunctions<Sums>(load)
  const isUsedBefore = load.mock.calls.length > 0
  const sum = await later.add(1, 2)

  expect(isUsedBefore).toBe(false)
  expect(sum).toBe(3)
  expect(load.mock.calls).toEqual([['add']])
})

test('what a function throws, and what keeps it from being loaded, reaches who calls it', async () => {
  const away = lazyFunctions<Sums>(() => Promise.reject(new Error('it is away')))

  await expect(lazyFunctions<Sums>(async () => sums).fail()).rejects.toThrow('no sum')
  await expect(away.add(1, 2)).rejects.toThrow('it is away')
})

test('functions that wait to be loaded can be awaited themselves, which loads nothing', async () => {
  const load = vi.fn(async () => sums)

  const later = await lazyFunctions<Sums>(load)

  expect(load).not.toHaveBeenCalled()
  expect(await later.add(2, 2)).toBe(4)
})
