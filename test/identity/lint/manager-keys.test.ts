import { describe, expect, test } from 'vitest'
import { watchManagerKeys } from '../../../src/identity/lint/manager-keys.ts'
import { columns, people } from '../../helpers/lint.ts'

const about = { columns: { ...columns, identityId: 'Key', managerId: 'Manager Key' } }

/** What is found where twelve people, counted from 5001 on, have these managers in turn. */
function findingOf(managers: readonly string[], keyOf = (number: number) => String(number)): string | null {
  const watch = watchManagerKeys(about)
  const rows = people(12, (at) => ({
    identityId: keyOf(5001 + at),
    fields: { managerId: managers[at % managers.length] ?? '' },
  }))
  for (const one of rows) watch.addRow(one)
  return watch.finding()
}

describe('manager keys that belong to nobody', () => {
  test.each([
    ['decimals', ['5001.0', '5002.0'], undefined, /whole numbers as decimals/],
    ['lost zeros', ['5001', '5002'], (number: number) => `00${number}`, /lost leading zeros/],
    ['another case', ['w5001', 'w5002'], (number: number) => `W${number}`, /upper and lower case/],
    ['other keys', ['Ana Okoro', 'Bo Berg'], undefined, /look whether the column holds keys as column "Key" does/],
  ] as const)('are found with the cause: %s', (_cause, managers, keyOf, cause) => {
    const message = findingOf(managers, keyOf)

    expect(message).toMatch(/^2 of 2 managers \(column "Manager Key"\) are the key of nobody in the export, such as in/)
    expect(message).toMatch(cause)
    // What stands in the cell may be a name.
    expect(message).not.toContain(managers[0])
  })

  test('are none if the managers are listed, later in the export or in a rejected row', () => {
    const watch = watchManagerKeys(about)
    for (const one of people(2, () => ({ identityId: '1', fields: { managerId: '2' } }))) watch.addRow(one)
    watch.addRow({ identityId: '2' })
    watch.addRow({ identityId: null })

    expect(watch.finding()).toBeNull()
    expect(findingOf(['5012', '5001'])).toBeNull()
  })

  test('are not reported for one of many, who may have left', () => {
    const managers = Array.from({ length: 11 }, (_, at) => String(5001 + at))

    expect(findingOf([...managers, '7'])).toBeNull()
    expect(findingOf([...managers.slice(0, 8), '7'])).toMatch(/^1 of 9 managers .* is the key of nobody/)
  })
})
