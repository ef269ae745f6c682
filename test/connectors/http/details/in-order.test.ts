import { describe, expect, test } from 'vitest'
import { inOrder } from '../../../../src/connectors/http/details/in-order.ts'

/** The numbers from 1 on, and how many of them were taken. */
function numbers(count: number) {
  const taken = { count: 0 }
  async function* items() {
    for (let number = 1; number <= count; number += 1) {
      taken.count = number
      yield number
    }
  }
  return { taken, items: items() }
}

describe('steps that run side by side', () => {
  test('take no more items than may run at once, while nobody takes their results', async () => {
    const { taken, items } = numbers(1000)

    const results = inOrder(items, 4, async (number) => number)
    const first = await results.next()

    expect(first).toEqual({ done: false, value: 1 })
    expect(taken.count).toBe(4)
  })

  test('give their results in the order of the items', async () => {
    const { items } = numbers(9)
    const resolvers = new Map<number, () => void>()
    const step = async (number: number) => {
      // Of three, the last one ends first.
      if (number % 3 !== 0) await new Promise<void>((resolve) => resolvers.set(number, resolve))
      resolvers.get(number - 1)?.()
      return number
    }

    expect(await Array.fromAsync(inOrder(items, 3, step))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
  })

  test('fail with the first failure in that order', async () => {
    const { taken, items } = numbers(1000)
    const step = async (number: number) => {
      if (number === 3 || number === 2) throw new Error(`step ${number}`)
      return number
    }

    await expect(Array.fromAsync(inOrder(items, 4, step))).rejects.toThrow('step 2')
    expect(taken.count).toBeLessThan(8)
  })

  test('end with their items', async () => {
    expect(await Array.fromAsync(inOrder(numbers(0).items, 4, async () => 1))).toEqual([])
    expect(await Array.fromAsync(inOrder(numbers(2).items, 4, async (number) => number))).toEqual([1, 2])
  })
})
