import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { oktaUser, openScim, patchOf } from '../../helpers/sources/scim-server.ts'

let scim: Awaited<ReturnType<typeof openScim>>
beforeAll(async () => {
  scim = await openScim()
})
afterAll(() => scim[Symbol.asyncDispose]())

const createUser = async (name: string) =>
  (await scim.call({ method: 'POST', path: '/Users', body: oktaUser(`${name}@acme.example`) })).body
const createGroup = async (displayName: string, ...members: readonly string[]) => {
  const body = { displayName, members: members.map((value) => ({ value })) }
  return (await scim.call({ method: 'POST', path: '/Groups', body })).body
}
const read = async (path: string) => (await scim.call({ path })).body

test('a repeated group is refused by its external ID, or by its name if it has none', async () => {
  const post = async (body: object) => (await scim.call({ method: 'POST', path: '/Groups', body })).status

  const statuses = [
    await post({ displayName: 'Twice' }),
    await post({ displayName: 'TWICE' }),
    await post({ displayName: 'Twice', externalId: 'g1' }),
    await post({ displayName: 'Other', externalId: 'g1' }),
  ]

  expect(statuses).toEqual([201, 409, 201, 409])
})

test('a filter on members is answered, and lists with members are short', async () => {
  const group = await createGroup('Filtered', 'm-1', 'm-2')
  const total = async (member: string) =>
    (await read(`/Groups?filter=${encodeURIComponent(`id eq "${group.id}" and members eq "${member}"`)}`)).totalResults
  for (let i = 0; i < 60; i += 1) await createGroup(`Many ${i}`)

  expect([await total('m-2'), await total('m-3')]).toEqual([1, 0])
  expect((await read('/Groups?count=1000')).itemsPerPage).toBe(50)
  expect((await read('/Groups?count=1000&excludedAttributes=members')).itemsPerPage).toBeGreaterThan(60)
  expect((await read('/Groups?filter=')).itemsPerPage).toBe(50)
})

test('an answer without a body has the version of the resource', async () => {
  const path = `/Groups/${(await createGroup('Known')).id}`
  const etag = (await scim.call({ path })).headers.get('etag') ?? ''

  const answer = await scim.call({ path, headers: { 'if-none-match': etag } })

  expect([answer.status, answer.headers.get('etag')]).toEqual([304, etag])
})

