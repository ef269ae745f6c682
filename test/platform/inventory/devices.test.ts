import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { DeviceUpload } from '../../../src/contract/platform/devices.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { newInventory, newMdmConnection } from '../helpers/inventories.ts'
import { bodyOf, newHrisConnection, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

const minuteMs = 60_000
const unknown = 999_999

describe.each(databases)('devices on $name', ({ createDatabase }) => {
  let opened: TestPlatform

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  const inventory = () => newInventory(opened)

  test('a report needs a person and a platform, and is read back', async () => {
    const { client, nora, report } = await inventory()

    const created = await report()

    expect(created).toEqual({
      id: expect.any(Number),
      assetId: expect.any(Number),
      userId: nora.userId,
      personnelId: nora.id,
      osVersion: '14.2',
      serialNumber: null,
      model: null,
      macAddress: null,
      externalId: null,
      lastCheckedAt: opened.clock.now().toISOString(),
      sourceType: 'CUSTOM',
      createdAt: opened.clock.now().toISOString(),
      updatedAt: opened.clock.now().toISOString(),
      deletedAt: null,
      appsCount: null,
      screenLockTime: null,
      screenLockExplanation: null,
      antivirusEnabled: null,
      antivirusExplanation: null,
      autoUpdateEnabled: null,
      autoUpdateExplanation: null,
      passwordManagerEnabled: null,
      passwordManagerExplanation: null,
      encryptionEnabled: null,
      encryptionExplanation: null,
      firewallEnabled: null,
      firewallExplanation: null,
    })
    const read = await client.getDevice({ params: { deviceId: created.id }, query: {} })
    expect(bodyOf(read, 200)).toEqual(created)
  })

  test('explanations are taken as words or as an object, and always answered as an object', async () => {
    const { report } = await inventory()

    const created = await report({
      personnelId: 'email:TOM@acme.example',
      model: 'Air',
      macAddress: 'aa:bb',
      antivirusEnabled: false,
      antivirusExplanation: 'exempt',
      firewallEnabled: true,
      firewallExplanation: { vendor: 'pf', rules: [1, 2] },
      screenLockTime: 2.5,
    })

    expect(created).toMatchObject({
      model: 'Air',
      macAddress: 'aa:bb',
      antivirusEnabled: false,
      antivirusExplanation: { text: 'exempt' },
      firewallEnabled: true,
      firewallExplanation: { vendor: 'pf', rules: [1, 2] },
      screenLockTime: 2.5,
      encryptionExplanation: null,
    })
  })

  test.each<[string, Partial<DeviceUpload>]>([
    ['serialNumber', { serialNumber: 'S-1' }],
    ['macAddress', { macAddress: 'aa:01' }],
    ['externalId', { externalId: 'E-1' }],
  ])('a device is found again by its %s, and missing fields stay', async (_key, key) => {
    const { client, connectionId, report } = await inventory()
    const created = await report({
      serialNumber: 'S-1',
      macAddress: 'aa:01',
      externalId: 'E-1',
      encryptionEnabled: true,
    })
    opened.clock.advance(minuteMs)

    const updated = await report({ ...key, antivirusEnabled: true })

    expect(updated).toEqual({
      ...created,
      antivirusEnabled: true,
      updatedAt: opened.clock.now().toISOString(),
      lastCheckedAt: opened.clock.now().toISOString(),
    })
    const listed = await client.listDevicesForConnection({ params: { connectionId }, query: {} })
    expect(bodyOf(listed, 200).data).toEqual([updated])
  })

  test('null clears a setting and a MAC address', async () => {
    const { report } = await inventory()
    await report({ serialNumber: 'S-1', macAddress: 'aa:01', encryptionEnabled: true })

    const updated = await report({ serialNumber: 'S-1', macAddress: null, encryptionEnabled: null })

    expect(updated).toMatchObject({ macAddress: null, encryptionEnabled: null })
  })

  test('an unchanged report updates only the time of the last check', async () => {
    const { report, events } = await inventory()
    const full = {
      serialNumber: 'S-1',
      antivirusExplanation: { b: 1, a: [1] },
      appList: [{ name: 'Mail', version: '1' }],
      browserExtensions: [{ name: 'Block', version: '2', description: null }],
      windowsServices: [{ name: 'svc', description: 'd', startType: 'auto', status: 'on' }],
    }
    const created = await report(full)
    opened.clock.advance(minuteMs)

    const again = await report(full)

    expect(again).toEqual({ ...created, lastCheckedAt: opened.clock.now().toISOString() })
    expect((await events()).map(({ type }) => type)).toEqual(['DEVICE_LINKED'])
  })

  test('keys of different devices in one report are refused with 400', async () => {
    const { client, connectionId, device, report } = await inventory()
    await report({ serialNumber: 'S-1' })
    await report({ macAddress: 'aa:02' })

    const answer = await client.upsertDevice({
      params: { connectionId },
      body: device({ serialNumber: 'S-1', macAddress: 'aa:02' }),
    })

    expect(answer.status).toBe(400)
  })

  test('a device without keys is a new one each time, and other connections have devices of their own', async () => {
    const { client, report } = await inventory()
    const other = await newMdmConnection(client)

    const devices = [
      await report(),
      await report(),
      await report({ serialNumber: 'S-1' }),
      await report({ serialNumber: 'S-1' }, other),
    ]

    expect(new Set(devices.map(({ id }) => id)).size).toBe(4)
  })

  test('reports of the same new device at the same time make one device', async () => {
    const { client, connectionId, device } = await inventory()
    const body = device({ serialNumber: 'S-1', appList: [{ name: 'Mail', version: '1' }] })

    const answers = await Promise.all(
      Array.from({ length: 8 }, () => client.upsertDevice({ params: { connectionId }, body })),
    )

    expect(new Set(answers.map((answer) => bodyOf(answer, 201).id)).size).toBe(1)
  })

  test('a connection is deleted while reports arrive without an error of the server', async () => {
    const { client, connectionId, device } = await inventory()
    const report = (index: number) =>
      client.upsertDevice({ params: { connectionId }, body: device({ serialNumber: `${index}` }) })

    const answers = await Promise.all([
      ...Array.from({ length: 6 }, (_, index) => report(index)),
      client.deleteCustomConnection({ params: { connectionId } }),
      ...Array.from({ length: 6 }, (_, index) => report(index)),
    ])

    expect(answers.filter(({ status }) => ![201, 204, 404].includes(Number(status)))).toEqual([])
    const remaining = await client.listAssets({ query: {} })
    expect(bodyOf(remaining, 200).data).toEqual([])
  })

  test('checks follow from the settings, with ids that stay', async () => {
    const { client, report } = await inventory()
    const { id } = await report({ serialNumber: 'S-1', encryptionEnabled: true, antivirusEnabled: false })
    const read = async () =>
      bodyOf(await client.getDevice({ params: { deviceId: id }, query: { 'expand[]': ['complianceChecks'] } }), 200)

    const before = await read()
    await report({
      serialNumber: 'S-1',
      antivirusEnabled: true,
      autoUpdateEnabled: true,
      screenLockEnabled: true,
      passwordManagerEnabled: true,
    })
    const after = await read()

    expect(before.isDeviceCompliant).toBe(false)
    expect(before.complianceChecks?.map(({ type, status }) => [type, status])).toEqual([
      ['HDD_ENCRYPTION', 'PASS'],
      ['ANTIVIRUS', 'FAIL'],
      ['AUTO_UPDATES', 'MISCONFIGURED'],
      ['LOCK_SCREEN', 'MISCONFIGURED'],
      ['PASSWORD_MANAGER', 'MISCONFIGURED'],
    ])
    expect(after.isDeviceCompliant).toBe(true)
    expect(after.complianceChecks?.map((check) => check.id)).toEqual(before.complianceChecks?.map((check) => check.id))
  })

  test('everything else is shown on request', async () => {
    const { client, name, report } = await inventory()
    const { id, assetId } = await report({
      alias: "Nora's Mac",
      serialNumber: 'S-1',
      externalId: 'E-1',
      appList: [
        { name: 'Mail', version: '1.0' },
        { name: 'Mail', version: '1.0', description: 'twice' },
        { name: 'Chat', version: '2' },
      ],
    })

    const read = await client.getDevice({
      params: { deviceId: id },
      query: { 'expand[]': ['asset', 'documents', 'identifiers', 'deviceApps'] },
    })

    const at = opened.clock.now().toISOString()
    expect(bodyOf(read, 200)).toMatchObject({
      appsCount: 2,
      documents: [],
      identifiers: [
        { type: 'SERIAL_NUMBER', identifier: 'S-1' },
        { type: 'EXTERNAL_ID', identifier: 'E-1' },
      ],
      apps: [{ installedApp: 'Mail 1.0' }, { installedApp: 'Chat 2' }],
      asset: {
        id: assetId,
        name: "Nora's Mac",
        description: 'MACOS 14.2',
        assetType: 'PHYSICAL',
        assetProvider: 'DRATA',
        assetReferenceType: 'WORKSTATION',
        approvedAt: at,
        removedAt: null,
        company: name,
        notes: null,
        uniqueId: expect.any(String),
        createdAt: at,
        updatedAt: at,
      },
    })
  })

  test('apps are listed in pages, and a new list replaces them while those that stay keep their ids', async () => {
    const { client, report } = await inventory()
    const apps = (...names: string[]) => ({ appList: names.map((name) => ({ name, version: '1' })) })
    const { id } = await report({ serialNumber: 'S-1', ...apps('a', 'b', 'c') })
    const list = async (query = {}) =>
      bodyOf(
        await client.listDeviceApps({ params: { deviceId: id }, query: { includeTotalCount: true, ...query } }),
        200,
      )

    const first = await list({ size: 2 })
    const rest = await list({ size: 2, cursor: first.pagination.cursor })
    await report({ serialNumber: 'S-1', ...apps('d', 'b') })
    const replaced = await list()
    const emptied = await report({ serialNumber: 'S-1', appList: [] })

    expect(first.pagination.totalCount).toBe(3)
    expect([...first.data, ...rest.data].map(({ installedApp }) => installedApp)).toEqual(['a 1', 'b 1', 'c 1'])
    expect(replaced.data.map(({ installedApp }) => installedApp)).toEqual(['b 1', 'd 1'])
    expect(replaced.data[0]?.id).toBe(first.data[1]?.id)
    expect(emptied.appsCount).toBe(0)
  })

  test('lists are filtered, and expand like a single device', async () => {
    const { client, connectionId, nora, tom, report } = await inventory()
    const other = await newMdmConnection(client)
    const one = await report({ serialNumber: 'S-1', macAddress: 'aa:01', externalId: 'E-1' })
    const two = await report({ personnelId: tom.id, serialNumber: 'S-2' })
    const three = await report({ personnelId: tom.id, serialNumber: 'S-1' }, other)
    const all = async (query: Parameters<typeof client.listDevices>[0]['query']) =>
      bodyOf(await client.listDevices({ query: { includeTotalCount: true, ...query } }), 200)
    const ids = async (query: Parameters<typeof client.listDevices>[0]['query']) =>
      (await all(query)).data.map(({ id }) => id)

    expect(await ids({})).toEqual([one.id, two.id, three.id])
    expect(await ids({ sortDir: 'DESC', sort: 'updatedAt' })).toEqual([three.id, two.id, one.id])
    expect(await ids({ serialNumber: 'S-1' })).toEqual([one.id, three.id])
    expect(await ids({ macAddress: 'aa:01' })).toEqual([one.id])
    expect(await ids({ externalId: 'E-1' })).toEqual([one.id])
    expect(await ids({ personnelId: tom.id })).toEqual([two.id, three.id])
    expect(await ids({ personnelId: tom.id, serialNumber: 'S-1' })).toEqual([three.id])
    expect(await ids({ personnelId: unknown })).toEqual([])
    expect(await ids({ sourceType: 'CUSTOM' })).toHaveLength(3)
    expect(await ids({ sourceType: 'JAMF' })).toEqual([])
    const expanded = await all({ 'expand[]': ['asset', 'identifiers', 'complianceChecks', 'documents'], size: 1 })
    expect(expanded).toMatchObject({
      data: [{ id: one.id, asset: { id: one.assetId }, isDeviceCompliant: false, documents: [] }],
      pagination: { totalCount: 3 },
    })
    const ofPerson = await client.listDevicesForPersonnel({ params: { personnelId: nora.id }, query: {} })
    expect(bodyOf(ofPerson, 200).data).toEqual([one])
    const ofConnection = await client.listDevicesForConnection({
      params: { connectionId },
      query: { personnelId: tom.id },
    })
    expect(bodyOf(ofConnection, 200).data).toEqual([two])
  })

  test('a changed device changes its asset, which keeps values from other writes', async () => {
    const { client, tom, report } = await inventory()
    const { assetId } = await report({ serialNumber: 'S-1', model: 'Air' })
    const params = { assetId: assetId ?? 0 }
    await client.updateAsset({ params, body: { name: 'Spare', notes: 'in the cupboard' } })
    opened.clock.advance(minuteMs)

    await report({ serialNumber: 'S-1', platformVersion: '15.0', personnelId: tom.id })
    const moved = bodyOf(await client.getAsset({ params, query: { 'expand[]': ['owner'] } }), 200)
    await report({ serialNumber: 'S-1', platformVersion: '15.0', personnelId: tom.id, alias: "Tom's Mac" })
    const named = bodyOf(await client.getAsset({ params, query: {} }), 200)

    expect(moved).toMatchObject({
      name: 'Spare',
      notes: 'in the cupboard',
      description: 'MACOS 15.0',
      associatedId: 'S-1',
      owner: { id: tom.userId },
      updatedAt: opened.clock.now().toISOString(),
    })
    expect(named.name).toBe("Tom's Mac")
  })

  test('a deleted device is gone with its asset', async () => {
    const { client, connectionId, report } = await inventory()
    const { id, assetId } = await report({ appList: [{ name: 'Mail', version: '1' }] })
    const params = { connectionId, deviceId: id }

    const answers = [
      await client.deleteDevice({ params }),
      await client.deleteDevice({ params }),
      await client.getDevice({ params: { deviceId: id }, query: {} }),
      await client.listDeviceApps({ params: { deviceId: id }, query: {} }),
      await client.getAsset({ params: { assetId: assetId ?? 0 }, query: {} }),
    ]

    expect(answers.map(({ status }) => status)).toEqual([204, 404, 404, 404, 404])
    expect(bodyOf(await client.listDevices({ query: {} }), 200).data).toEqual([])
  })

  test('each write leaves its event', async () => {
    const { client, connectionId, tom, report, events } = await inventory()
    const { id } = await report({ serialNumber: 'S-1' })
    await report({ serialNumber: 'S-1', encryptionEnabled: true })
    await report({ serialNumber: 'S-1', personnelId: tom.id })
    await client.deleteDevice({ params: { connectionId, deviceId: id } })

    const recorded = await events()

    expect(recorded.map(({ type }) => type)).toEqual([
      'DEVICE_LINKED',
      'MDM_USER_DATA_UPDATED',
      'DEVICE_LINKED',
      'DEVICE_DELETED',
    ])
    expect(recorded[0]).toMatchObject({
      connection_id: connectionId,
      metadata: { targetEntity: { kind: 'device', id } },
    })
  })

  test.each<[string, object]>([
    ['no person', { personnelId: undefined }],
    ['a person without a prefix', { personnelId: 'nora@acme.example' }],
    ['an unknown platform', { platformName: 'BEOS' }],
    ['no version', { platformVersion: undefined }],
    ['an empty serial number', { serialNumber: '' }],
    ['null for a serial number', { serialNumber: null }],
    ['a NUL character in a key', { externalId: 'a\0b' }],
    ['a serial number of 192 characters', { serialNumber: 's'.repeat(192) }],
    ['a setting in words', { antivirusEnabled: 'yes' }],
    ['a number as an explanation', { antivirusExplanation: 7 }],
    ['an explanation of 30001 characters', { antivirusExplanation: 'e'.repeat(30_001) }],
    ['an explanation with half of a surrogate pair', { antivirusExplanation: { why: '\ud800' } }],
    ['an explanation nested beyond reason', { antivirusExplanation: nested(500) }],
    ['an explanation as large as a page', { antivirusExplanation: { why: 'e'.repeat(30_000) } }],
    ['an app without a version', { appList: [{ name: 'Mail' }] }],
    ['a service without a status', { windowsServices: [{ name: 's', description: 'd', startType: 'auto' }] }],
  ])('%s is refused with 400 and leaves nothing behind', async (_what, wrong) => {
    const { client, connectionId, device } = await inventory()

    const body = { ...device(), ...wrong } as DeviceUpload
    const answer = await client.upsertDevice({ params: { connectionId }, body })

    expect(answer.status).toBe(400)
    expect(bodyOf(await client.listAssets({ query: {} }), 200).data).toEqual([])
  })

  test('a body beyond the limit is refused with 413', async () => {
    const { client, connectionId, device } = await inventory()
    const appList = Array.from({ length: 60_000 }, () => ({ name: 'a'.repeat(180), version: '1' }))

    const answer = await client.upsertDevice({ params: { connectionId }, body: device({ appList }) })

    expect(answer.status).toBe(413)
  })

  test('unknown ids and those of another account or kind are refused', async () => {
    const mine = await inventory()
    const theirs = await inventory()
    const { client, connectionId } = mine
    const hris = await newHrisConnection(client)
    const own = await mine.report()
    const foreign = await theirs.report()
    const second = await newMdmConnection(client)

    const statuses = async (answers: Promise<{ status: unknown }>[]) =>
      (await Promise.all(answers)).map(({ status }) => status)
    const send = (id: number, overrides: Partial<DeviceUpload> = {}) =>
      client.upsertDevice({ params: { connectionId: id }, body: mine.device(overrides) })
    const remove = (id: number, deviceId: number) => client.deleteDevice({ params: { connectionId: id, deviceId } })

    expect(await statuses([send(unknown), send(theirs.connectionId), send(hris)])).toEqual([404, 404, 400])
    expect(
      await statuses([
        send(connectionId, { personnelId: unknown }),
        send(connectionId, { personnelId: theirs.nora.id }),
        send(connectionId, { personnelId: 'email:nobody@acme.example' }),
        send(connectionId, { personnelId: 'email:\0' }),
      ]),
    ).toEqual([404, 404, 404, 404])
    expect(
      await statuses([
        remove(connectionId, foreign.id),
        remove(theirs.connectionId, foreign.id),
        remove(second, own.id),
        remove(hris, own.id),
      ]),
    ).toEqual([404, 404, 404, 400])
    expect(
      await statuses([
        client.getDevice({ params: { deviceId: foreign.id }, query: {} }),
        client.listDeviceApps({ params: { deviceId: foreign.id }, query: {} }),
        client.listDevicesForPersonnel({ params: { personnelId: theirs.nora.id }, query: {} }),
        client.listDevicesForConnection({ params: { connectionId: theirs.connectionId }, query: {} }),
        client.listDevicesForConnection({ params: { connectionId: hris }, query: {} }),
        client.listDevices({ query: { cursor: 'nonsense' } }),
        client.listDevicesForPersonnel({ params: { personnelId: mine.nora.id }, query: { cursor: 'nonsense' } }),
      ]),
    ).toEqual([404, 404, 404, 404, 400, 400, 400])
    expect(bodyOf(await theirs.client.listDevices({ query: {} }), 200).data).toEqual([foreign])
  })
})

function nested(depth: number): unknown {
  return JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`)
}
