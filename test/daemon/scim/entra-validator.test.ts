import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  enterpriseSchema,
  entraUser,
  errorSchema,
  groupSchema,
  listSchema,
  openScim,
  patchOf,
  type ScimCall,
  userSchema,
} from '../../helpers/sources/scim-server.ts'

let scim: Awaited<ReturnType<typeof openScim>>
beforeAll(async () => {
  scim = await openScim()
})
afterAll(() => scim[Symbol.asyncDispose]())

/** What is there before a case: two users, and a group that has the first of them. */
type Given = Readonly<Record<'user' | 'other' | 'group', { readonly [name: string]: string }>>
/** A request of the validator, and what of the answer it checks. */
type Step = readonly [call: ScimCall, status: number, body?: object]
type Cases = Readonly<Record<string, (given: Given) => readonly Step[]>>

const filtered = (path: string, filter: string) => `${path}?filter=${encodeURIComponent(filter)}`
const listOf = (...resources: readonly object[]) => ({
  schemas: [listSchema],
  totalResults: resources.length,
  itemsPerPage: resources.length,
  startIndex: 1,
  Resources: resources,
})
const error = (status: number) => ({ schemas: [errorSchema], status: String(status) })
const manager = `${enterpriseSchema}:manager`
const managed = (value?: string) => ({ [enterpriseSchema]: value === undefined ? {} : { manager: { value } } })

function entraGroup(more: object = {}): object {
  const displayName = `Staff ${randomUUID()}`
  return { schemas: [groupSchema], externalId: randomUUID(), displayName, meta: { resourceType: 'Group' }, ...more }
}

const post = (path: string, body: object): ScimCall => ({ method: 'POST', path, body })
const patchUser = ({ user }: Given, ...operations: object[]): ScimCall => ({
  method: 'PATCH',
  path: `/Users/${user.id}`,
  body: patchOf(...operations),
})
const patchGroup = ({ group }: Given, ...operations: object[]): ScimCall => ({
  method: 'PATCH',
  path: `/Groups/${group.id}`,
  body: patchOf(...operations),
})
const remove = (path: string): ScimCall => ({ method: 'DELETE', path })

