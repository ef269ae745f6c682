import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { alertKinds } from '../../../src/daemon/alerts/kinds.ts'
import { conditionKinds } from '../../../src/store/alerts/condition.ts'

test.each(conditionKinds)(
  'docs/alerts.md says of "%s" what happens if nobody acts, as its messages do',
  async (kind) => {
    const page = await readFile(join(import.meta.dirname, '../../../docs/alerts.md'), 'utf8')

    const row = page.split('\n').find((line) => line.startsWith(`| \`${kind}\` |`))

    expect(row?.split(' | ')[2]).toBe(alertKinds[kind].consequence)
  },
)

test.each(conditionKinds)('what happens with "%s" is said in sentences that fit on a phone', (kind) => {
  const { consequence } = alertKinds[kind]

  expect(consequence).toMatch(/^[A-Z].*\.$/)
  expect(consequence.length).toBeLessThan(140)
})

test('an alert of a held plan promises no next run, because none replaces plans of events and reverts', () => {
  expect(alertKinds.held.consequence).not.toContain('replaces')
})
