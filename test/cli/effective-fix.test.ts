import { expect, test } from 'vitest'
import { fixableFindings, renderAccounts, renderEffective } from '../../src/cli/commands/effective.ts'
import { plain } from '../../src/cli/render/text.ts'
import type { EffectiveFinding } from '../../src/contract/control/effective.ts'

const finding: EffectiveFinding = {
  ...{ connection: 'acme', personConnection: 'acme', person: 'E1', identityId: 'E1', personId: 1 },
  ...{ cause: 'set_by_hand', text: '', evidence: '', helps: '', canReset: true, firstSeenAt: '', ageSeconds: 0 },
}
const other: EffectiveFinding = { ...finding, cause: 'duplicate_person', canReset: false }

test('the question of a reset names what it would mend, and refuses what it would refuse', () => {
  expect(fixableFindings(['E1'], [finding, other])).toEqual([finding])
  expect(() => fixableFindings(['E1', 'E1typo'], [finding])).toThrow('no finding about E1typo')
  expect(() => fixableFindings(['E1'], [other])).toThrow('does not help E1')
  const elsewhere = { connection: 'globex', personConnection: 'globex' }
  for (const second of [finding, other])
    expect(() => fixableFindings(['E1'], [finding, { ...second, ...elsewhere }])).toThrow(
      'E1 is a key of several connections: acme, globex',
    )
  expect(fixableFindings(['E1'], [finding, { ...other, connection: 'a directory' }])).toEqual([finding])
})

test('accounts are counted by kind, and findings have names in words', () => {
  const findings: readonly EffectiveFinding[] = [
    { ...finding, cause: 'account_missing' },
    { ...finding, cause: 'account_of_leaver' },
    { ...finding, cause: 'account_missing' },
  ]
  const about = { accounts: 3, unreadable: 0 }
  const compared = { comparedAt: '2026-11-20T03:00:00.000Z', asOf: null, failure: null }
  const causes = { account_missing: 2, account_of_leaver: 1 }
  const directories = [{ directory: 'okta', ...about, ...compared, causes }]
  const coverage = { ...compared, syncedAt: null, requests: 0, connections: [], directories, findings }

  for (const text of [
    renderAccounts({ ...about, people: 4, findings: [...findings] }, plain),
    renderEffective(coverage, plain),
  ]) {
    expect(text.split('\n')[1]).toBe('  Account of a leaver: 1 · No account: 2')
    expect(text).toContain('E1 · acme · No account · for')
    expect(text).not.toContain('account_')
  }
})
