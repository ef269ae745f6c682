import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'

const page = new URL('../docs/security.md', import.meta.url)

test('each row of the threat model names a test that is there', async () => {
  const [, part = ''] = (await readFile(page, 'utf8')).split('\n## Threat model\n')
  const rows = part.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| What |'))

  const wrong = await Promise.all(
    rows.map(async (row) => {
      const named = [...row.matchAll(/\[([^\]]+)\]\(([^)]+\.test\.ts)\)/g)]
      if (named.length === 0) return [row]
      const missing = await Promise.all(
        named.map(async ([, title = '', file = '']) => {
          const text = await readFile(new URL(file, page), 'utf8').catch(() => '')
          return text.includes(title) ? [] : [`${file}: ${title}`]
        }),
      )
      return missing.flat()
    }),
  )

  expect(rows.length).toBeGreaterThan(0)
  expect(wrong.flat()).toEqual([])
})