/** The tests of Microsoft's SCIM Validator, by the names in its results. */
const required: Cases = {
  'Create a new User': () => [
    [
      post('/Users', entraUser()),
      201,
      { schemas: [userSchema, enterpriseSchema], id: expect.any(String), meta: { resourceType: 'User' } },
    ],
  ],
  'Create a duplicate User': ({ user }) => [
    [post('/Users', entraUser({ userName: user.userName })), 409, { ...error(409), scimType: 'uniqueness' }],
  ],
  'Filter for an existing User': ({ user }) => [
    [{ path: filtered('/Users', `userName eq "${user.userName}"`) }, 200, listOf(user)],
  ],
  'Filter for a non-existing User': () => [
    [{ path: filtered('/Users', `userName eq "${randomUUID()}"`) }, 200, listOf()],
  ],
  'Filter for an existing User with different case': ({ user }) => [
    [{ path: filtered('/Users', `userName eq "${user.userName?.toUpperCase()}"`) }, 200, listOf(user)],
  ],
  'Patch User - Replace Attributes, verbose request': (given) => [
    [
      patchUser(
        given,
        { op: 'replace', path: 'displayName', value: 'Bo' },
        { op: 'replace', path: 'emails[type eq "work"].value', value: 'bo@acme.example' },
        { op: 'replace', path: 'emails[type eq "work"].primary', value: true },
        { op: 'replace', path: `${enterpriseSchema}:department`, value: 'Legal' },
      ),
      200,
      { displayName: 'Bo', emails: [{ value: 'bo@acme.example' }], [enterpriseSchema]: { department: 'Legal' } },
    ],
  ],
  'Patch User - Replace Attributes, compact request': (given) => [
    [
      patchUser(given, {
        op: 'replace',
        value: {
          'name.givenName': 'Bo',
          'emails[type eq "work"].primary': 'True',
          title: 'CEO',
          [`${enterpriseSchema}:employeeNumber`]: '18',
        },
      }),
      200,
      { name: { givenName: 'Bo' }, title: 'CEO', [enterpriseSchema]: { employeeNumber: '18' } },
    ],
  ],
  'Patch User - Add Attributes, verbose request': (given) => [
    [
      patchUser(
        given,
        { op: 'add', path: 'nickName', value: 'Bo' },
        { op: 'add', path: 'phoneNumbers[type eq "mobile"].value', value: '1' },
      ),
      200,
      { nickName: 'Bo', phoneNumbers: [{ type: 'mobile', value: '1' }] },
    ],
  ],
  'Patch User - Update userName': (given) => [
    [patchUser(given, { op: 'replace', value: { userName: 'bo@acme.example' } }), 200, { userName: 'bo@acme.example' }],
  ],
  'Patch User - Disable User': (given) => [
    [patchUser(given, { op: 'replace', path: 'active', value: false }), 200, { active: false }],
    [{ path: `/Users/${given.user.id}` }, 200, { active: false }],
    [{ path: filtered('/Users', `userName eq "${given.user.userName}"`) }, 200, listOf({ active: false })],
  ],
  'Patch User - Add Manager': (given) => [
    [patchUser(given, { op: 'add', path: manager, value: { value: given.other.id } }), 200, managed(given.other.id)],
  ],
  'Patch User - Replace Manager': (given) => [
    [patchUser(given, { op: 'add', path: manager, value: { value: randomUUID() } }), 200],
    [
      patchUser(given, { op: 'replace', path: manager, value: { value: given.other.id } }),
      200,
      managed(given.other.id),
    ],
  ],
  'Patch User - Remove Manager': (given) => [
    [patchUser(given, { op: 'add', path: manager, value: { value: given.other.id } }), 200],
    [
      patchUser(given, { op: 'replace', path: manager, value: { value: '' } }),
      200,
      { [enterpriseSchema]: expect.not.objectContaining({ manager: expect.anything() }) },
    ],
  ],
  'Delete a User': ({ user }) => [
    [remove(`/Users/${user.id}`), 204],
    [{ path: `/Users/${user.id}` }, 404, error(404)],
  ],
  'Create a new Group': () => [
    [post('/Groups', entraGroup()), 201, { schemas: [groupSchema], id: expect.any(String), members: [] }],
  ],
  'Create a duplicate Group': ({ group }) => [
    [
      post('/Groups', entraGroup({ externalId: group.externalId, displayName: group.displayName })),
      409,
      { ...error(409), scimType: 'uniqueness' },
    ],
  ],
  'Get group by id excluding members': ({ group }) => [
    [
      { path: `/Groups/${group.id}?excludedAttributes=members` },
      200,
      expect.not.objectContaining({ members: expect.anything() }),
    ],
  ],
  'Filter for an existing Group': ({ group }) => [
    [{ path: filtered('/Groups', `externalId eq "${group.externalId}"`) }, 200, listOf(group)],
    [{ path: filtered('/Groups', `displayName eq "${group.displayName}"`) }, 200, listOf(group)],
  ],
  'Filter for an existing Group excluding members': ({ group }) => [
    [
      { path: `${filtered('/Groups', `displayName eq "${group.displayName}"`)}&excludedAttributes=members` },
      200,
      listOf(expect.not.objectContaining({ members: expect.anything() })),
    ],
  ],
  'Filter for a non-existing Group': () => [
    [{ path: filtered('/Groups', `displayName eq "${randomUUID()}"`) }, 200, listOf()],
  ],
  'Filter for an existing Group with different case': ({ group }) => [
    [{ path: filtered('/Groups', `displayName eq "${group.displayName?.toUpperCase()}"`) }, 200, listOf(group)],
  ],
  'Patch Group - Replace Attributes': (given) => [
    [patchGroup(given, { op: 'replace', value: { externalId: 'x' } }), 200, { externalId: 'x' }],
  ],
  'Patch Group - Update displayName': (given) => [
    [patchGroup(given, { op: 'replace', value: { displayName: 'Guests' } }), 200, { displayName: 'Guests' }],
  ],
  'Patch Group - Add Member': (given) => [
    [
      patchGroup(given, { op: 'add', path: 'members', value: [{ value: given.other.id }] }),
      200,
      { members: [{ value: given.user.id }, { value: given.other.id }] },
    ],
  ],
  'Patch Group - Remove Member': (given) => [
    [patchGroup(given, { op: 'remove', path: `members[value eq "${given.user.id}"]` }), 200, { members: [] }],
  ],
}

