import { describe, expect, test } from 'vitest'
import { ScimError } from '../../../src/connectors/scim/errors.ts'
import { readBody, readResource, requireName } from '../../../src/connectors/scim/resource.ts'
import { enterpriseSchema, userSchema } from '../../helpers/sources/scim-server.ts'

const read = (text: string, kind: 'User' | 'Group' = 'User') => readResource(kind, readBody(Buffer.from(text)))
const readUser = (stated: object) => read(JSON.stringify(stated))

describe('a user', () => {
  test.each<[string, object, object]>([
    [
      'has names in any case',
      { USERNAME: 'ana', Name: { GIVENNAME: 'Ana' } },
      { userName: 'ana', name: { givenName: 'Ana' } },
    ],
    [
      'has no empty values',
      { userName: 'ana', title: '', emails: [], name: {}, nickName: null, roles: [null, ''] },
      { userName: 'ana' },
    ],
    [
      'has booleans as texts',
      { active: 'True', emails: [{ value: 'a', primary: 'false' }] },
      { active: true, emails: [{ value: 'a', primary: false }] },
    ],
    [
      'has numbers as texts',
      { userName: 17, [enterpriseSchema]: { employeeNumber: 42 } },
      { userName: '17', [enterpriseSchema]: { employeeNumber: '42' } },
    ],
    ['has one value in place of a list', { emails: { value: 'a@b.c' } }, { emails: [{ value: 'a@b.c' }] }],
    ['has texts in place of a list of objects', { emails: ['a@b.c'] }, { emails: [{ value: 'a@b.c' }] }],
    [
      'has a type that the standard does not name',
      { emails: [{ value: 'a', type: 'private' }] },
      { emails: [{ value: 'a', type: 'private' }] },
    ],
    ['has its attributes below its schema', { [userSchema]: { title: 'CEO' } }, { title: 'CEO' }],
    [
      'has what only this side writes',
      { id: 'x', meta: { version: 1 }, groups: [{ value: 'g' }], schemas: ['urn:x'], userName: 'a' },
      { userName: 'a' },
    ],
    ['has a password, which nobody stores', { userName: 'ana', password: 'secret' }, { userName: 'ana' }],
    [
      'has two primary values',
      {
        emails: [
          { value: 'a', primary: true },
          { value: 'b', primary: true },
        ],
      },
      {
        emails: [
          { value: 'a', primary: false },
          { value: 'b', primary: true },
        ],
      },
    ],
    [
      'has extensions of the sender',
      {
        'urn:acme:2.0:User': {
          startDate: '2026-01-05',
          grade: 4,
          tags: ['a', ''],
          nothing: {},
          nested: { a: null, b: 1 },
        },
        'urn:empty:2.0:User': {},
      },
      { 'urn:acme:2.0:User': { startDate: '2026-01-05', grade: 4, tags: ['a'], nested: { b: 1 } } },
    ],
    [
      'has attributes that the schema lacks, which are ignored',
      {
        favouriteColour: 'blue',
        active: false,
        name: { first: 'A', givenName: 'B' },
        [enterpriseSchema]: { team: 'a' },
      },
      { active: false, name: { givenName: 'B' } },
    ],
    [
      'has one extension in two spellings',
      { 'urn:acme:2.0:User': { a: 1 }, 'urn:ACME:2.0:user': { b: 2 } },
      { 'urn:acme:2.0:User': { a: 1, b: 2 } },
    ],
    [
      'has a schema of the standard in another case',
      { [enterpriseSchema.toUpperCase()]: { department: 'Sales' } },
      { [enterpriseSchema]: { department: 'Sales' } },
    ],
  ])('%s', (_, stated, expected) => {
    expect(readUser(stated)).toEqual(expected)
  })

  test('keeps digits that a double cannot hold', () => {
    const user = read('{"urn:acme:2.0:User": {"payroll": 12345678901234567890, "grade": 1.10, "age": 41}}')

    expect(user['urn:acme:2.0:User']).toEqual({ payroll: '12345678901234567890', grade: '1.10', age: 41 })
  })

  test.each<[string, string, string]>([
    ['of a NUL character', '{"userName":"a\\u0000b"}', 'invalidValue'],
    ['of half a character', '{"urn:acme:2.0:User":{"a":"\\ud800"}}', 'invalidValue'],
    ['of half a character in a name', '{"urn:acme:2.0:User":{"\\ud800":1}}', 'invalidValue'],
    ['of too many values', JSON.stringify({ emails: Array.from({ length: 1001 }, () => 'a') }), 'invalidValue'],
    ['of an extension that is no object', '{"urn:acme:2.0:User":"a"}', 'invalidValue'],
    ['of an object for a text', '{"userName":{"a":1}}', 'invalidValue'],
    ['of a list for one value', '{"name":[{"givenName":"Ana"},{"givenName":"Bo"}]}', 'invalidValue'],
    ['of a word for a boolean', '{"active":"yes"}', 'invalidValue'],
    ['of a name of JavaScript', '{"urn:acme:2.0:User":{"__proto__":{"polluted":true}}}', 'invalidPath'],
    ['of an empty body', '', 'invalidSyntax'],
    ['of a list', '[]', 'invalidSyntax'],
    ['of half a document', '{"userName":"ana"', 'invalidSyntax'],
    ['of a name that stands there twice', '{"active":true,"active":false}', 'invalidSyntax'],
    ['of deep JSON', `${'{"a":'.repeat(100)}1${'}'.repeat(100)}`, 'invalidSyntax'],
    ['of very deep JSON', '['.repeat(500_000), 'invalidSyntax'],
  ])('is refused because %s', (_, text, scimType) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ status: 400, scimType }))
  })

  test('is refused if it is not UTF-8', () => {
    expect(() => readBody(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]))).toThrow(ScimError)
  })
})

describe('a name', () => {
  test.each<['User' | 'Group', object]>([
    ['User', { displayName: 'Ana' }],
    ['Group', { externalId: 'g1' }],
    ['User', { userName: 'a'.repeat(601) }],
    ['User', { userName: 'a', externalId: 'a'.repeat(601) }],
  ])('of a %s is refused in %j', (kind, stated) => {
    const resource = readResource(kind, readBody(Buffer.from(JSON.stringify(stated))))

    expect(() => requireName(kind, resource)).toThrow(
      expect.objectContaining({ status: 400, scimType: 'invalidValue' }),
    )
  })
})
