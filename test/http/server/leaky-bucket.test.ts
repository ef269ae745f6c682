import { expect, test } from 'vitest'
import { leakyBuckets } from '../../../src/http/server/leaky-bucket.ts'

function open({ capacity, leakPerMinute }: { capacity: number; leakPerMinute: number }) {
  const clock = { ms: 1_000_000 }
  const take = leakyBuckets({ capacity, leakPerMinute, nowMs: () => clock.ms })
  const states = (count: number, address = 'here') => Array.from({ length: count }, () => take(address))
  return { clock, take, states }
}

test('a bucket takes as many requests at once as it holds, and says how many more fit', () => {
  const { states } = open({ capacity: 3, leakPerMinute: 60 })

  const taken = states(5)

  expect(taken.map(({ isWithin }) => isWithin)).toEqual([true, true, true, false, false])
  expect(taken.map(({ remaining }) => remaining)).toEqual([2, 1, 0, 0, 0])
  expect(taken.map(({ resetSeconds }) => resetSeconds)).toEqual([1, 2, 3, 3, 3])
})

test('what is refused does not fill the bucket: one request fits after the stated time', () => {
  const { clock, take, states } = open({ capacity: 2, leakPerMinute: 20 })
  const refused = states(30).at(-1)

  clock.ms += 2999
  const early = take('here')
  clock.ms += 1
  const later = states(2)

  expect(refused?.retrySeconds).toBe(3)
  expect(early.isWithin).toBe(false)
  expect(later.map(({ isWithin }) => isWithin)).toEqual([true, false])
})

test('requests at the pace of the leak are never refused, also over hours', () => {
  const { clock, take } = open({ capacity: 1, leakPerMinute: 500 })

  const refused = Array.from({ length: 100_000 }, () => {
    clock.ms += 120
    return take('here')
  }).filter(({ isWithin }) => !isWithin)

  expect(refused).toEqual([])
})

test('every address has a bucket of its own, and is forgotten when it is empty', () => {
  const { clock, take, states } = open({ capacity: 1, leakPerMinute: 60 })
  expect(states(1)[0]?.isWithin).toBe(true)

  const crowd = Array.from({ length: 25_000 }, (_, index) => {
    clock.ms += 1
    return take(`address ${index}`).isWithin
  })

  expect(crowd.every(Boolean)).toBe(true)
  expect(take('here').isWithin).toBe(true)
})
