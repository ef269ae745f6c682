import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SeedDocument } from '../../../src/platform/seed/document.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { newDemandingCompany } from '../helpers/demanding-companies.ts'
import { newVisitor, signedIn } from '../helpers/page-visitors.ts'
import { base64Picture, png } from '../helpers/pictures.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

describe.each(databases)('the page of a person on $name', ({ createDatabase }) => {
  let opened: TestPlatform

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  const hostile = `"><img src=x onerror=alert(1)>.png`

  async function open() {
    const company = await newDemandingCompany(opened, { policies: [{ name: 'Read <me>', assignedTo: 'ALL' }] })
    const { client, ana, report, name, id } = company
    const device = await report(ana.id, { alias: 'Laptop <1>' })
    const userPath = { userId: ana.userId }
    const about = { params: userPath, body: { type: 'SEC_TRAINING' as const, base64File: base64Picture(hostile) } }
    bodyOf(await client.createUserDocument(about), 201)
    const settings = { type: 'ANTIVIRUS_EVIDENCE' as const, base64File: base64Picture('settings.png') }
    bodyOf(await client.createDeviceDocument({ params: { deviceId: device.id }, body: settings }), 201)
    const visitor = await signedIn(opened, name)
    return { ...company, visitor, path: `/personnel/person?account=${id}&person=${ana.id}` }
  }

  test('shows checks, documents and policies, and is linked from the list', async () => {
    const { visitor, path } = await open()

    const list = await visitor.get('/personnel')
    const { status, text } = await visitor.get(path)

    expect(list.text).toContain(path.replace('&', '&amp;'))
    expect(status).toBe(200)
    const rows = [...text.matchAll(/<tr role="row"><th role="rowheader".*?<\/tr>/gs)].map(([row]) =>
      row
        .replaceAll(/<[^>]*>/g, ' ')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    )
    expect(rows).toEqual(
      expect.arrayContaining([
        'Security training Compliant 2 Mar 2026 3 Mar 2027',
        'HIPAA training Not compliant',
        'Antivirus Compliant',
        'settings.png Antivirus Laptop &lt;1&gt; 2 Mar 2026 No expiry',
        'Read &lt;me&gt; 1 Not yet',
      ]),
    )
    expect(text).not.toContain('<img src=x')
  })

  test('shows what edits by hand, groups and custom fields say of the person', async () => {
    const { name, client, ana, visitor, path } = await open()
    const entitlements = ['CUSTOM_FIELDS_AND_FORMULAS']
    const field = { type: 'TEXT', entityTypes: ['PERSONNEL'] }
    const customFields = [
      { ...field, name: 'Desk <no>' },
      { ...field, name: 'Secret', hidden: true },
    ]
    const account = { name, entitlements, termsAcceptedAt: null, customFields }
    await opened.operator.seed({ body: SeedDocument.parse({ accounts: [account] }) })
    const provider = { name: 'Okta', clientType: 'OKTA_IDENTITY' }
    const group = { externalId: 'eng', name: 'R&D', members: ['ana@acme.example'] }
    await opened.operator.setGroup({ body: { account: name, provider, group } })
    const edit = {
      employmentStatus: 'OUT_OF_SCOPE' as const,
      notHumanReason: 'a <shared> mailbox',
      startedAt: '2024-02-01',
      customFields: [
        { name: 'Desk <no>', value: '"7"' },
        { name: 'Secret', value: 'x' },
      ],
    }
    bodyOf(await client.updatePersonnel({ params: { personnelId: ana.id }, body: edit }), 200)

    const { text } = await visitor.get(path)

    const facts = [...text.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/gs)].map(([, fact, value]) => [
      fact,
      value?.replaceAll(/<[^>]*>/g, ''),
    ])
    expect(facts).toEqual([
      ['Address', 'ana@acme.example'],
      ['Status', 'Out of scope'],
      ['Out of scope because', 'a &lt;shared&gt; mailbox'],
      ['Employed', 'from 1 Feb 2024'],
      ['Roles', 'EMPLOYEE'],
      ['Groups', 'R&amp;D'],
      ['Desk &lt;no&gt;', '&quot;7&quot;'],
    ])
  })

  test('its links fetch the files, also when it has been open for an hour', async () => {
    const { visitor, path } = await open()
    const { text } = await visitor.get(path)
    const hrefs = [...text.matchAll(/<a href="([^"]+document=\d+)"/g)].map(([, href = '']) => href)
    opened.clock.advance(3_600_000)

    const files = await Promise.all(
      hrefs.map(async (href) => {
        const { headers } = await visitor.get(href.replaceAll('&amp;', '&'))
        const response = await fetch(new URL(headers.get('location') ?? '', opened.platform.baseUrl))
        return Buffer.from(await response.arrayBuffer())
      }),
    )

    expect(files).toEqual([png, png])
  })

  test('is shown to operators of the account alone', async () => {
    const [acme, other] = [await open(), await open()]

    const answers = [
      await other.visitor.get(acme.path),
      await other.visitor.get(`/personnel/person?account=${other.id}&person=${acme.ana.id}`),
      await other.visitor.get('/personnel/person'),
      await other.visitor.get(`/personnel/document?account=${other.id}&document=1`),
      await acme.visitor.get(`/personnel/document?account=${acme.id}&document=987654`),
      await newVisitor(opened).get(acme.path),
      await newVisitor(opened).get(`/personnel/document?account=${acme.id}&document=1`),
    ]

    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404, 303, 303])
    expect(answers.at(-1)?.headers.get('location')).toBe('/personnel/sign-in')
  })
})