const preview: Cases = {
  'Patch User - Multiple Ops on different attributes': (given) => [
    [
      patchUser(
        given,
        { op: 'add', path: 'displayName', value: 'Bo' },
        { op: 'replace', path: 'title', value: 'CEO' },
        { op: 'remove', path: 'name.formatted' },
      ),
      200,
      { displayName: 'Bo', title: 'CEO', name: { familyName: 'Okoro', givenName: 'Ana' } },
    ],
  ],
  'Patch User - Multiple Ops on same attribute': (given) => [
    [
      patchUser(
        given,
        { op: 'remove', path: 'displayName' },
        { op: 'add', path: 'displayName', value: 'Bo' },
        { op: 'replace', path: 'displayName', value: 'Cem' },
      ),
      200,
      { displayName: 'Cem' },
    ],
  ],
  'Delete a non-existent User': () => [[remove(`/Users/${randomUUID()}`), 404, error(404)]],
  'Delete the same User twice': ({ user }) => [
    [remove(`/Users/${user.id}`), 204],
    [remove(`/Users/${user.id}`), 404, error(404)],
  ],
  'Patch Group - Multiple Ops on same attribute': (given) => [
    [
      patchGroup(
        given,
        { op: 'add', path: 'members', value: [{ value: given.other.id }] },
        { op: 'remove', path: `members[value eq "${given.other.id}"]` },
      ),
      200,
      { members: [{ value: given.user.id }] },
    ],
  ],
  'Delete a non-existent Group': () => [[remove(`/Groups/${randomUUID()}`), 404, error(404)]],
  'Delete the same Group twice': ({ group }) => [
    [remove(`/Groups/${group.id}`), 204],
    [remove(`/Groups/${group.id}`), 404, error(404)],
  ],
}

/** What the validation template for the app gallery adds (AzureAD/SCIMReferenceCode, SCIM-Validation-Test-Overview.md). */
const template: Cases = {
  SCIM_Null_Update_Test: (given) => [
    [
      patchUser(given, { op: 'replace', path: 'title', value: '' }, { op: 'replace', path: 'displayName', value: '' }),
      200,
      expect.not.objectContaining({ title: expect.anything() }),
    ],
    [
      patchUser(
        given,
        { op: 'replace', path: 'title', value: null },
        { op: 'replace', path: 'displayName', value: null },
        { op: 'replace', path: 'name.formatted', value: null },
      ),
      200,
      expect.not.objectContaining({ displayName: expect.anything() }),
    ],
  ],
  SCIM_Update_Manager_Test: (given) => [
    [patchUser(given, { op: 'Add', path: manager, value: [{ $ref: null, value: given.other.id }] }), 200],
    [{ path: `/Users/${given.user.id}` }, 200, managed(given.other.id)],
    [patchUser(given, { op: 'Replace', path: manager, value: given.user.id }), 200, managed(given.user.id)],
    [
      patchUser(given, { op: 'Replace', path: manager, value: '' }),
      200,
      { [enterpriseSchema]: expect.not.objectContaining({ manager: expect.anything() }) },
    ],
  ],
  Restore_User_Test: (given) => [
    [patchUser(given, { op: 'Replace', path: 'active', value: 'False' }), 200, { active: false }],
    [patchUser(given, { op: 'Replace', path: 'active', value: 'True' }), 200, { active: true }],
    [remove(`/Users/${given.user.id}`), 204],
    [{ path: filtered('/Users', `userName eq "${given.user.userName}"`) }, 200, listOf()],
    [patchUser(given, { op: 'Replace', path: 'active', value: 'False' }), 404, error(404)],
    [post('/Users', { ...given.user, id: undefined }), 201, { externalId: given.user.externalId }],
  ],
  Restore_Group_Test: ({ group }) => [
    [remove(`/Groups/${group.id}`), 204],
    [{ path: filtered('/Groups', `displayName eq "${group.displayName}"`) }, 200, listOf()],
    [post('/Groups', { ...group, id: undefined }), 201, { displayName: group.displayName }],
  ],
}

