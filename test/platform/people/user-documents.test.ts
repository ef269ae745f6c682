import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases } from '../../helpers/servers/databases.ts'
import { newDemandingCompany } from '../helpers/demanding-companies.ts'
import { base64Picture, png } from '../helpers/pictures.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

const dayMs = 24 * 3_600_000
const types = ['MFA_EVIDENCE', 'SEC_TRAINING', 'HIPAA_TRAINING_EVIDENCE', 'OFFBOARDING_EVIDENCE'] as const
type DocumentType = (typeof types)[number]

describe.each(databases)('documents of users on $name', ({ createDatabase }) => {
  let opened: TestPlatform

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  async function open(demands: Parameters<typeof newDemandingCompany>[1] = {}) {
    const company = await newDemandingCompany(opened, demands)
    const { client, name, ana } = company
    const params = { userId: ana.userId }
    const { key } = await opened.operator.createKey({ body: { account: name, name: 'raw', permissions: 'all' } })
    return {
      ...company,
      params,
      upload: (type: DocumentType, fields: object = {}, userId = ana.userId) =>
        client.createUserDocument({
          params: { userId },
          body: { type, base64File: base64Picture('proof.png'), ...fields },
        }),
      /** Sends a form, as a browser does. */
      post: (form: FormData) =>
        fetch(`${opened.platform.baseUrl}/users/${ana.userId}/documents`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}` },
          body: form,
        }),
    }
  }

  test('a document is listed, read and deleted, and leaves events', async () => {
    const { client, params, upload, events } = await open()
    const completionDate = '2026-02-01T10:00:00.000Z'

    const made = bodyOf(await upload('SEC_TRAINING', { completionDate }), 201)

    const now = opened.clock.now().toISOString()
    const { userId } = params
    expect(made).toEqual({
      id: expect.any(Number),
      userId,
      name: 'proof.png',
      type: 'SEC_TRAINING',
      fileUrl: null,
      renewalDate: '2027-02-01',
      createdAt: now,
      updatedAt: now,
    })
    const document = { userId, documentId: made.id }
    expect(bodyOf(await client.listUserDocuments({ params, query: {} }), 200).data).toEqual([made])
    expect(bodyOf(await client.getUserDocument({ params: document, query: {} }), 200)).toEqual(made)
    const user = bodyOf(await client.getUser({ params, query: { 'expand[]': ['documents'] } }), 200)
    expect(user.documents).toEqual([made])

    expect((await client.deleteUserDocument({ params: document })).status).toBe(200)

    expect(bodyOf(await client.listUserDocuments({ params, query: {} }), 200).data).toEqual([])
    expect((await client.getUserDocument({ params: document, query: {} })).status).toBe(404)
    expect((await client.deleteUserDocument({ params: document })).status).toBe(404)
    expect((await events()).slice(0, 2)).toEqual(['USER_DOCUMENT_DELETED', 'USER_DOCUMENT_UPLOADED'])
  })

  test('a list is narrowed by type and by a part of the name, in any case', async () => {
    const { client, params, upload } = await open()
    await upload('SEC_TRAINING', { base64File: base64Picture('Ünterweisung 100%.png') })
    await upload('MFA_EVIDENCE', { base64File: base64Picture('key.png') })
    const named = async (query: object) =>
      bodyOf(await client.listUserDocuments({ params, query }), 200).data.map(({ name }) => name)

    expect(await named({ type: 'MFA_EVIDENCE' })).toEqual(['key.png'])
    expect(await named({ name: 'üNTER' })).toEqual(['Ünterweisung 100%.png'])
    expect(await named({ name: '0%.' })).toEqual(['Ünterweisung 100%.png'])
    expect(await named({ name: '_' })).toEqual([])
    expect(await named({ name: 'key', type: 'SEC_TRAINING' })).toEqual([])
  })

  test.each([
    ['SEC_TRAINING', 'SECURITY_TRAINING'],
    ['HIPAA_TRAINING_EVIDENCE', 'HIPAA_TRAINING'],
    ['MFA_EVIDENCE', 'IDENTITY_MFA'],
  ] as const)('%s makes %s pass until the document is deleted', async (type, check) => {
    const { client, params, ana, bo, upload, checksOf } = await open()
    const before = await checksOf(ana.id)

    const { id } = bodyOf(await upload(type), 201)

    const after = await checksOf(ana.id)
    expect([before[check], after[check]]).toEqual(['FAIL', 'PASS'])
    expect({ ...after, [check]: 'FAIL' }).toEqual(before)
    expect((await checksOf(bo.id))[check]).toBe('FAIL')
    await client.deleteUserDocument({ params: { ...params, documentId: id } })
    expect(await checksOf(ana.id)).toEqual(before)
  })

  test('a training that is a year old proves nothing any more, from the sync of the next day on', async () => {
    const { ana, upload, checksOf, sync } = await open()
    await upload('SEC_TRAINING', { completionDate: '2025-03-02T23:00:00.000Z' })
    const onTheLastDay = await checksOf(ana.id)

    opened.clock.advance(dayMs)
    await sync()

    expect(onTheLastDay.SECURITY_TRAINING).toBe('PASS')
    expect((await checksOf(ana.id)).SECURITY_TRAINING).toBe('FAIL')
    opened.clock.advance(-dayMs)
  })

  test('what the company does not demand is no check; the end of an employment is one of leavers', async () => {
    const { ana, upload, checksOf, send, sync } = await open({ hipaaTraining: 'NOT_REQUIRED' })
    expect(await checksOf(ana.id)).not.toHaveProperty('HIPAA_TRAINING')
    expect(await checksOf(ana.id)).not.toHaveProperty('OFFBOARDING')
    await send([{ identityId: 'a', separatedAt: '2026-02-01T00:00:00Z' }])
    await sync()
    const asLeaver = await checksOf(ana.id)

    await upload('OFFBOARDING_EVIDENCE')

    expect(asLeaver).toEqual({ FULL_COMPLIANCE: 'EXCLUDED', BG_CHECK: 'EXCLUDED', OFFBOARDING: 'FAIL' })
    expect((await checksOf(ana.id)).OFFBOARDING).toBe('PASS')
  })

  test('a form carries a file as well as base64 does', async () => {
    const { post, client, params } = await open()
    const form = new FormData()
    form.set('type', 'MFA_EVIDENCE')
    form.set('completionDate', '2026-01-31T00:00:00Z')
    form.set('file', new File([png], 'second factor.PNG', { type: 'text/html' }))

    const response = await post(form)

    expect([response.status, await response.json()]).toEqual([
      201,
      expect.objectContaining({ name: 'second factor.PNG', renewalDate: '2027-01-31' }),
    ])
    expect(bodyOf(await client.listUserDocuments({ params, query: {} }), 200).data).toHaveLength(1)
  })

  test('a file is fetched under a signed address, as what its content is', async () => {
    const { client, params, upload } = await open()
    const name = `o'Brien "*(1)"\u202e;\u{1f600}.png`
    const { id } = bodyOf(await upload('MFA_EVIDENCE', { base64File: base64Picture(name) }), 201)
    const query = { 'expand[]': ['downloadUrl' as const] }
    const { downloadUrl } = bodyOf(await client.getUserDocument({ params: { ...params, documentId: id }, query }), 200)
    const url = downloadUrl?.signedUrl ?? ''

    const response = await fetch(url)

    expect(response.status).toBe(200)
    expect(Buffer.from(await response.arrayBuffer())).toEqual(png)
    const { headers } = response
    expect(headers.get('content-type')).toBe('image/png')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; sandbox")
    expect(headers.get('cache-control')).toBe('private, no-store')
    const disposition = headers.get('content-disposition') ?? ''
    expect(disposition).toMatch(/^attachment; filename\*=UTF-8''[\w%.-]+$/)
    expect(decodeURIComponent(disposition.split("''")[1] ?? '')).toBe(name)
    const tampered = `${url.slice(0, -1)}${url.endsWith('A') ? 'B' : 'A'}`
    expect([(await fetch(tampered)).status, (await fetch(`${url}x`)).status]).toEqual([404, 404])
    opened.clock.advance(10 * 60_000 + 1)
    expect((await fetch(url)).status).toBe(404)
  })

  test('the address of a deleted document leads nowhere', async () => {
    const { client, params, upload } = await open()
    const { id } = bodyOf(await upload('MFA_EVIDENCE'), 201)
    const query = { 'expand[]': ['downloadUrl' as const] }
    const [document] = bodyOf(await client.listUserDocuments({ params, query }), 200).data

    await client.deleteUserDocument({ params: { ...params, documentId: id } })

    expect((await fetch(document?.downloadUrl?.signedUrl ?? '')).status).toBe(404)
  })

  const html = Buffer.from('<html><script>alert(1)</script></html>')
  const program = Buffer.from('4d5a90000300000004000000ffff0000b800000000000000', 'hex')
  test.each<[string, object, RegExp]>([
    ['no file', { base64File: undefined }, /one of file and base64File/],
    ['a page under the name of a picture', { base64File: base64Picture('a.png', html) }, /none of .pdf, .docx/],
    ['a program', { base64File: base64Picture('a.pdf', program) }, /none of .pdf/],
    ['a picture under the name of a page', { base64File: base64Picture('a.html') }, /must end with .png/],
    ['a picture under the name of a PDF', { base64File: base64Picture('a.pdf') }, /must end with .png/],
    ['a file that is cut off', { base64File: base64Picture('a.png', png.subarray(0, 4)) }, /none of/],
    ['an empty file', { base64File: base64Picture('a.png', Buffer.alloc(0)) }, /is empty/],
    ['no base64', { base64File: JSON.stringify({ filename: 'a.png', base64String: 'not base64!' }) }, /not encoded/],
    ['a list', { base64File: '[]' }, /base64File/],
    ['a name too long', { base64File: base64Picture(`${'x'.repeat(190)}.png`) }, /base64File/],
    ['a date to come', { completionDate: '2026-12-31T00:00:00Z' }, /future/],
  ])('%s is refused, and nothing is stored', async (_what, fields, reason) => {
    const { client, params, upload } = await open()

    const answer = await upload('SEC_TRAINING', fields)

    expect(answer).toMatchObject({ status: 400, error: { message: expect.stringMatching(reason) } })
    expect(bodyOf(await client.listUserDocuments({ params, query: {} }), 200).data).toEqual([])
  })

  test('a form with two files, or with a file as text, is refused', async () => {
    const { post } = await open()
    const two = new FormData()
    two.set('type', 'MFA_EVIDENCE')
    for (const name of ['a.png', 'b.png']) two.append('file', new File([png], name))
    const text = new FormData()
    text.set('type', 'MFA_EVIDENCE')
    text.set('file', 'a.png')

    const statuses = [(await post(two)).status, (await post(text)).status]

    expect(statuses).toEqual([400, 400])
  })

  test('a user has a hundred documents at most', async () => {
    const { client, params, upload } = await open()
    const { db } = opened.platform.database
    const { id } = bodyOf(await upload('SEC_TRAINING'), 201)
    const { id: _, ...row } = await db
      .selectFrom('documents')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    const { changed_in: __, ...copy } = { ...row, changed_in: undefined }
    await db
      .insertInto('documents')
      .values(Array.from({ length: 98 }, () => copy))
      .execute()

    const statuses = [(await upload('SEC_TRAINING')).status, (await upload('SEC_TRAINING')).status]
    await client.deleteUserDocument({ params: { ...params, documentId: id } })

    expect(statuses).toEqual([201, 400])
    expect((await upload('SEC_TRAINING')).status).toBe(201)
  })

  test('a document is that of its user and account alone', async () => {
    const [acme, other] = [await open(), await open()]
    const { id } = bodyOf(await acme.upload('SEC_TRAINING'), 201)
    const { ana, bo } = acme

    const answers = [
      await acme.client.getUserDocument({ params: { userId: bo.userId, documentId: id }, query: {} }),
      await acme.client.deleteUserDocument({ params: { userId: bo.userId, documentId: id } }),
      await other.client.getUserDocument({ params: { userId: ana.userId, documentId: id }, query: {} }),
      await other.client.listUserDocuments({ params: { userId: ana.userId }, query: {} }),
      await other.upload('SEC_TRAINING', {}, ana.userId),
    ]

    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404])
  })
})
