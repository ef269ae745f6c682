import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  enterpriseSchema,
  entraUser,
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

async function createUser(more: object = {}) {
  return (await scim.call({ method: 'POST', path: '/Users', body: entraUser(more) })).body
}

const patch = (path: string, ...operations: object[]) =>
  scim.call({ method: 'PATCH', path, body: patchOf(...operations) })

describe('users of Microsoft Entra', () => {
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
})

describe('groups of Microsoft Entra', () => {
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