/** RFC 7643, section 4.1.2. */
describe('the groups of a user', () => {
  test('are those that name the user, by their names, with every answer about the user', async () => {
    const ana = await createUser('ana')
    const bo = await createUser('bo')
    const staff = await createGroup('Staff', ana.id, bo.id)
    const all = await createGroup('All', ana.id)
    const path = `/Users/${ana.id}`

    const answers = [
      await read(path),
      (await read(`/Users?filter=${encodeURIComponent(`userName eq "ana@acme.example"`)}`)).Resources[0],
      (await read('/Users')).Resources.find(({ id }: { id: string }) => id === ana.id),
      (await scim.call({ method: 'PUT', path, body: oktaUser('ana@acme.example', { groups: [] }) })).body,
      (await scim.call({ method: 'PATCH', path, body: patchOf({ op: 'replace', value: { groups: [] } }) })).body,
    ]

    const base = `${scim.url}/scim/v2/hr/Groups`
    const groups = [
      { value: all.id, display: 'All', $ref: `${base}/${all.id}`, type: 'direct' },
      { value: staff.id, display: 'Staff', $ref: `${base}/${staff.id}`, type: 'direct' },
    ]
    expect(answers.map((answer) => answer.groups)).toEqual(Array(5).fill(groups))
    expect((await read(`/Users/${bo.id}`)).groups).toEqual(groups.slice(1))
    expect(await read(`${path}?attributes=groups.display`)).toMatchObject({
      groups: [{ display: 'All' }, { display: 'Staff' }],
    })
    for (const query of ['attributes=userName', 'excludedAttributes=groups'])
      expect(await read(`${path}?${query}`)).not.toHaveProperty('groups')
  })

  test('follow the group, and are missing where there are none', async () => {
    const cem = await createUser('cem')
    const path = `/Users/${cem.id}`
    const group = await createGroup('Interns', cem.id)
    const groupPath = `/Groups/${group.id}`
    const namesOf = async () => (await read(path)).groups?.map(({ display }: { display: string }) => display)

    const names = [cem.groups, await namesOf()]
    await scim.call({
      method: 'PATCH',
      path: groupPath,
      body: patchOf({ op: 'replace', path: 'displayName', value: 'Trainees' }),
    })
    names.push(await namesOf())
    await scim.call({
      method: 'PATCH',
      path: groupPath,
      body: patchOf({ op: 'remove', path: `members[value eq "${cem.id}"]` }),
    })
    names.push(await namesOf())

    expect(names).toEqual([undefined, ['Interns'], ['Trainees'], undefined])
  })

  test('are not written by way of the user', async () => {
    const dee = await createUser('dee')
    const group = await createGroup('Board')

    const body = patchOf({ op: 'add', path: 'groups', value: [{ value: group.id }] })
    const answer = await scim.call({ method: 'PATCH', path: `/Users/${dee.id}`, body })

    expect(answer).toMatchObject({ status: 400, body: { scimType: 'mutability' } })
    expect(await read(`/Users/${dee.id}`)).not.toHaveProperty('groups')
  })

  test('are found whatever the case of the IDs of members', async () => {
    const eve = await createUser('eve')
    const inner = await createGroup('Inside')
    const capitals = [eve.id, inner.id].map((id: string) => id.toUpperCase())
    const outer = await createGroup('Outside', ...capitals)
    const path = `/Groups/${outer.id}`

    const groups = (await read(`/Users/${eve.id}`)).groups
    const removed = patchOf({ op: 'remove', path: `members[value eq "${capitals[0]}"]` })
    await scim.call({ method: 'PATCH', path, body: removed })
    const { members } = await read(path)
    await scim.call({ method: 'DELETE', path: `/Groups/${inner.id}` })

    expect(groups).toMatchObject([{ display: 'Outside' }])
    expect(members).toMatchObject([{ value: inner.id, type: 'Group' }])
    expect(await read(path)).not.toHaveProperty('members.0')
  })

  test('do not follow groups within groups, which are members of the type Group until they are deleted', async () => {
    const gil = await createUser('gil')
    const inner = await createGroup('Inner', gil.id)
    const outer = await createGroup('Outer', gil.id, inner.id, 'of-another-system')
    const membersOf = async () => {
      const { members } = await read(`/Groups/${outer.id}`)
      return members.map(({ type, $ref }: { type: string; $ref: string }) => [type, $ref.replace(/^.*v2.hr/, '')])
    }

    const before = await membersOf()
    const filter = encodeURIComponent(`id eq "${outer.id}" and members eq "${inner.id}"`)
    const matches = await read(`/Groups?filter=${filter}`)
    await scim.call({ method: 'DELETE', path: `/Groups/${inner.id}` })

    const user = ['User', `/Users/${gil.id}`]
    const other = ['User', '/Users/of-another-system']
    expect(before).toEqual([user, ['Group', `/Groups/${inner.id}`], other])
    expect(matches.totalResults).toBe(1)
    expect(await membersOf()).toEqual([user, other])
    expect(await read(`/Groups/${outer.id}`)).toMatchObject({ meta: { version: 'W/"2"' } })
  })

  test('give the user another version, and a deleted user gives one to its groups', async () => {
    const eli = await createUser('eli')
    const fay = await createUser('fay')
    const tagOf = async (path: string) => (await scim.call({ path })).headers.get('etag') ?? ''
    const statusOf = async (path: string, tag: string) =>
      (await scim.call({ path, headers: { 'if-none-match': tag } })).status
    const user = `/Users/${eli.id}`
    const first = await tagOf(user)
    const group = `/Groups/${(await createGroup('Guests', eli.id, fay.id)).id}`
    const ofGroup = await tagOf(group)

    const statuses = [await statusOf(user, first), await statusOf(user, await tagOf(user))]
    await scim.call({ method: 'DELETE', path: `/Users/${fay.id}` })
    statuses.push(await statusOf(group, ofGroup), await statusOf(group, await tagOf(group)))

    expect(statuses).toEqual([200, 304, 200, 304])
  })
})
