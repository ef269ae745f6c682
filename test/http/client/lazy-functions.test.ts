import { expect, test, vi } from 'vitest'
import { lazyFunctions } from '../../../src/http/client/lazy-functions.ts'

type Sums = { add(a: number, b: number): Promise<number>; fail(): Promise<never> }

const sums: Sums = {
  add: async (a, b) => a + b,
  fail: async () => {
    throw new Error('no sum')
  },
}

test('functions are loaded with the first call, and receive all arguments', async () => {
  const load = vi.fn(async () => sums)

  const later = lazyFunctions<Sums>(load)
  const isUsedBefore = load.mock.calls.length > 0
  const sum = await later.add(1, 2)

  expect(isUsedBefore).toBe(false)
  expect(sum).toBe(3)
  expect(load.mock.calls).toEqual([['add']])
})

test('errors of a function, and of loading it, reach the caller', async () => {
  const away = lazyFunctions<Sums>(() => Promise.reject(new Error('it is away')))

  await expect(lazyFunctions<Sums>(async () => sums).fail()).rejects.toThrow('no sum')
  await expect(away.add(1, 2)).rejects.toThrow('it is away')
})

test('awaiting the object of lazy functions loads nothing', async () => {
  const load = vi.fn(async () => sums)

  const later = await lazyFunctions<Sums>(load)

  expect(load).not.toHaveBeenCalled()
  expect(await later.add(2, 2)).toBe(4)
})
