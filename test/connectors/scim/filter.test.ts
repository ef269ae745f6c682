import { describe, expect, test } from 'vitest'
import { readListFilter } from '../../../src/connectors/scim/filter.ts'
import { enterpriseSchema, userSchema } from '../../helpers/sources/scim-server.ts'

const ana = {
  id: 'u1',
  userName: 'Ana',
  externalId: 'E1',
  active: true,
  emails: [{ type: 'work', value: 'ana@acme.example', primary: true }],
  [enterpriseSchema]: { manager: { value: 'm1' }, department: 'Sales' },
}

describe('a filter of users', () => {
  test.each<[string, object]>([
    ['userName eq "ana"', { by: 'name', value: 'ana' }],
    ['USERNAME EQ "Ana"', { by: 'name', value: 'Ana' }],
    [`${userSchema}:userName eq "ana"`, { by: 'name', value: 'ana' }],
    ['externalId eq "E1"', { by: 'externalId', value: 'E1' }],
    ['id eq "u1"', { by: 'id', value: 'u1' }],
    ['userName eq "a \\"b\\" c"', { by: 'name', value: 'a "b" c' }],
    ['active eq true and userName eq "ana"', { by: 'name', value: 'ana' }],
  ])('%s looks up by one key', (text, expected) => {
    expect(readListFilter('User', text)).toMatchObject(expected)
  })

  test.each<[string, boolean]>([
    ['id eq "u1" and active eq true', true],
    ['id eq "u1" and active eq "False"', false],
    ['id eq "u1" and userName eq "ANA"', true],
    ['id eq "u1" and userName sw "b"', false],
    ['id eq "u1" and title pr', false],
    ['id eq "u1" and emails[type eq "work" and value ew "@ACME.example"]', true],
    ['id eq "u1" and emails[type eq "home"]', false],
    ['id eq "u1" and emails.value co "acme"', true],
    ['id eq "u1" and emails.primary eq "True"', true],
    [`id eq "u1" and ${enterpriseSchema}:manager eq "m1"`, true],
    [`id eq "u1" and ${enterpriseSchema}:manager.value eq "m2"`, false],
    [`id eq "u1" and ${enterpriseSchema}:department eq "sales"`, true],
    ['id eq "u1" and manager eq "m1"', true],
    ['id eq "u1" and manager.value eq "m2"', false],
  ])('%s decides about the rest: %s', (text, expected) => {
    expect(readListFilter('User', text).matches(ana)).toBe(expected)
  })

  test('that only says whether a reference is there works for users without it', () => {
    expect(readListFilter('User', `id eq "u1" and ${enterpriseSchema}:manager eq "m1"`).matches({ id: 'u1' })).toBe(
      false,
    )
  })

  test.each([
    'title eq "CEO"',
    'userName co "ana"',
    'userName eq "ana" or userName eq "bo"',
    'not (userName eq "ana")',
    'userName eq true',
    'id eq "u1" and (active eq true or title eq "a")',
    'id eq "u1" and favouriteColour eq "blue"',
    'userName eq',
    'userName is "ana"',
    'userName eq "ana" and',
    '',
    `userName eq "${'a'.repeat(3000)}"`,
    `userName eq "${'\n'.repeat(60)}`,
    '('.repeat(1500),
  ])('is refused with the error of the standard (%#)', (text) => {
    const started = performance.now()

    expect(() => readListFilter('User', text)).toThrow(
      expect.objectContaining({ status: 400, scimType: 'invalidFilter' }),
    )
    expect(performance.now() - started).toBeLessThan(1000)
  })
})

test('groups are found by their names', () => {
  expect(readListFilter('Group', 'displayName eq "Staff"')).toMatchObject({ by: 'name', value: 'Staff' })
})
