import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AssetCreate, AssetUpdate } from '../../../src/contract/platform/assets.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { newInventory } from '../helpers/inventories.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

const minuteMs = 60_000
const unknown = 999_999

describe.each(databases)('assets on $name', ({ createDatabase }) => {
  let opened: TestPlatform

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  const inventory = () => newInventory(opened)

  test('an asset added by hand is read back', async () => {
    const { client, add } = await inventory()

    const created = await add({
      notes: 'Backed up nightly',
      associatedId: 'arn:db',
      removedAt: '2026-02-01T10:00:00+02:00',
      externalId: 'i-1',
      externalOwnerId: '1234',
    })

    const at = opened.clock.now().toISOString()
    expect(created).toEqual({
      id: expect.any(Number),
      name: 'Billing database',
      description: 'Holds invoices',
      assetType: 'VIRTUAL',
      assetProvider: 'DRATA',
      assetReferenceType: 'VIRTUAL',
      removedAt: '2026-02-01T08:00:00.000Z',
      notes: 'Backed up nightly',
      associatedId: 'arn:db',
      externalId: 'i-1',
      externalOwnerId: '1234',
      device: null,
      createdAt: at,
      updatedAt: at,
    })
    const read = await client.getAsset({ params: { assetId: created.id }, query: {} })
    expect(bodyOf(read, 200)).toEqual(created)
  })

  test('missing optional fields are null, and a physical asset is not a virtual one', async () => {
    const { add } = await inventory()

    expect(await add({ assetType: 'PHYSICAL' })).toMatchObject({
      assetReferenceType: 'OTHER',
      removedAt: null,
      notes: null,
      associatedId: null,
      externalId: null,
      externalOwnerId: null,
    })
  })

  test.each<[string, (valid: AssetCreate) => object, number]>([
    ['no name', ({ name: _none, ...valid }) => valid, 400],
    ['an empty name', (valid) => ({ ...valid, name: '' }), 400],
    ['a blank name', (valid) => ({ ...valid, name: ' \u00a0\t' }), 400],
    ['a name of 192 characters', (valid) => ({ ...valid, name: 'n'.repeat(192) }), 400],
    ['a NUL character in the notes', (valid) => ({ ...valid, notes: '\0' }), 400],
    ['null for the notes', (valid) => ({ ...valid, notes: null }), 400],
    ['an unknown class', (valid) => ({ ...valid, assetClassTypes: ['SHIP'] }), 400],
    ['an empty list of classes', (valid) => ({ ...valid, assetClassTypes: [] }), 400],
    ['no classes', ({ assetClassTypes: _none, ...valid }) => valid, 400],
    ['a date without a time', (valid) => ({ ...valid, removedAt: '2026-02-01' }), 400],
    ['an owner who cannot be', (valid) => ({ ...valid, ownerId: 1e300 }), 400],
    ['an owner whom nobody knows', (valid) => ({ ...valid, ownerId: unknown }), 404],
  ])('%s is refused and leaves nothing behind', async (_what, change, status) => {
    const { client, asset, events } = await inventory()

    const answer = await client.createAsset({ body: change(asset()) as AssetCreate })

    expect(answer.status).toBe(status)
    expect(bodyOf(await client.listAssets({ query: {} }), 200).data).toEqual([])
    expect(await events()).toEqual([])
  })

  test('an update changes the sent fields and returns the asset', async () => {
    const { client, tom, add } = await inventory()
    const created = await add()
    opened.clock.advance(minuteMs)

    const answer = await client.updateAsset({
      params: { assetId: created.id },
      body: { name: 'Ledger', notes: 'moved', ownerId: tom.userId, assetType: 'PHYSICAL' },
    })

    expect(bodyOf(answer, 200)).toEqual({
      ...created,
      name: 'Ledger',
      notes: 'moved',
      assetType: 'PHYSICAL',
      assetReferenceType: 'OTHER',
      updatedAt: opened.clock.now().toISOString(),
    })
  })

  test('an update that changes nothing answers 204 and leaves the asset and the trail alone', async () => {
    const { client, nora, add, events } = await inventory()
    const created = await add({ assetClassTypes: ['DATABASE', 'STORAGE'] })
    const params = { assetId: created.id }
    opened.clock.advance(minuteMs)

    const answers = [
      await client.updateAsset({ params, body: {} }),
      await client.updateAsset({
        params,
        body: {
          name: created.name,
          description: created.description,
          ownerId: nora.userId,
          assetClassTypes: ['STORAGE', 'DATABASE', 'STORAGE'],
          assetType: 'VIRTUAL',
        },
      }),
    ]

    expect(answers.map(({ status }) => status)).toEqual([204, 204])
    expect(bodyOf(await client.getAsset({ params, query: {} }), 200)).toEqual(created)
    expect((await events()).map(({ type }) => type)).toEqual(['MANUAL_ASSET_CREATED'])
  })

  test('classes are replaced, and those that stay keep their ids', async () => {
    const { client, add } = await inventory()
    const { id } = await add({ assetClassTypes: ['DATABASE', 'STORAGE', 'DATABASE'] })
    const params = { assetId: id }
    const classes = async () =>
      bodyOf(await client.getAsset({ params, query: { 'expand[]': ['assetClassTypes'] } }), 200).assetClassTypes ?? []
    const before = await classes()
    opened.clock.advance(minuteMs)

    const answer = await client.updateAsset({ params, body: { assetClassTypes: ['CODE', 'STORAGE'] } })

    expect(bodyOf(answer, 200).updatedAt).toBe(opened.clock.now().toISOString())
    expect(before.map(({ assetClassType }) => assetClassType)).toEqual(['DATABASE', 'STORAGE'])
    const after = await classes()
    expect(after.map(({ assetClassType }) => assetClassType)).toEqual(['STORAGE', 'CODE'])
    expect(after[0]).toEqual(before[1])
  })

  test.each<[string, AssetUpdate, number]>([
    ['an empty name', { name: '' }, 400],
    ['a blank name', { name: '   ' }, 400],
    ['an empty list of classes', { assetClassTypes: [] }, 400],
    ['null for the notes', { notes: null as never }, 400],
    ['an unknown type', { assetType: 'CLOUD' as never }, 400],
    ['an owner whom nobody knows', { ownerId: unknown }, 404],
  ])('an update with %s is refused and changes nothing', async (_what, body, status) => {
    const { client, add } = await inventory()
    const created = await add()
    const params = { assetId: created.id }

    const answer = await client.updateAsset({ params, body: { description: 'new', ...body } })

    expect(answer.status).toBe(status)
    expect(bodyOf(await client.getAsset({ params, query: {} }), 200)).toEqual(created)
  })

  test('lists are filtered', async () => {
    const { name, client, nora, tom, add, report } = await inventory()
    const { db } = opened.platform.database
    await db.updateTable('personnel').set({ employment_status: 'FORMER_EMPLOYEE' }).where('id', '=', tom.id).execute()
    const database = await add({ assetClassTypes: ['DATABASE', 'STORAGE'] })
    const rack = await add({ assetType: 'PHYSICAL', assetClassTypes: ['HARDWARE'], ownerId: tom.userId })
    const { assetId: laptop } = await report()
    const ids = async (query: NonNullable<Parameters<typeof client.listAssets>[0]['query']>) =>
      bodyOf(await client.listAssets({ query }), 200).data.map(({ id }) => id)
    const expand = { 'expand[]': ['assetClassTypes' as const] }

    expect(await ids({})).toEqual([database.id, rack.id, laptop])
    expect(await ids({ assetClassType: 'HARDWARE', ...expand })).toEqual([rack.id, laptop])
    expect(await ids({ assetClassType: 'CODE', ...expand })).toEqual([])
    expect(await ids({ assetClassType: 'HARDWARE' })).toHaveLength(3)
    expect(await ids({ assetType: 'VIRTUAL' })).toEqual([database.id])
    expect(await ids({ assetProvider: 'DRATA' })).toHaveLength(3)
    expect(await ids({ assetProvider: 'AWS' })).toEqual([])
    expect(await ids({ userId: nora.userId })).toEqual([database.id, laptop])
    expect(await ids({ userId: unknown })).toEqual([])
    expect(await ids({ employmentStatus: 'FORMER_EMPLOYEE' })).toEqual([rack.id])
    expect(await ids({ employmentStatus: 'UNKNOWN', assetType: 'PHYSICAL' })).toEqual([laptop])
    const reader = await opened.clientOf(name, 'all-read')
    const withTotal = await reader.listAssets({ query: { userId: nora.userId, includeTotalCount: true, size: 1 } })
    expect(bodyOf(withTotal, 200).pagination.totalCount).toBe(2)
  })

  test('a walk keeps to its filters', async () => {
    const { client, add } = await inventory()
    const virtual = [await add(), await add(), await add()]
    await add({ assetType: 'PHYSICAL' })
    const query = { assetType: 'VIRTUAL' as const, size: 2, sort: 'updatedAt' as const, sortDir: 'DESC' as const }

    const first = bodyOf(await client.listAssets({ query }), 200)
    const cursor = first.pagination.cursor ?? ''
    const rest = bodyOf(await client.listAssets({ query: { ...query, cursor } }), 200)
    const other = await client.listAssets({
      query: { ...query, assetType: 'PHYSICAL', cursor },
    })

    expect([...first.data, ...rest.data].map(({ id }) => id)).toEqual(virtual.map(({ id }) => id).reverse())
    expect(other.status).toBe(400)
  })

  test.each(['assetClassType', 'assetType', 'assetProvider', 'employmentStatus', 'userId'])(
    'a filter by %s that cannot be is refused with 400',
    async (filter) => {
      const { client } = await inventory()

      const answer = await client.listAssets({ query: { [filter]: filter === 'userId' ? 1_000_000_001 : 'NONE' } })

      expect(answer.status).toBe(400)
    },
  )

  test('every asset answers with its device, which is null unless it was asked for', async () => {
    const { client, add, report } = await inventory()
    const added = await add()
    const { assetId } = await report()

    const listed = bodyOf(await client.listAssets({ query: {} }), 200).data
    const read = bodyOf(await client.getAsset({ params: { assetId: assetId ?? 0 }, query: {} }), 200)

    expect([added, ...listed, read]).toEqual(
      [added.id, added.id, assetId, assetId].map((id) => expect.objectContaining({ id, device: null })),
    )
  })

  test('extras are shown on request', async () => {
    const { client, nora, add, report } = await inventory()
    const database = await add()
    const device = await report({ serialNumber: 'S-1', encryptionEnabled: true })
    const list = async (...expand: ('device' | 'complianceChecks' | 'identifiers' | 'owner' | 'assetClassTypes')[]) =>
      bodyOf(await client.listAssets({ query: { 'expand[]': expand } }), 200).data

    expect(await list('device')).toEqual([
      { ...database, device: null },
      expect.objectContaining({ id: device.assetId, assetReferenceType: 'WORKSTATION', device }),
    ])
    const [, checked] = await list('complianceChecks')
    expect(checked?.device?.complianceChecks).toHaveLength(5)
    expect(checked?.device).not.toHaveProperty('identifiers')
    const [, identified] = await list('identifiers')
    expect(identified?.device?.identifiers).toMatchObject([{ type: 'SERIAL_NUMBER', identifier: 'S-1' }])
    const owner = { id: nora.userId, email: 'nora@acme.example', firstName: 'Nora', jobTitle: null }
    expect(await list('owner', 'assetClassTypes')).toMatchObject([
      { owner, assetClassTypes: [{ assetClassType: 'DATABASE' }] },
      { owner, assetClassTypes: [{ assetClassType: 'HARDWARE' }] },
    ])
    const single = await client.getAsset({
      params: { assetId: device.assetId ?? 0 },
      query: { 'expand[]': ['device', 'owner'] },
    })
    expect(bodyOf(single, 200)).toMatchObject({ device: { id: device.id }, owner })
  })

  test('a removed asset is gone, and one of a device cannot be removed by itself', async () => {
    const { client, add, report } = await inventory()
    const { id } = await add()
    const { assetId } = await report()
    const remove = (one: number) => client.deleteAsset({ params: { assetId: one } })

    const answers = [
      await remove(id),
      await remove(id),
      await client.getAsset({ params: { assetId: id }, query: {} }),
      await client.updateAsset({ params: { assetId: id }, body: { name: 'back' } }),
      await remove(assetId ?? 0),
    ]

    expect(answers.map(({ status }) => status)).toEqual([204, 404, 404, 404, 400])
    const remaining = bodyOf(await client.listAssets({ query: {} }), 200).data
    expect(remaining.map((asset) => asset.id)).toEqual([assetId])
  })

  test('each write leaves its event', async () => {
    const { client, tom, add, events } = await inventory()
    const params = { assetId: (await add()).id }
    await client.updateAsset({ params, body: { notes: 'new' } })
    await client.updateAsset({ params, body: { ownerId: tom.userId } })
    await client.updateAsset({ params, body: { notes: 'newer', name: 'Ledger' } })
    await client.updateAsset({ params, body: { assetClassTypes: ['CODE'] } })
    await client.deleteAsset({ params })

    const recorded = await events()

    expect(recorded.map(({ type }) => type)).toEqual([
      'MANUAL_ASSET_CREATED',
      'ASSET_NOTES_UPDATED',
      'ASSET_OWNER_UPDATED',
      'MANUAL_ASSET_UPDATED',
      'MANUAL_ASSET_UPDATED',
      'MANUAL_ASSET_DELETED',
    ])
    expect(recorded.map(({ metadata }) => metadata)).toEqual(
      recorded.map(() => ({ targetEntity: { kind: 'asset', id: params.assetId } })),
    )
  })

  test("another account's assets and users are as absent as none", async () => {
    const mine = await inventory()
    const theirs = await inventory()
    const params = { assetId: (await theirs.add()).id }
    const own = { assetId: (await mine.add()).id }

    const answers = [
      await mine.client.getAsset({ params, query: {} }),
      await mine.client.updateAsset({ params, body: { name: 'mine' } }),
      await mine.client.deleteAsset({ params }),
      await mine.client.createAsset({ body: mine.asset({ ownerId: theirs.nora.userId }) }),
      await mine.client.updateAsset({ params: own, body: { ownerId: theirs.nora.userId } }),
    ]

    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404])
    const listed = await mine.client.listAssets({ query: { userId: theirs.nora.userId } })
    expect(bodyOf(listed, 200).data).toEqual([])
    expect(bodyOf(await theirs.client.getAsset({ params, query: {} }), 200).name).toBe('Billing database')
  })

  test('an asset is updated and removed at the same time without an error of the server', async () => {
    const { client, add } = await inventory()
    const params = { assetId: (await add()).id }

    const answers = await Promise.all([
      ...Array.from({ length: 5 }, (_, index) =>
        client.updateAsset({ params, body: { name: `${index}`, assetClassTypes: index % 2 ? ['CODE'] : ['STORAGE'] } }),
      ),
      client.deleteAsset({ params }),
      ...Array.from({ length: 5 }, () => client.updateAsset({ params, body: { assetClassTypes: ['NETWORKING'] } })),
    ])

    expect(answers.filter(({ status }) => ![200, 204, 404].includes(Number(status)))).toEqual([])
  })
})
