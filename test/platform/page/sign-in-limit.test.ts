import { expect, test } from 'vitest'
import { createSignInLimit } from '../../../src/platform/page/sign-in-limit.ts'

test('one name is guessed a hundred times from all addresses together, however many there are', async () => {
  const limit = createSignInLimit()
  const waits: (number | null)[] = []

  for (let address = 0; address < 150; address++)
    waits.push(await limit.take({ name: 'ana', address: `192.0.2.${address}` }))
  const other = await limit.take({ name: 'bo', address: '192.0.2.1' })

  expect(waits.filter((wait) => wait === null)).toHaveLength(100)
  expect(waits.at(-1)).toBeGreaterThan(0)
  expect(other).toBeNull()
})

test('correct passwords do not use up the allowed guesses', async () => {
  const limit = createSignInLimit()

  for (let time = 0; time < 300; time++) {
    const attempt = { name: 'ana', address: '192.0.2.1' }
    expect(await limit.take(attempt)).toBeNull()
    await limit.giveBack(attempt)
  }
})
