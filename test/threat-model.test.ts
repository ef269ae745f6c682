import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { threats } from './helpers/threats.ts'

const root = new URL('../', import.meta.url)

test('each threat names tests that are there', async () => {
  const rows = Object.values(threats).flat()

  const missing = await Promise.all(
    rows.map(async ({ from, tests }) => {
      if (tests.length === 0) return [from]
      const absent = await Promise.all(
        tests.map(async ([file, title]) => {
          const text = await readFile(new URL(file, root), 'utf8').catch(() => '')
          return text.includes(title) ? [] : [`${file}: ${title}`]
        }),
      )
      return absent.flat()
    }),
  )

  expect(rows.length).toBeGreaterThan(0)
  expect(missing.flat()).toEqual([])
})