/** Tests of the template that send what another case sends, or do not apply. */
const elsewhere: Readonly<Record<string, { readonly as: string } | { readonly reason: string }>> = {
  Create_User_Test: { as: 'Create a new User' },
  Update_User_Test: { as: 'Patch User - Replace Attributes, verbose request' },
  Disable_User_Test: { as: 'Patch User - Disable User' },
  Delete_User_Test: { as: 'Delete a User' },
  User_Update_Manager_Test: { as: 'SCIM_Update_Manager_Test' },
  POD_User_Test: { as: 'Create a new User' },
  Create_Group_Test: { as: 'Create a new Group' },
  Update_Group_Test: { as: 'Patch Group - Update displayName' },
  Delete_Group_Test: { as: 'Delete the same Group twice' },
  Group_Update_Add_Member_Test: { as: 'Patch Group - Add Member' },
  Group_Update_Remove_Member_Test: { as: 'Patch Group - Remove Member' },
  POD_Group_Test: { as: 'Create a new Group' },
  SCIM_User_Create_Test: { as: 'Create a new User' },
  SCIM_User_Update_Test: { as: 'Patch User - Replace Attributes, verbose request' },
  SCIM_Group_Create_Test: { as: 'Create a new Group' },
  SCIM_Group_Update_Test: { as: 'Patch Group - Update displayName' },
  Schema_Discoverability_Test: { reason: 'is a test of its own, because it compares the whole schemas' },
  SCIM_User_Pagination_Test: { reason: 'is a test of its own, because it counts all users' },
  SCIM_Group_Pagination_Test: { reason: 'is a test of its own, because it counts all groups' },
  Validate_Credentials_Test: { reason: 'senders have a static bearer token, for which the template skips it' },
  Federated_Identity_Test: { reason: 'senders have a static bearer token, for which the template skips it' },
}

describe.for([
  ['required by the validator', required],
  ['in preview', preview],
  ['of the template', template],
] as const)('what is %s', ([, cases]) => {
  test.for(Object.entries(cases))('%s', async ([, stepsOf]) => {
    const create = async (path: string, body: object) => (await scim.call(post(path, body))).body
    const [{ id }, other] = [await create('/Users', entraUser()), await create('/Users', entraUser())]
    const group = await create('/Groups', entraGroup({ members: [{ value: id }] }))
    const user = (await scim.call({ path: `/Users/${id}` })).body

    for (const [call, status, body = {}] of stepsOf({ user, other, group }))
      expect(await scim.call(call)).toMatchObject({ status, body })
  })
})

test('every test of the template is a case, is sent by one, or says why not', () => {
  const cases = { ...required, ...preview, ...template }
  const repeated = Object.values(elsewhere).flatMap((one) => ('as' in one ? [one.as] : []))

  expect(repeated.filter((name) => !(name in cases))).toEqual([])
  expect(Object.keys({ ...template, ...elsewhere })).toHaveLength(25)
})

test.for(['Users', 'Groups'] as const)(
  'SCIM_User_Pagination_Test and SCIM_Group_Pagination_Test: /%s',
  async (path) => {
    for (let i = 0; i < 11; i += 1) await scim.call(post(`/${path}`, path === 'Users' ? entraUser() : entraGroup()))
    const { totalResults } = (await scim.call({ path: `/${path}?count=0` })).body

    const ids = new Set<string>()
    for (let startIndex = 1; startIndex <= totalResults; startIndex += 5) {
      const { status, body } = await scim.call({ path: `/${path}?startIndex=${startIndex}&count=5` })
      expect({ status, ...body }).toMatchObject({ status: 200, startIndex, totalResults })
      expect(body.itemsPerPage).toBe(body.Resources.length)
      for (const { id } of body.Resources) ids.add(id)
    }
    const beyond = await scim.call({ path: `/${path}?startIndex=${totalResults + 1}&count=5` })
    const before = await scim.call({ path: `/${path}?startIndex=-3&count=-1` })

    expect(ids.size).toBe(totalResults)
    expect(beyond.body).toMatchObject({ totalResults, Resources: [] })
    expect(before.body).toMatchObject({ totalResults, startIndex: 1, Resources: [] })
  },
)
