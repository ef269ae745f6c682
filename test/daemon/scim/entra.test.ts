import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  enterpriseSchema,
  groupSchema,
  listSchema,
  openScim,
  patchOf,
  userSchema,
} from '../../helpers/sources/scim-server.ts'

let scim: Awaited<ReturnType<typeof openScim>>
beforeAll(async () => {
  scim = await openScim()
})
afterAll(() => scim[Symbol.asyncDispose]())

const filtered = (path: string, filter: string) => `${path}?filter=${encodeURIComponent(filter)}`

/** A user as the validator of Microsoft creates it. */
function entraUser(more: object = {}): object {
  const externalId = randomUUID()
  return {
    schemas: [userSchema, enterpriseSchema],
    externalId,
    userName: `${externalId}@acme.example`,
    active: true,
    displayName: 'Ana Okoro',
    title: 'Engineer',
    emails: [{ primary: true, type: 'work', value: `${externalId}@acme.example` }],
    meta: { resourceType: 'User' },
    name: { formatted: 'Ana Okoro', familyName: 'Okoro', givenName: 'Ana' },
    roles: [],
    [enterpriseSchema]: { employeeNumber: '17', department: 'Sales' },
    ...more,
  }
}

async function createUser(more: object = {}) {
  return (await scim.call({ method: 'POST', path: '/Users', body: entraUser(more) })).body
}

const patch = (path: string, ...operations: object[]) =>
  scim.call({ method: 'PATCH', path, body: patchOf(...operations) })

