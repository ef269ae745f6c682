import { describe, expect, test } from 'vitest'
import { ScimError } from '../../../src/connectors/scim/errors.ts'
import { patchResource, readPatch } from '../../../src/connectors/scim/patch.ts'
import type { ScimObject } from '../../../src/connectors/scim/resource.ts'
import { enterpriseSchema, patchOf, patchSchema } from '../../helpers/sources/scim-server.ts'

const custom = 'urn:acme:scim:2.0:User'
const work = { type: 'work', value: 'ana@acme.example', primary: true }
const ana: ScimObject = {
  userName: 'ana',
  active: true,
  name: { givenName: 'Ana', familyName: 'Okoro' },
  emails: [work],
  [enterpriseSchema]: { department: 'Sales' },
}

function patched(operations: readonly object[], before: ScimObject = ana): ScimObject {
  const body = JSON.parse(JSON.stringify(patchOf(...operations)))
  return patchResource('User', before, readPatch('User', body))
}

describe('a patch in the forms of Okta and Microsoft Entra', () => {
  test.each<[string, object[], object]>([
    ['deactivates by path', [{ op: 'replace', path: 'active', value: false }], { active: false }],
    ['deactivates without a path', [{ op: 'replace', value: { active: false } }], { active: false }],
    ['deactivates with a text', [{ op: 'Replace', path: 'active', value: 'False' }], { active: false }],
    ['deactivates in any case', [{ op: 'REPLACE', path: 'Active', value: false }], { active: false }],
    [
      'repeats the ID in a value',
      [{ op: 'replace', value: { id: 'x', schemas: [], meta: {}, active: false } }],
      { active: false },
    ],
    [
      'replaces an address by its type',
      [{ op: 'Replace', path: 'emails[type eq "work"].value', value: 'a.o@acme.example' }],
      { emails: [{ ...work, value: 'a.o@acme.example' }] },
    ],
    [
      'adds an address of a type that is not there',
      [{ op: 'Add', path: 'emails[type eq "home"].value', value: 'ana@home.example' }],
      { emails: [work, { type: 'home', value: 'ana@home.example' }] },
    ],
    [
      'replaces an address of a type that is not there',
      [{ op: 'Replace', path: 'emails[type eq "home" and primary eq "False"].value', value: 'ana@home.example' }],
      { emails: [work, { type: 'home', primary: false, value: 'ana@home.example' }] },
    ],
    [
      'adds a part of a list that is not there',
      [{ op: 'Add', path: 'addresses[type eq "work"].country', value: 'DE' }],
      { addresses: [{ type: 'work', country: 'DE' }] },
    ],
    [
      'names paths in a value',
      [
        {
          op: 'replace',
          value: {
            'name.givenName': 'Anna',
            'emails[type eq "work"].value': 'anna@acme.example',
            [`${enterpriseSchema}:department`]: 'Legal',
            [enterpriseSchema]: { employeeNumber: 7 },
          },
        },
      ],
      {
        name: { givenName: 'Anna', familyName: 'Okoro' },
        emails: [{ ...work, value: 'anna@acme.example' }],
        [enterpriseSchema]: { department: 'Legal', employeeNumber: '7' },
      },
    ],
    [
      'names a manager by its ID',
      [{ op: 'Add', path: `${enterpriseSchema}:manager`, value: 'm1' }],
      { [enterpriseSchema]: { department: 'Sales', manager: { value: 'm1' } } },
    ],
    [
      'names a manager as a list',
      [{ op: 'Replace', path: `${enterpriseSchema}:manager`, value: [{ value: 'm1' }] }],
      { [enterpriseSchema]: { department: 'Sales', manager: { value: 'm1' } } },
    ],
    [
      'removes a value by an empty text',
      [{ op: 'Replace', path: 'name.givenName', value: '' }],
      { name: { familyName: 'Okoro' } },
    ],
    ['removes a value by null', [{ op: 'replace', path: 'emails', value: null }], { emails: undefined }],
    ['removes an attribute', [{ op: 'Remove', path: 'name' }], { name: undefined }],
    ['removes by a filter', [{ op: 'remove', path: 'emails[value eq "ANA@acme.example"]' }], { emails: undefined }],
    [
      'removes by a value',
      [{ op: 'remove', path: 'emails', value: [{ value: 'ana@acme.example' }] }],
      { emails: undefined },
    ],
    ['removes what is not there', [{ op: 'remove', path: 'title' }], {}],
    ['removes an extension', [{ op: 'remove', path: enterpriseSchema }], { [enterpriseSchema]: undefined }],
    [
      'writes an extension of the sender',
      [
        { op: 'Add', path: `${custom}:startDate`, value: '2026-01-05' },
        { op: 'Replace', path: `${custom}:StartDate`, value: '2026-01-06' },
        { op: 'add', path: custom, value: { grade: 4 } },
      ],
      { [custom]: { startDate: '2026-01-06', grade: 4 } },
    ],
    [
      'names an attribute with its schema',
      [{ op: 'replace', path: 'urn:ietf:params:scim:schemas:core:2.0:User:title', value: 'CEO' }],
      { title: 'CEO' },
    ],
    ['says a password, which nobody stores', [{ op: 'replace', path: 'password', value: 'secret' }], {}],
    [
      'makes another address the primary one',
      [{ op: 'add', path: 'emails', value: { value: 'b@acme.example', primary: 'True' } }],
      {
        emails: [
          { ...work, primary: false },
          { value: 'b@acme.example', primary: true },
        ],
      },
    ],
    ['adds what is there', [{ op: 'add', path: 'emails', value: [work] }], {}],
    [
      'adds what is there with its members in another order',
      [{ op: 'add', path: 'emails', value: [{ primary: true, value: 'ana@acme.example', type: 'work' }] }],
      {},
    ],
  ])('that %s', (_, operations, expected) => {
    const after = patched(operations)

    expect(after).toEqual(JSON.parse(JSON.stringify({ ...ana, ...expected })))
  })

  test.each<[string, object[], object]>([
    ['by path', [{ op: 'replace', path: `${enterpriseSchema}:manager`, value: 'm2' }], { value: 'm2' }],
    ['by its value', [{ op: 'replace', path: `${enterpriseSchema}:manager.value`, value: 'm2' }], { value: 'm2' }],
    [
      'and named',
      [{ op: 'replace', value: { [enterpriseSchema]: { manager: { value: 'm2', displayName: 'Cem' } } } }],
      { value: 'm2', displayName: 'Cem' },
    ],
    [
      'and repeated',
      [{ op: 'replace', path: `${enterpriseSchema}:manager`, value: 'm1' }],
      { value: 'm1', displayName: 'Bo', $ref: 'r1' },
    ],
  ])('a manager who is replaced %s has no name of the former one', (_, operations, manager) => {
    const before = { ...ana, [enterpriseSchema]: { manager: { value: 'm1', displayName: 'Bo', $ref: 'r1' } } }

    expect(patched(operations, before)).toEqual({ ...ana, [enterpriseSchema]: { manager } })
  })

  test.each<[string, object, object]>([
    ['changed by Okta', { op: 'replace', value: { 'urn:okta:acme:1.0:user:custom': { x: 2 } } }, { x: 2, y: 1 }],
    ['changed by path', { op: 'replace', path: 'urn:okta:acme:1.0:user:custom', value: { y: 2 } }, { x: 1, y: 2 }],
    ['changed in a part', { op: 'add', path: 'urn:okta:acme:1.0:user:custom:z', value: 3 }, { x: 1, y: 1, z: 3 }],
    ['named in another case', { op: 'add', path: 'URN:okta:acme:1.0:USER:custom:z', value: 3 }, { x: 1, y: 1, z: 3 }],
  ])('an extension whose name has a part after the usual last one is %s', (_, operation, expected) => {
    const urn = 'urn:okta:acme:1.0:user:custom'

    expect(patched([operation], { ...ana, [urn]: { x: 1, y: 1 } })).toEqual({ ...ana, [urn]: expected })
  })

  test('an extension of this kind is added and removed as a whole', () => {
    const urn = 'urn:okta:acme:1.0:user:custom'

    expect(patched([{ op: 'add', value: { [urn]: { x: 1 } } }])).toEqual({ ...ana, [urn]: { x: 1 } })
    expect(patched([{ op: 'remove', path: urn }], { ...ana, [urn]: { x: 1 } })).toEqual(ana)
  })

  test('an extension is one in any case', () => {
    const before = { ...ana, [custom]: { startDate: '2026-01-05' } }
    const operations = [
      { op: 'replace', path: 'urn:acme:scim:2.0:user:startDate', value: '2026-02-01' },
      { op: 'add', value: { 'URN:acme:scim:2.0:user': { grade: 4 } } },
    ]

    expect(patched(operations, before)).toEqual({ ...ana, [custom]: { startDate: '2026-02-01', grade: 4 } })
  })

  test('names its operations in any case', () => {
    const body = { schemas: [patchSchema], operations: [{ op: 'remove', path: 'active' }] }

    expect(readPatch('User', body)).toHaveLength(1)
  })

  test('changes nothing of the resource before', () => {
    const before = structuredClone(ana)

    patched([{ op: 'replace', path: 'emails[type eq "work"].value', value: 'x@acme.example' }])

    expect(ana).toEqual(before)
  })
})

