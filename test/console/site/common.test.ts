import { expect, test } from 'vitest'
import { createCommon } from '../../../src/console/site/common.ts'

function openClock() {
  const clock = { ms: 0 }
  return { clock, common: createCommon<string>(() => clock.ms) }
}

test('who asks within half a second shares an answer, and who asks later gets a new one', async () => {
  const { clock, common } = openClock()
  const shown = [await common.recall('/', async () => 'first')]

  clock.ms = 499
  shown.push(await common.recall('/', async () => 'second'), await common.recall('/runs', async () => 'runs'))
  clock.ms = 500
  shown.push(await common.recall('/', async () => 'third'))

  expect(shown).toEqual(['first', 'first', 'runs', 'third'])
})

test('an answer that takes longer than it may be old is waited for, and one new one is made for all who waited', async () => {
  const { clock, common } = openClock()
  const slow = Promise.withResolvers<string>()
  let made = 0
  const early = common.recall('/', () => slow.promise)
  clock.ms = 1500
  const late = [1, 2, 3].map(() =>
    common.recall('/', async () => {
      made += 1
      return 'new'
    }),
  )
  expect(made).toBe(0)

  slow.resolve('old')

  expect([await early, ...(await Promise.all(late))]).toEqual(['old', 'new', 'new', 'new'])
  expect(made).toBe(1)
})

test('a failure is told to all who waited for it, and to no one later', async () => {
  const { common } = openClock()
  const failing = Promise.withResolvers<string>()
  const waiting = [common.recall('/', () => failing.promise), common.recall('/', async () => 'never asked')]

  failing.reject(new Error('the store is away'))

  for (const told of await Promise.allSettled(waiting)) expect(told.status).toBe('rejected')
  expect(await common.recall('/', async () => 'here again')).toBe('here again')
})

test('what was forgotten is answered no more, not even where it is still being made', async () => {
  const { common } = openClock()
  const old = Promise.withResolvers<string>()
  const before = common.recall('/', () => old.promise)

  common.forget()
  const after = await common.recall('/', async () => 'new')
  old.resolve('old')

  expect([await before, after, await common.recall('/', async () => 'newer')]).toEqual(['old', 'new', 'new'])
})
