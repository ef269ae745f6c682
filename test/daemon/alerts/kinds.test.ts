import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { alertKinds, textsOf } from '../../../src/daemon/alerts/kinds.ts'
import { type ConditionKind, conditionKinds } from '../../../src/store/alerts/condition.ts'

test.each(conditionKinds)(
  'docs/alerts.md says of "%s" what happens if nobody acts, as its messages do',
  async (kind) => {
    const page = await readFile(join(import.meta.dirname, '../../../docs/alerts.md'), 'utf8')

    const row = page.split('\n').find((line) => line.startsWith(`| \`${kind}\` |`))

    expect(row?.split(' | ')[2]).toBe(docsOf(kind))
  },
)

test.each(conditionKinds)('what happens with "%s" is said in sentences that fit on a phone', (kind) => {
  const { consequence, byCode = {} } = alertKinds[kind]

  for (const sentence of [consequence, ...Object.values(byCode).map((texts) => texts?.consequence ?? '')]) {
    expect(sentence).toMatch(/^[A-Z].*\.$/)
    expect(sentence.length).toBeLessThan(140)
  }
})

test('an alert of a held plan promises no next run, because none replaces plans of events and reverts', () => {
  expect(alertKinds.held.consequence).not.toContain('replaces')
})

test.each([
  ['not_effective', 'not_compared'],
  ['directory', 'refused'],
] as const)('"%s" with code %s says that nobody could be compared, and not that somebody differs', (kind, code) => {
  const { headline, consequence } = textsOf({ kind, code })

  expect(headline).toMatch(/could not be compared/)
  expect(consequence).toMatch(/^Nobody learns/)
  expect(textsOf({ kind, code: null })).toBe(alertKinds[kind])
})

/** The cell of a kind: its consequence, and those of causes with texts of their own. */
function docsOf(kind: ConditionKind): string {
  const { consequence, byCode = {} } = alertKinds[kind]
  return [consequence, ...Object.entries(byCode).map(([code, texts]) => `\`${code}\`: ${texts?.consequence}`)].join(' ')
}
