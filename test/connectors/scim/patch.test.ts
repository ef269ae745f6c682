import { describe, expect, test } from 'vitest'
import { ScimError } from '../../../src/connectors/scim/errors.ts'
import { patchResource, readPatch } from '../../../src/connectors/scim/patch.ts'
import type { ScimObject } from '../../../src/connectors/scim/resource.ts'
import { enterpriseSchema, patchOf } from '../../helpers/sources/scim-server.ts'

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
      [{ op: 'Replace', path: `${enterpriseSchema}:manager.value`, value: 'm1' }],
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
  ])('that %s', (_, operations, expected) => {
    const after = patched(operations)

    expect(after).toEqual(JSON.parse(JSON.stringify({ ...ana, ...expected })))
  })

  test('changes nothing of the resource before', () => {
    const before = structuredClone(ana)

    patched([{ op: 'replace', path: 'emails[type eq "work"].value', value: 'x@acme.example' }])

    expect(ana).toEqual(before)
  })
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
  ])('because of %s', (_, operations, scimType) => {
    const attempt = () => patched(operations)

    expect(attempt).toThrow(ScimError)
    expect(attempt).toThrow(expect.objectContaining({ status: 400, scimType }))
    expect(Object.getPrototypeOf({})).not.toHaveProperty('polluted')
  })
})
