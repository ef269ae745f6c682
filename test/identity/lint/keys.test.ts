import { describe, expect, test } from 'vitest'
import { lintOf, only, people } from '../../helpers/lint.ts'

describe('key-scientific', () => {
  test.each(['1.23E+05', '1,23457E+11', '5E+12', '9e-04'])('finds %s, and shows it with its line', (identityId) => {
    const findings = lintOf(people(4, (index) => (index === 2 ? { identityId } : {})))

    expect(findings).toEqual(only('key-scientific', 4))
    expect(findings[0]?.message).toContain(`such as ${identityId} in line 4 (column "Worker ID")`)
    expect(findings[0]?.message).toContain('may have rewritten it')
  })

  test('warns of keys that a spreadsheet would rewrite', () => {
    const findings = lintOf(people(4, (index) => (index > 0 ? { identityId: `5E${index}` } : {})))

    expect(findings).toEqual(only('key-scientific', 3))
    expect(findings[0]?.message).toMatch(/^3 rows: a spreadsheet would read the key as a number, such as 5E1 in line 3/)
  })

  test('prefers a rewritten key for the example', () => {
    const keys = ['5E9934', '1.23E+05']

    const findings = lintOf(people(2, (index) => ({ identityId: keys[index] ?? '' })))

    expect(findings).toEqual(only('key-scientific', 3))
  })

  test.each(['123', 'E123', '1E', '12E34F', 'A1E+05', '1.2.3', '2E+05X'])('is quiet about %s', (identityId) => {
    expect(lintOf(people(4, (index) => (index === 2 ? { identityId } : {})))).toEqual([])
  })
})

describe('key-invisible', () => {
  const cells = (...keys: string[]) => keys.map((key) => [key])

  test('finds keys with invisible characters, and names the first', () => {
    const findings = lintOf(people(4), {}, cells('W0', 'W\u200b1', '\u2060W2', 'W3'))

    expect(findings).toEqual(only('key-invisible', 3))
    expect(findings[0]?.message).toMatch(
      /^2 rows: the key holds an invisible character, such as U\+200B in line 3 \(column "Worker ID"\); it is left out/,
    )
  })

  test.each(['\uFEFFW1', ' W1 ', '\u00a0W1', 'Ö1', '李雷'])('is quiet about %j', (key) => {
    expect(lintOf(people(1), {}, cells(key))).toEqual([])
  })
})

describe('key-shrank', () => {
  const withKeys = (...keys: string[]) => people(keys.length, (index) => ({ identityId: keys[index] ?? '' }))

  test('finds keys shorter than the padded ones beside them', () => {
    const findings = lintOf(withKeys('001234', '104711', '4711', '42'))

    expect(findings).toEqual(only('key-shrank', 5))
    expect(findings[0]?.message).toMatch(/^2 rows: the key has fewer than the 6 digits of the others, such as 42 /)
  })

  test('finds keys that lost the zeros which the references to managers still have', () => {
    const rows = people(3, (index) => ({ identityId: `${index + 1}17`, fields: { managerId: '00117' } }))

    expect(lintOf(rows)).toEqual(only('key-shrank', 2))
  })

  test('finds a short key among long numbers that nobody counted up', () => {
    const rows = people(20, (index) => ({ identityId: index === 7 ? '90210' : `${40_000_000 + index * 91_733}` }))

    expect(lintOf(rows)).toEqual(only('key-shrank', 9))
  })

  test.each([
    ['all keys have one length', withKeys('1001', '1002', '9999')],
    ['the padded keys have one length', withKeys('0001', '0002', '9999')],
    ['the keys were counted up', people(1200, (index) => ({ identityId: String(index + 1) }))],
    ['they were counted over a power of ten', people(200, (index) => ({ identityId: String(index + 990) }))],
    ['keys of two lengths are as frequent', withKeys('1', '2', '12345678', '12345679')],
    ['keys hold letters', withKeys('00A1', '12', 'B')],
    ['there is a single zero', withKeys('0', '7', '12')],
  ])('is quiet where %s', (_case, rows) => {
    expect(lintOf(rows)).toEqual([])
  })
})

describe('several-rows', () => {
  const positions = people(30, (index) => ({
    identityId: `W${index % 25}`,
    fields: { email: `${index % 25}@b.example` },
  }))

  test('finds a report with several rows for a person', () => {
    const findings = lintOf(positions)

    expect(findings).toEqual(only('several-rows', 27))
    expect(findings[0]?.message).toMatch(/^5 of 30 rows repeat a key \(column "Worker ID"\), such as line 27;/)
  })

  test('does not show the key, which may be an address', () => {
    const findings = lintOf(
      people(12, (index) => ({ identityId: `p${index % 6}@example.com`, fields: { email: null } })),
    )

    expect(findings.find(({ check }) => check === 'several-rows')?.message).not.toContain('@')
  })

  test.each([
    ['the mapping decides which row applies', { scope: {}, rows: positions.map((one) => ({ ...one, rank: '1' })) }],
    ['one row is there twice', { scope: {}, rows: people(30, (index) => ({ identityId: `W${index % 29}` })) }],
    ['few rows of many are', { scope: {}, rows: people(400, (index) => ({ identityId: `W${index % 395}` })) }],
    ['the source is a delta', { scope: { mode: 'delta' as const }, rows: positions }],
  ])('is quiet where %s', (_case, { scope, rows }) => {
    expect(lintOf(rows, scope).map(({ check }) => check)).not.toContain('several-rows')
  })
})
