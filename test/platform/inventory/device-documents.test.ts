import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases } from '../../helpers/servers/databases.ts'
import { newDemandingCompany } from '../helpers/demanding-companies.ts'
import { base64Picture } from '../helpers/pictures.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

const evidence = [
  ['PASSWORD_MANAGER_EVIDENCE', 'PASSWORD_MANAGER', 'passwordManagerEnabled'],
  ['AUTO_UPDATES_EVIDENCE', 'AUTO_UPDATES', 'autoUpdateEnabled'],
  ['HARD_DRIVE_ENCRYPTION_EVIDENCE', 'HDD_ENCRYPTION', 'encryptionEnabled'],
  ['ANTIVIRUS_EVIDENCE', 'ANTIVIRUS', 'antivirusEnabled'],
  ['LOCK_SCREEN_EVIDENCE', 'LOCK_SCREEN', 'screenLockEnabled'],
] as const
type Evidence = (typeof evidence)[number][0]

describe.each(databases)('documents of devices on $name', ({ createDatabase }) => {
  let opened: TestPlatform

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  async function open() {
    const company = await newDemandingCompany(opened)
    const { client, ana, report } = company
    const device = await report(ana.id)
    const params = { deviceId: device.id }
    return {
      ...company,
      params,
      upload: (type: Evidence, deviceId = device.id) =>
        client.createDeviceDocument({
          params: { deviceId },
          body: { type, base64File: base64Picture('settings.png') },
        }),
      deviceChecks: async () => {
        const query = { 'expand[]': ['complianceChecks' as const, 'documents' as const] }
        const {
          complianceChecks = [],
          isDeviceCompliant,
          documents,
        } = bodyOf(await client.getDevice({ params, query }), 200)
        return {
          isDeviceCompliant,
          documents,
          checks: Object.fromEntries(complianceChecks.map(({ type, status }) => [type, status])),
        }
      },
    }
  }

  test('a document is listed, read and deleted, and leaves events', async () => {
    const { client, params, upload, deviceChecks, events } = await open()

    const made = bodyOf(await upload('ANTIVIRUS_EVIDENCE'), 201)

    const now = opened.clock.now().toISOString()
    const times = { createdAt: now, updatedAt: now }
    expect(made).toEqual({
      id: expect.any(Number),
      type: 'ANTIVIRUS_EVIDENCE',
      name: 'settings.png',
      fileUrl: null,
      ...times,
    })
    const document = { ...params, documentId: made.id }
    const list = async (query: object) => bodyOf(await client.listDeviceDocuments({ params, query }), 200).documents
    expect(await list({})).toEqual([made])
    expect(await list({ type: 'LOCK_SCREEN_EVIDENCE' })).toEqual([])
    expect(bodyOf(await client.getDeviceDocument({ params: document, query: {} }), 200)).toEqual(made)
    expect((await deviceChecks()).documents).toEqual([made])
    const [{ downloadUrl } = made] = await list({ 'expand[]': ['downloadUrl'] })
    expect((await fetch(downloadUrl?.signedUrl ?? '')).status).toBe(200)

    expect((await client.deleteDeviceDocument({ params: document })).status).toBe(200)

    expect(await list({})).toEqual([])
    expect((await client.deleteDeviceDocument({ params: document })).status).toBe(404)
    expect((await events()).slice(0, 2)).toEqual(['DEVICE_DOCUMENT_DELETED', 'DEVICE_DOCUMENT_UPLOADED'])
  })

  test.each(evidence)('%s makes %s pass for the device and its owner, until it is deleted', async (type, check) => {
    const { client, params, ana, upload, deviceChecks, checksOf } = await open()
    const before = [(await deviceChecks()).checks[check], (await checksOf(ana.id))[check]]

    const { id } = bodyOf(await upload(type), 201)

    const after = [(await deviceChecks()).checks[check], (await checksOf(ana.id))[check]]
    await client.deleteDeviceDocument({ params: { ...params, documentId: id } })
    const afterwards = [(await deviceChecks()).checks[check], (await checksOf(ana.id))[check]]
    expect([before, after, afterwards]).toEqual([
      ['MISCONFIGURED', 'FAIL'],
      ['PASS', 'PASS'],
      ['MISCONFIGURED', 'FAIL'],
    ])
  })

  test('a document outweighs a setting that is off, and all five make the device compliant', async () => {
    const { ana, report, upload, deviceChecks } = await open()
    await report(ana.id, { antivirusEnabled: false })
    const before = await deviceChecks()

    for (const [type] of evidence) await upload(type)

    expect([before.checks.ANTIVIRUS, before.isDeviceCompliant]).toEqual(['FAIL', false])
    expect(await deviceChecks()).toMatchObject({ isDeviceCompliant: true, checks: { ANTIVIRUS: 'PASS' } })
  })

  test('a person passes if every device does; one that is moved or deleted counts no more', async () => {
    const { client, ana, bo, report, upload, checksOf, mdmConnectionId } = await open()
    const statuses = async () => [(await checksOf(ana.id)).ANTIVIRUS, (await checksOf(bo.id)).ANTIVIRUS]
    await upload('ANTIVIRUS_EVIDENCE')
    const withOne = await statuses()
    const second = await report(ana.id, { serialNumber: 'second', antivirusEnabled: false })
    const withTwo = await statuses()
    await report(bo.id, { serialNumber: 'second', antivirusEnabled: true })
    const moved = await statuses()
    await client.deleteDevice({ params: { connectionId: mdmConnectionId, deviceId: second.id } })
    const deleted = await statuses()
    await client.deleteCustomConnection({ params: { connectionId: mdmConnectionId } })

    expect([withOne, withTwo, moved, deleted]).toEqual([
      ['PASS', 'FAIL'],
      ['FAIL', 'FAIL'],
      ['PASS', 'PASS'],
      ['PASS', 'FAIL'],
    ])
    expect(await statuses()).toEqual(['FAIL', 'FAIL'])
  })

  test('a device of another account has no documents for the caller', async () => {
    const [acme, other] = [await open(), await open()]
    const { id } = bodyOf(await acme.upload('ANTIVIRUS_EVIDENCE'), 201)
    const { deviceId } = acme.params

    const answers = [
      await other.client.listDeviceDocuments({ params: { deviceId }, query: {} }),
      await other.client.getDeviceDocument({ params: { deviceId, documentId: id }, query: {} }),
      await other.client.getDeviceDocument({ params: { ...other.params, documentId: id }, query: {} }),
      await other.client.deleteDeviceDocument({ params: { deviceId, documentId: id } }),
      await other.upload('ANTIVIRUS_EVIDENCE', deviceId),
    ]

    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404])
  })
})
