import { expect, test } from 'vitest'
import { project, readProjection } from '../../../src/connectors/scim/projection.ts'
import { enterpriseSchema, userSchema } from '../../helpers/sources/scim-server.ts'

const user = {
  schemas: [userSchema],
  id: 'u1',
  userName: 'ana',
  name: { givenName: 'Ana', familyName: 'Okoro' },
  emails: [{ type: 'work', value: 'ana@acme.example' }],
  [enterpriseSchema]: { department: 'Sales', manager: { value: 'm1', displayName: 'Bo' } },
}
const always = { schemas: [userSchema], id: 'u1' }

test.each<[string, object]>([
  ['userName', { ...always, userName: 'ana' }],
  ['USERNAME, name.givenName', { ...always, userName: 'ana', name: { givenName: 'Ana' } }],
  [`${userSchema}:userName`, { ...always, userName: 'ana' }],
  ['emails.value', { ...always, emails: [{ value: 'ana@acme.example' }] }],
  [`${enterpriseSchema}:manager.value`, { ...always, [enterpriseSchema]: { manager: { value: 'm1' } } }],
  [enterpriseSchema, { ...always, [enterpriseSchema]: user[enterpriseSchema] }],
  ['nothing', always],
])('attributes=%s returns only these', (attributes, expected) => {
  expect(project(user, readProjection({ attributes, excludedAttributes: undefined }))).toEqual(expected)
})

test('excludedAttributes returns the others, and always the ID', () => {
  const excludedAttributes = `id,emails,name.familyName,${enterpriseSchema}:manager`

  const { emails: _emails, ...others } = project(user, readProjection({ attributes: undefined, excludedAttributes }))

  expect(_emails).toBeUndefined()
  expect(others).toEqual({
    ...always,
    userName: 'ana',
    name: { givenName: 'Ana' },
    [enterpriseSchema]: { department: 'Sales' },
  })
})
