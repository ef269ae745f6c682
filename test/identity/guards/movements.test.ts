import { describe, expect, test } from 'vitest'
import type { FieldValue } from '../../../src/identity/change.ts'
import { type News, noNews } from '../../../src/identity/guards/facts.ts'
import { movements } from '../../../src/identity/guards/movements.ts'
import type { FieldName } from '../../../src/identity/record.ts'

const news = (identityId: string, overrides: Partial<News>): News => ({ ...noNews, identityId, ...overrides })

const failed = (name: string) => ({ name, actual: 100, limit: 20, ok: false, reason: 'too many' })

function explained(name: string, all: readonly News[]) {
  const collected = movements()
  for (const one of all) collected.add(one)
  return collected.explain(failed(name))
}

/** The moves of one field, from each value to what becomes of it. */
function moves(
  field: FieldName,
  values: readonly FieldValue[],
  to: (value: never, at: number) => FieldValue | undefined,
): News[] {
  return values.map((from, at) => news(`p${at}`, { moves: [{ field, from, to: to(from as never, at) ?? null }] }))
}

const names = ['Änne', 'Björn', 'Chloé', 'Đorđe', 'Gül', 'Håkon', 'İnci', 'Jürgen', 'Zoë', 'Ôde']
const days = names.map((_, at) => `2020-01-0${at % 9 || 9}T00:00:00.000Z`)
const inUtc = (date: Temporal.PlainDate) => `${date}T00:00:00.000Z`
const dayOf = (value: string) => Temporal.PlainDate.from(value.slice(0, 10))

describe('the hint of a verdict', () => {
  test.each<[string, string, readonly News[], string]>([
    [
      'fieldChanges',
      'dates that all move by a day',
      moves('startedAt', days, (value: string) => inUtc(dayOf(value).subtract({ days: 1 }))),
      'startedAt: 10 of 10 move 1 day back. A time zone may have been applied to dates',
    ],
    [
      'fieldChanges',
      'dates whose day and month change places',
      moves(
        'startedAt',
        names.map((_, at) => `2020-02-${10 + (at % 2)}T00:00:00.000Z`),
        (value: string) => `2020-${value.slice(8, 10)}-02T00:00:00.000Z`,
      ),
      'startedAt: in 10 of 10 day and month change places. The format of dates may have changed',
    ],
    [
      'fieldChanges',
      'names that were read in the wrong encoding',
      moves('firstName', names, (value: string) =>
        new TextDecoder('windows-1252').decode(new TextEncoder().encode(value)),
      ),
      'firstName: 10 of 10 read as text in the wrong encoding. The encoding of the export may have changed',
    ],
    [
      'fieldChanges',
      'names whose letters were lost',
      moves('firstName', names, (value: string) => value.replaceAll(/[^a-z]/gi, '\u{fffd}')),
      'firstName: 10 of 10 read as text in the wrong encoding. The encoding of the export may have changed',
    ],
    [
      'fieldChanges',
      'a column that was sorted without its keys',
      moves('lastName', names, (_: string, at) => names[(at + 1) % names.length]),
      'lastName: 10 of 10 values are those of other people. The column may have been sorted without its keys',
    ],
    [
      'fieldChanges',
      'names in capitals',
      moves('lastName', ['Diaz', 'Ito', 'Kim'], (value: string) => value.toUpperCase()),
      'lastName: 3 of 3 differ in upper and lower case alone',
    ],
    [
      'fieldChanges',
      'one title for all',
      moves('jobTitle', ['Engineer', 'Lead', 'Director'], () => 'Employee'),
      'jobTitle: 3 of 3 become the same value. The column may hold a default, or be another one than before',
    ],
    [
      'blanks',
      'a blank column',
      moves('managerName', names, () => null),
      'managerName: 10 of 10 become blank. The column may have been emptied, or taken out of the report',
    ],
    [
      'emailChanges',
      'addresses at another domain',
      moves(
        'email',
        names.map((_, at) => `p${at}@acme.example`),
        (value: string) => value.replace('acme', 'apex'),
      ),
      'email: 10 of 10 move from @acme.example to @apex.example. The company may have changed its domain',
    ],
    [
      'contractorFlips',
      'a flag that is true for all',
      moves('isContractor', [false, false, false], () => true),
      'isContractor: 3 of 3 become the same value. The column may hold a default, or be another one than before',
    ],
    [
      'redates',
      'leaving dates that all move',
      moves('separatedAt', days, (value: string) => inUtc(dayOf(value).add({ days: 2 }))).map((one) => ({
        ...one,
        kinds: ['redates'] as const,
      })),
      'separatedAt: 10 of 10 move 2 days forward. A time zone may have been applied to dates',
    ],
  ])('of %s states %s', (guard, _what, moved, hint) => {
    expect(explained(guard, moved).hints).toEqual([hint])
  })

  test('is missing if values do not move alike, or too few do', () => {
    const mixed = moves('jobTitle', names, (_: string, at) => `Title ${at}`)
    const two = moves('managerName', ['Bo', 'Cy'], () => null)

    expect(explained('fieldChanges', mixed).hints).toBeUndefined()
    expect(explained('blanks', two).hints).toBeUndefined()
  })

  test('is about blanks, or about other values', () => {
    const both = [...moves('managerName', names, () => null), ...moves('lastName', ['Diaz', 'Ito', 'Kim'], () => 'X')]

    expect(explained('blanks', both).hints).toEqual([expect.stringContaining('managerName')])
    expect(explained('fieldChanges', both).hints).toEqual([expect.stringContaining('lastName')])
  })

  test('appears if nearly all values move alike', () => {
    const nearly = moves('managerName', names, (value: string, at) => (at === 0 ? `${value}!` : null))

    expect(explained('blanks', nearly).hints).toEqual([expect.stringContaining('9 of 10 become blank')])
  })

  test('is missing in passed verdicts', () => {
    const passed = { name: 'blanks', actual: 1, limit: 5, ok: true }

    expect(movements().explain(passed)).toBe(passed)
  })
})

test('a verdict names the first people that it concerns, each once', () => {
  const leavers = Array.from({ length: 12 }, (_, at) => news(`l${at}`, { kinds: ['leavers'] }))
  const twice = [
    { field: 'jobTitle', from: 'A', to: 'B' },
    { field: 'lastName', from: 'A', to: 'B' },
  ] as const

  expect(explained('leavers', [news('a', { moves: twice }), ...leavers]).people).toEqual(
    Array.from({ length: 10 }, (_, at) => `l${at}`),
  )
  expect(explained('fieldChanges', [news('a', { moves: twice }), ...leavers]).people).toEqual(['a'])
})
