import { expect, test } from 'vitest'
import { createSharedAnswers } from '../../../src/console/site/shared-answers.ts'

function openClock() {
  const clock = { ms: 0 }
  return { clock, common: createSharedAnswers<string>(() => clock.ms) }
}

test('requests within half a second share an answer, and later ones get a new one', async () => {
  const { clock, common } = openClock()
  const shown = [await common.get('/', async () => 'first')]

  clock.ms = 499
  shown.push(await common.get('/', async () => 'second'), await common.get('/runs', async () => 'runs'))
  clock.ms = 500
  shown.push(await common.get('/', async () => 'third'))

  expect(shown).toEqual(['first', 'first', 'runs', 'third'])
})

test('requests wait for an answer that takes longer than its maximum age, and share one new answer', async () => {
  const { clock, common } = openClock()
  const slow = Promise.withResolvers<string>()
  let made = 0
  const early = common.get('/', () => slow.promise)
  clock.ms = 1500
  const late = [1, 2, 3].map(() =>
    common.get('/', async () => {
      made += 1
      return 'new'
    }),
  )
  expect(made).toBe(0)

  slow.resolve('old')

  expect([await early, ...(await Promise.all(late))]).toEqual(['old', 'new', 'new', 'new'])
  expect(made).toBe(1)
})

test('a failure reaches all waiting requests and no later one', async () => {
  const { common } = openClock()
  const failing = Promise.withResolvers<string>()
  const waiting = [common.get('/', () => failing.promise), common.get('/', async () => 'never asked')]

  failing.reject(new Error('the store is away'))

  for (const outcome of await Promise.allSettled(waiting)) expect(outcome.status).toBe('rejected')
  expect(await common.get('/', async () => 'here again')).toBe('here again')
})

test('a forgotten answer is not used, even if it is still being computed', async () => {
  const { common } = openClock()
  const old = Promise.withResolvers<string>()
  const before = common.get('/', () => old.promise)

  common.clear()
  const after = await common.get('/', async () => 'new')
  old.resolve('old')

  expect([await before, after, await common.get('/', async () => 'newer')]).toEqual(['old', 'new', 'new'])
})
