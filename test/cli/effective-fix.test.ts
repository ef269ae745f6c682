import { expect, test } from 'vitest'
import { fixableFindings } from '../../src/cli/commands/effective.ts'
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
