import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases } from '../../helpers/servers/databases.ts'
import { newDemandingCompany } from '../helpers/demanding-companies.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'
import { type Api, type Entry, readNew } from './incremental-source.ts'

const size = 3
const minuteMs = 60_000
const crowd = Array.from({ length: 10 }, (_, index) => ({
  identityId: `p${index}`,
  email: `p${index}@acme.example`,
  firstName: `Person ${index}`,
  isContractor: false,
}))

describe.each(databases)('a source that reads what is new, on $name', ({ createDatabase }) => {
  let opened: TestPlatform

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  async function open() {
    const company = await newDemandingCompany(opened, { policies: [{ name: 'For all', assignedTo: 'ALL' }] })
    const { name, send, sync, persons, report } = company
    await send(crowd)
    await sync()
    for (const { id } of await persons()) await report(id)
    const { key } = await opened.operator.createKey({
      body: { account: name, name: 'source', permissions: 'all-read' },
    })
    const api: Api = { baseUrl: opened.platform.baseUrl, key }
    opened.clock.advance(minuteMs)
    return { ...company, api }
  }
  const idsOf = (read: { entries: ReadonlyMap<number, Entry> }) => [...read.entries.keys()].sort((a, b) => a - b)

  test('the first reading meets everybody; the next one only what changed since, in few pages', async () => {
    const { api, ana, bo, send, sync, report, client } = await open()
    const read = (path: string, bookmark: string | null) => readNew(api, { path, size, by: 'updatedAt', bookmark })
    const first = {
      personnel: await read('/personnel', null),
      users: await read('/users', null),
      devices: await read('/devices', null),
      policies: await read(`/users/${ana.userId}/assigned-policies`, null),
    }
    const [assigned] = [...first.policies.entries.values()]
    await send([{ identityId: 'b', firstName: 'Bodil' }])
    await sync()
    const moved = await report(ana.id, { antivirusEnabled: true })
    const params = { userId: ana.userId, policyId: Number(assigned?.policyId) }
    bodyOf(await client.acknowledgePolicy({ params, body: { acceptedAt: opened.clock.now().toISOString() } }), 201)
    const bookmarkOf = (later: { bookmark: string | null }) =>
      later.bookmark && new Date(Date.parse(later.bookmark) + 1).toISOString()

    const next = {
      personnel: await read('/personnel', bookmarkOf(first.personnel)),
      users: await read('/users', bookmarkOf(first.users)),
      devices: await read('/devices', bookmarkOf(first.devices)),
      policies: await read(`/users/${ana.userId}/assigned-policies`, bookmarkOf(first.policies)),
    }

    expect([first.personnel.entries.size, first.users.entries.size, first.devices.entries.size]).toEqual([12, 14, 12])
    expect(idsOf(next.personnel)).toEqual([ana.id])
    expect(idsOf(next.users)).toEqual([bo.userId])
    expect(idsOf(next.devices)).toEqual([moved.id])
    expect(idsOf(next.policies)).toEqual([assigned?.id])
    expect([next.personnel, next.users, next.devices].map(({ pages }) => pages)).toEqual([1, 1, 1])
  })

  test('a walk while people change misses nobody', async () => {
    const { api, send, sync, persons } = await open()
    const all = (await persons()).map(({ id }) => id)
    const onPage = async (number: number) => {
      opened.clock.advance(1)
      await send([
        { identityId: `new${number}`, email: `new${number}@acme.example`, isContractor: false },
        { identityId: `p${number}`, separatedAt: '2026-02-01T00:00:00Z' },
      ])
      await sync()
    }

    const walked = await readNew(api, { path: '/personnel', size, by: 'updatedAt', bookmark: null, onPage })

    expect(idsOf(walked)).toEqual(expect.arrayContaining(all))
  })

  test('by creation, a source meets exactly the newcomers', async () => {
    const { api, send, sync, person } = await open()
    const first = await readNew(api, { path: '/users', size, by: 'createdAt', bookmark: null })
    opened.clock.advance(minuteMs)
    await send([{ identityId: 'n', email: 'new@acme.example', isContractor: false }])
    await sync()
    const since = new Date(Date.parse(first.bookmark ?? '') + 1).toISOString()

    const next = await readNew(api, { path: '/users', size, by: 'createdAt', bookmark: since })

    expect(idsOf(next)).toEqual([(await person('new@acme.example')).userId])
    expect(next.pages).toBe(1)
  })
})