/** What the SCIM validator and the validation template of Microsoft test, by their descriptions. */
describe('users, as Microsoft validates them', () => {
  test('Create a new User, and read it by ID and by the matching attributes', async () => {
    const created = await createUser()

    const reads = await Promise.all(
      [
        `/Users/${created.id}`,
        filtered('/Users', `userName eq "${created.userName}"`),
        filtered('/Users', `externalId eq "${created.externalId}"`),
        filtered('/Users', `id eq "${created.id}"`),
      ].map((path) => scim.call({ path })),
    )

    expect(reads.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    for (const { body } of reads) expect(body.Resources?.[0] ?? body).toEqual(created)
  })

  test('Create a duplicate User', async () => {
    const created = await createUser()

    const again = await scim.call({
      method: 'POST',
      path: '/Users',
      body: entraUser({ userName: created.userName.toUpperCase() }),
    })

    expect(again).toMatchObject({ status: 409, body: { scimType: 'uniqueness' } })
  })

  test('Filter for an existing User with different case, and for a non-existing one', async () => {
    const created = await createUser()

    const existing = await scim.call({ path: filtered('/Users', `userName eq "${created.userName.toUpperCase()}"`) })
    const missing = await scim.call({ path: filtered('/Users', `userName eq "${randomUUID()}"`) })

    expect(existing.body).toMatchObject({ totalResults: 1 })
    expect(missing).toMatchObject({ status: 200, body: { schemas: [listSchema], totalResults: 0, Resources: [] } })
  })

  test('Update a User with PUT, and its userName to a new one and to the one of another', async () => {
    const [one, other] = [await createUser(), await createUser()]
    const path = `/Users/${one.id}`
    const userName = `${randomUUID()}@acme.example`

    const put = await scim.call({ method: 'PUT', path, body: { ...one, title: 'CEO' } })
    const renamed = await patch(path, { op: 'Replace', path: 'userName', value: userName })
    const taken = await patch(path, { op: 'Replace', path: 'userName', value: other.userName })

    expect(put).toMatchObject({ status: 200, body: { title: 'CEO' } })
    expect(renamed).toMatchObject({ status: 200, body: { userName } })
    expect(taken).toMatchObject({ status: 409, body: { scimType: 'uniqueness' } })
    expect((await scim.call({ path })).body.userName).toBe(userName)
  })

  test('Patch User - Replace Attributes, one by one and in one verbose value', async () => {
    const one = await createUser()
    const path = `/Users/${one.id}`

    await patch(
      path,
      { op: 'replace', path: 'name.givenName', value: 'Anna' },
      { op: 'replace', path: `${enterpriseSchema}:department`, value: 'Legal' },
      { op: 'replace', path: 'emails[type eq "work"].value', value: 'anna@acme.example' },
    )
    const verbose = await patch(path, {
      op: 'replace',
      value: {
        title: 'CEO',
        'name.familyName': 'Roy',
        'emails[type eq "work"].primary': 'True',
        [`${enterpriseSchema}:employeeNumber`]: '18',
      },
    })

    expect(verbose).toMatchObject({
      status: 200,
      body: {
        title: 'CEO',
        name: { givenName: 'Anna', familyName: 'Roy' },
        emails: [{ type: 'work', value: 'anna@acme.example', primary: true }],
        [enterpriseSchema]: { department: 'Legal', employeeNumber: '18' },
      },
    })
    expect((await scim.call({ path })).body).toEqual(verbose.body)
  })

  test('Patch User - Multiple Ops on different and on the same attributes', async () => {
    const one = await createUser()

    const { body } = await patch(
      `/Users/${one.id}`,
      { op: 'remove', path: 'emails[type eq "work"]' },
      { op: 'add', path: 'emails[type eq "work"].value', value: 'a@acme.example' },
      { op: 'replace', path: 'emails[type eq "work"].value', value: 'b@acme.example' },
      { op: 'Add', path: 'title', value: 'CEO' },
      { op: 'Remove', path: 'title' },
      { op: 'add', path: 'phoneNumbers[type eq "mobile"].value', value: '1' },
    )

    expect(body.emails).toEqual([{ type: 'work', value: 'b@acme.example' }])
    expect(body.phoneNumbers).toEqual([{ type: 'mobile', value: '1' }])
    expect(body).not.toHaveProperty('title')
  })

  test('Patch User - Add, change and remove the manager', async () => {
    const [one, first, second] = [await createUser(), await createUser(), await createUser()]
    const path = `/Users/${one.id}`
    const manager = `${enterpriseSchema}:manager`
    const reference = (id: string) =>
      scim.call({ path: `${filtered('/Users', `id eq "${one.id}" and ${manager} eq "${id}"`)}&attributes=id` })

    const added = await patch(path, { op: 'Add', path: manager, value: [{ $ref: null, value: first.id }] })
    const replaced = await patch(path, { op: 'Replace', path: manager, value: second.id })
    const references = [await reference(second.id), await reference(first.id)]
    const removed = await patch(path, { op: 'Replace', path: manager, value: '' })

    expect(added).toMatchObject({ status: 200, body: { [enterpriseSchema]: { manager: { value: first.id } } } })
    expect(replaced.body[enterpriseSchema].manager).toEqual({ value: second.id })
    expect(references.map(({ body }) => body.totalResults)).toEqual([1, 0])
    expect(references[0]?.body.Resources).toEqual([{ schemas: one.schemas, id: one.id }])
    expect(removed.body[enterpriseSchema]).not.toHaveProperty('manager')
  })

  test('Patch User - Disable User: reads and filters still find it', async () => {
    const one = await createUser()

    const disabled = await patch(`/Users/${one.id}`, { op: 'Replace', path: 'active', value: 'False' })
    const matches = await scim.call({ path: filtered('/Users', `userName eq "${one.userName}"`) })

    expect(disabled).toMatchObject({ status: 200, body: { active: false } })
    expect(matches.body).toMatchObject({ totalResults: 1, Resources: [{ active: false }] })
  })

  test('Null update: empty texts and nulls remove optional attributes', async () => {
    const one = await createUser()
    const path = `/Users/${one.id}`

    const emptied = await patch(
      path,
      { op: 'replace', path: 'title', value: '' },
      { op: 'replace', path: 'displayName', value: '' },
    )
    const again = await patch(
      path,
      { op: 'replace', path: 'title', value: null },
      { op: 'replace', path: 'name.formatted', value: null },
    )

    expect([emptied.status, again.status]).toEqual([200, 200])
    for (const name of ['title', 'displayName']) expect(again.body).not.toHaveProperty(name)
    expect(again.body.name).toEqual({ familyName: 'Okoro', givenName: 'Ana' })
  })

  test('Delete a User, a deleted and a non-existent one; restore it', async () => {
    const one = await createUser()
    const path = `/Users/${one.id}`

    const statuses = []
    for (const id of [one.id, one.id, randomUUID(), 'none'])
      statuses.push((await scim.call({ method: 'DELETE', path: `/Users/${id}` })).status)
    const gone = await scim.call({ path: filtered('/Users', `userName eq "${one.userName}"`) })
    const patchedLate = await patch(path, { op: 'replace', path: 'active', value: false })
    const restored = await scim.call({ method: 'POST', path: '/Users', body: { ...one, id: undefined } })

    expect(statuses).toEqual([204, 404, 404, 404])
    expect(gone.body.totalResults).toBe(0)
    expect(patchedLate.status).toBe(404)
    expect(restored).toMatchObject({ status: 201, body: { externalId: one.externalId } })
    expect(restored.body.id).not.toBe(one.id)
  })

  test('Pagination over users', async () => {
    for (let i = 0; i < 11; i += 1) await createUser()
    const { totalResults } = (await scim.call({ path: '/Users?count=0' })).body

    const ids = new Set<string>()
    for (let startIndex = 1; startIndex <= totalResults; startIndex += 5) {
      const { status, body } = await scim.call({ path: `/Users?startIndex=${startIndex}&count=5` })
      expect({ status, startIndex: body.startIndex, total: body.totalResults }).toEqual({
        status: 200,
        startIndex,
        total: totalResults,
      })
      expect(body.itemsPerPage).toBe(body.Resources.length)
      for (const { id } of body.Resources) ids.add(id)
    }
    const beyond = await scim.call({ path: `/Users?startIndex=${totalResults + 1}&count=5` })
    const before = await scim.call({ path: '/Users?startIndex=-3&count=-1' })

    expect(ids.size).toBe(totalResults)
    expect(beyond.body).toMatchObject({ totalResults, Resources: [] })
    expect(before.body).toMatchObject({ totalResults, startIndex: 1, Resources: [] })
  })
})

describe('groups, as Microsoft validates them', () => {
  test('Create, duplicate, filter, rename, add and remove members, delete', async () => {
    const [one, other] = [await createUser(), await createUser()]
    const displayName = `Staff ${randomUUID()}`
    const body = { schemas: [groupSchema], externalId: randomUUID(), displayName, meta: { resourceType: 'Group' } }

    const created = await scim.call({ method: 'POST', path: '/Groups', body })
    const duplicate = await scim.call({ method: 'POST', path: '/Groups', body })
    const path = `/Groups/${created.body.id}`
    const matches = await scim.call({
      path: `${filtered('/Groups', `displayName eq "${displayName.toUpperCase()}"`)}&excludedAttributes=members`,
    })
    const added = await patch(path, {
      op: 'Add',
      path: 'members',
      value: [{ $ref: null, value: one.id }, { value: other.id }],
    })
    const addedAgain = await patch(path, { op: 'Add', path: 'members', value: [{ value: one.id }] })
    const removed = await patch(path, { op: 'Remove', path: 'members', value: [{ $ref: null, value: one.id }] })
    const renamed = await patch(path, { op: 'Replace', path: 'displayName', value: 'Renamed' })
    const withoutMembers = await scim.call({ path: `${path}?excludedAttributes=members` })
    const emptied = await patch(path, { op: 'Remove', path: 'members' })
    const deleted = await scim.call({ method: 'DELETE', path })

    expect(created).toMatchObject({ status: 201, body: { displayName, members: [] } })
    expect(duplicate).toMatchObject({ status: 409, body: { scimType: 'uniqueness' } })
    expect(matches.body).toMatchObject({ totalResults: 1, Resources: [{ id: created.body.id }] })
    expect(matches.body.Resources[0]).not.toHaveProperty('members')
    expect(added.body.members.map(({ value }: { value: string }) => value)).toEqual([one.id, other.id])
    expect(addedAgain.body).toEqual(added.body)
    expect(removed.body.members).toMatchObject([
      { value: other.id, type: 'User', $ref: expect.stringContaining(other.id) },
    ])
    expect(renamed).toMatchObject({ status: 200, body: { displayName: 'Renamed' } })
    expect(withoutMembers.body).not.toHaveProperty('members')
    expect(emptied.body.members).toEqual([])
    expect([deleted.status, (await scim.call({ method: 'DELETE', path })).status]).toEqual([204, 404])
  })

  test('a deleted user is in no group', async () => {
    const one = await createUser()
    const { body: group } = await scim.call({
      method: 'POST',
      path: '/Groups',
      body: { displayName: 'Staff', members: [{ value: one.id }] },
    })

    await scim.call({ method: 'DELETE', path: `/Users/${one.id}` })

    expect((await scim.call({ path: `/Groups/${group.id}` })).body.members).toEqual([])
  })
})

describe('what is discovered', () => {
  test('Schemas name every attribute that is mapped by default', async () => {
    const { status, body } = await scim.call({ path: '/Schemas' })
    const names = new Map(
      body.Resources.map((schema: { id: string; attributes: { name: string }[] }) => [
        schema.id,
        schema.attributes.map(({ name }) => name),
      ]),
    )
    const one = await scim.call({ path: `/Schemas/${enterpriseSchema}` })

    expect(status).toBe(200)
    expect(body).toMatchObject({ schemas: [listSchema], totalResults: 3 })
    expect(names.get(userSchema)).toEqual(
      expect.arrayContaining(['userName', 'name', 'displayName', 'emails', 'active', 'title', 'userType']),
    )
    expect(names.get(userSchema)).not.toContain('password')
    expect(names.get(groupSchema)).toEqual(['displayName', 'members'])
    expect(one.body).toMatchObject({ id: enterpriseSchema, meta: { resourceType: 'Schema' } })
    expect(names.get(enterpriseSchema)).toEqual(expect.arrayContaining(['employeeNumber', 'department', 'manager']))
  })

  test('ServiceProviderConfig and ResourceTypes say what there is', async () => {
    const config = await scim.call({ path: '/ServiceProviderConfig' })
    const types = await scim.call({ path: '/ResourceTypes' })
    const type = await scim.call({ path: '/ResourceTypes/User' })

    expect(config).toMatchObject({
      status: 200,
      body: {
        patch: { supported: true },
        bulk: { supported: false },
        filter: { supported: true, maxResults: 1000 },
        etag: { supported: true },
      },
    })
    expect(types.body.Resources.map(({ endpoint }: { endpoint: string }) => endpoint)).toEqual(['/Users', '/Groups'])
    expect(type.body).toMatchObject({ schema: userSchema, schemaExtensions: [{ schema: enterpriseSchema }] })
    expect((await scim.call({ path: '/Schemas/none' })).status).toBe(404)
  })
})

test('versions: a change of a version that is no longer there is refused, and a known version is not sent again', async () => {
  const one = await createUser()
  const path = `/Users/${one.id}`
  const first = (await scim.call({ path })).headers.get('etag') ?? ''

  const known = await scim.call({ path, headers: { 'if-none-match': first } })
  const changed = await scim.call({
    method: 'PATCH',
    path,
    body: patchOf({ op: 'replace', path: 'title', value: 'CEO' }),
    headers: { 'if-match': first },
  })
  const late = await scim.call({ method: 'PUT', path, body: one, headers: { 'if-match': first } })
  const lateDelete = await scim.call({ method: 'DELETE', path, headers: { 'if-match': first } })
  const same = await scim.call({ method: 'PATCH', path, body: patchOf({ op: 'replace', path: 'title', value: 'CEO' }) })

  expect(first).toBe('W/"1"')
  expect(known.status).toBe(304)
  expect(changed.headers.get('etag')).toBe('W/"2"')
  expect([late.status, lateDelete.status]).toEqual([412, 412])
  expect(late.body).toMatchObject({ status: '412' })
  expect(same.body.meta.version).toBe('W/"2"')
})
