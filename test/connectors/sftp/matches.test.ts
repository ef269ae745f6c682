import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { matchesName } from '../../../src/connectors/remote/matches-name.ts'
import { joinRemotePath, parseRemotePattern } from '../../../src/connectors/sftp/matches.ts'

describe('a pattern', () => {
  test.each([
    ['people.csv', 'people.csv', true],
    ['people.csv', '*.csv', true],
    ['people.csv', 'p?ople.*', true],
    ['people.csv', '*', true],
    ['people.csv', '*people*.csv*', true],
    ['people.csv', 'people', false],
    ['people.csv.part', '*.csv', false],
    ['People.csv', 'people.csv', false],
    ['.people.csv', '*.csv', false],
    ['.people.csv', '.*', true],
    ['leute-straße-😀.csv', 'leute-stra?e-?.csv', true],
    ['a+b(1).csv', 'a+b(1).csv', true],
    ['~$people.xlsx', '*.xlsx', false],
    ['~$people.xlsx', '~$*', true],
    ['', '*', true],
    ['', '?', false],
  ])('says of %j whether %j matches', (name, pattern, expected) => {
    expect(matchesName(name, pattern)).toBe(expected)
  })

  test('matches as the same regular expression would', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '.', 'ß'), maxLength: 12 })
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*', '?'), maxLength: 8 })

    fc.assert(
      fc.property(text, pattern, (name, desired) => {
        const source = desired.replaceAll('.', '\\.').replaceAll('*', '.*').replaceAll('?', '.')
        const hidden = name.startsWith('.') && !desired.startsWith('.')
        expect(matchesName(name, desired)).toBe(!hidden && new RegExp(`^${source}$`, 'u').test(name))
      }),
      { numRuns: 2000 },
    )
  })

  test('is tried in bounded time, whatever it holds', () => {
    const startedAt = performance.now()

    const matched = matchesName('a'.repeat(1024), `${'*a'.repeat(200)}*b`)

    expect(matched).toBe(false)
    expect(performance.now() - startedAt).toBeLessThan(1000)
  })

  test.each([
    ['people.csv', '.', 'people.csv'],
    ['exports/*.csv', 'exports', 'exports/people.csv'],
    ['/srv/hr/*.csv', '/srv/hr', '/srv/hr/people.csv'],
    ['/*.csv', '/', '/people.csv'],
  ])('%s is searched in its folder', (path, folder, file) => {
    const pattern = parseRemotePattern(path)

    expect(pattern.folder).toBe(folder)
    expect(joinRemotePath(pattern.folder, 'people.csv')).toBe(file)
  })
})