test('an unknown attribute is named with the schema that lacks it', () => {
  const messageOf = (path: string) => {
    try {
      return String(patched([{ op: 'replace', path, value: 'x' }]))
    } catch (error) {
      return (error as ScimError).message
    }
  }

  expect(messageOf('team')).toMatch(/^User has no attribute "team": .*urn:acme:scim:2\.0:User$/)
  expect(messageOf(`${enterpriseSchema}:team`)).toMatch(/^the enterprise extension has no .*urn:acme:scim:2\.0:User$/)
})

describe('a patch that cannot be applied', () => {
  test.each<[string, object[], string]>([
    ['an unknown path', [{ op: 'replace', path: 'favouriteColour', value: 'blue' }], 'invalidPath'],
    ['an unknown sub-attribute', [{ op: 'replace', path: 'name.first', value: 'Ana' }], 'invalidPath'],
    [
      'an unknown attribute of an extension',
      [{ op: 'add', path: `${enterpriseSchema}:team`, value: 'x' }],
      'invalidPath',
    ],
    ['an unknown attribute in a value', [{ op: 'replace', value: { deactivated: true } }], 'invalidPath'],
    ['an unreadable path', [{ op: 'replace', path: 'emails[', value: 'x' }], 'invalidPath'],
    ['an empty path', [{ op: 'replace', path: '', value: 'x' }], 'invalidPath'],
    [
      'a filter on one value',
      [{ op: 'replace', path: 'name[givenName eq "a"].familyName', value: 'x' }],
      'invalidPath',
    ],
    ['an unreadable filter', [{ op: 'replace', path: 'emails[type is work].value', value: 'x' }], 'invalidFilter'],
    [
      'a filter of another attribute',
      [{ op: 'replace', path: 'emails[colour eq "a"].value', value: 'x' }],
      'invalidFilter',
    ],
    [
      'a filter that selects nothing',
      [{ op: 'replace', path: 'emails[type ne "work"].value', value: 'x' }],
      'noTarget',
    ],
    ['remove without a path', [{ op: 'remove' }], 'noTarget'],
    ['what only this side writes', [{ op: 'replace', path: 'id', value: 'x' }], 'mutability'],
    ['another verb', [{ op: 'move', path: 'title', value: 'x' }], 'invalidSyntax'],
    ['a value of another type', [{ op: 'replace', path: 'active', value: 'perhaps' }], 'invalidValue'],
    ['an object for a text', [{ op: 'replace', path: 'title', value: { a: 1 } }], 'invalidValue'],
    ['no object without a path', [{ op: 'replace', value: 'x' }], 'invalidValue'],
    ['a name of JavaScript', [{ op: 'add', path: `${custom}:__proto__.polluted`, value: true }], 'invalidPath'],
    ['another name of JavaScript', [{ op: 'add', value: { [custom]: { constructor: { a: 1 } } } }], 'invalidPath'],
    ['no operations', [], 'invalidSyntax'],
    [
      'too many operations',
      Array.from({ length: 1001 }, () => ({ op: 'replace', path: 'title', value: 'x' })),
      'invalidValue',
    ],
    [
      'too many values',
      [{ op: 'add', path: 'emails', value: Array.from({ length: 1001 }, (_, i) => ({ value: `a${i}` })) }],
      'invalidValue',
    ],
    [
      'too many values of several operations',
      Array.from({ length: 2 }, (_, part) => ({
        op: 'add',
        path: `${custom}:tags`,
        value: Array.from({ length: 600 }, (__, i) => `${part}-${i}`),
      })),
      'invalidValue',
    ],
    ['an unknown part of a value', [{ op: 'replace', path: 'name', value: { first: 'x' } }], 'invalidSyntax'],
  ])('because of %s', (_, operations, scimType) => {
    const attempt = () => patched(operations)

    expect(attempt).toThrow(ScimError)
    expect(attempt).toThrow(expect.objectContaining({ status: 400, scimType }))
    expect(Object.getPrototypeOf({})).not.toHaveProperty('polluted')
  })
})
