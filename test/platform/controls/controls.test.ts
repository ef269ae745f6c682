import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ControlCreate, ControlExpand } from '../../../src/contract/platform/controls.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { type ControlCompany, newControlCompany, type Thing } from '../helpers/control-company.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

const unknownId = Number.MAX_SAFE_INTEGER
const everything: ControlExpand[] = [
  'customFields',
  'evidenceIds',
  'flags',
  'frameworkTags',
  'owners',
  'requirements',
  'testIds',
  'topics',
]

const files = (...entries: readonly object[]) => JSON.stringify(entries)
const file = { filename: 'a.pdf', base64String: 'AAAA' }

describe.each(databases)('controls on $name', ({ createDatabase }) => {
  let opened: TestPlatform
  let company: ControlCompany
  let stranger: ControlCompany

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
    company = await newControlCompany(opened, 'Acme', ['CUSTOM_FIELDS_AND_FORMULAS'])
    stranger = await newControlCompany(opened, 'Bolt')
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  type Query = NonNullable<Parameters<ControlCompany['client']['listControls']>[0]['query']>
  const list = async (query: Query = {}) =>
    bodyOf(await company.client.listControls({ params: { workspaceId: company.workspaceId }, query }), 200)
  const codes = async (query: Query) => {
    const { data } = await list(query)
    return data.map(({ code }) => code).filter((code) => !code.startsWith('NEW'))
  }
  const get = (controlId: number | `code:${string}`, query = {}, workspaceId = company.workspaceId) =>
    company.client.getControl({ params: { workspaceId, controlId }, query })
  const create = (body: ControlCreate, workspaceId = company.workspaceId) =>
    company.client.createControl({ params: { workspaceId }, body })
  const minimal = (code: string): ControlCreate => ({ name: 'New', description: 'Made by a test.', code })
  const idsOf = (table: Thing, of = company) => of.things(table)

  test('a control is read by its number and by its code', async () => {
    const byNumber = bodyOf(await get(company.controls['LIB-1'] ?? 0), 200)
    const byCode = bodyOf(await get('code:LIB-1'), 200)

    expect(byNumber).toEqual({
      id: company.controls['LIB-1'],
      name: 'Access is reviewed',
      code: 'LIB-1',
      slug: 'access-is-reviewed',
      description: 'What it is for.',
      question: 'How?',
      activity: 'Look at it.',
      archivedAt: null,
      rationale: null,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      controlTemplateId: expect.any(Number),
    })
    expect(byCode).toEqual(byNumber)
    expect(bodyOf(await get('code:OLD-1'), 200)).toMatchObject({
      archivedAt: opened.clock.now().toISOString(),
      rationale: 'No fax.',
      controlTemplateId: null,
    })
  })

  test('every expansion returns what belongs to the control, and only on request', async () => {
    const tests = await idsOf('tests')
    const evidence = await idsOf('evidence')

    const control = bodyOf(await get('code:LIB-1', { 'expand[]': everything }), 200)

    expect(control).toMatchObject({
      frameworkTags: ['SOC_2'],
      topics: ['SECURITY'],
      flags: {
        hasEvidence: true,
        hasPolicy: true,
        isReady: true,
        hasTicket: false,
        hasOwner: true,
        isMonitored: true,
      },
      owners: {
        data: [
          { id: company.users.ana, email: 'ana@acme.example', firstName: 'ana' },
          { id: company.users.ben, email: 'ben@acme.example', firstName: 'ben' },
        ],
        totalCount: 2,
      },
      customFields: [],
      testIds: { passing: [tests.MFA], failing: [], monitored: [tests.MFA] },
      evidenceIds: {
        validExternalEvidenceIds: [],
        invalidExternalEvidenceIds: [],
        validReportIds: [evidence.Review],
        invalidReportIds: [],
      },
    })
    expect(control.requirements).toMatchObject([
      {
        name: 'CC1.1',
        description: 'Integrity.',
        longDescription: 'At length.',
        additionalInfo: 'More.',
        additionalInfo2: null,
        externalId: null,
        frameworkName: 'SOC 2',
        frameworkPill: 'SOC',
        frameworkSlug: 'soc2',
        frameworkTag: 'SOC_2',
        archivedAt: null,
        rationale: null,
      },
      { name: 'CC6.1' },
    ])
  })

  test('a control of which nothing is known has empty expansions, in a list as well', async () => {
    const created = bodyOf(await create(minimal('NEW-EMPTY')), 201)

    const { data } = await list({ 'expand[]': everything, size: 500 })

    expect(data.find(({ id }) => id === created.id)).toEqual({
      ...created,
      frameworkTags: [],
      topics: [],
      flags: {
        hasEvidence: false,
        hasPolicy: false,
        isReady: false,
        hasTicket: false,
        hasOwner: false,
        isMonitored: false,
      },
      owners: { data: [], totalCount: 0 },
      requirements: [],
      customFields: [],
      testIds: { passing: [], failing: [], monitored: [] },
      evidenceIds: {
        validExternalEvidenceIds: [],
        invalidExternalEvidenceIds: [],
        validReportIds: [],
        invalidReportIds: [],
      },
    })
  })

  test.each(['testIds', 'evidenceIds'] as const)('%s brings tests and evidence together', async (expansion) => {
    const control = bodyOf(await get('code:OWN-1', { 'expand[]': [expansion] }), 200)

    const { Letter } = await idsOf('evidence')
    expect(control.testIds).toEqual({ passing: [], failing: [], monitored: [] })
    expect(control.evidenceIds).toMatchObject({ invalidExternalEvidenceIds: [Letter], validExternalEvidenceIds: [] })
  })

  test.each<[Query, string[]]>([
    [{ isMonitored: true }, ['LIB-1']],
    [{ isMonitored: false }, ['LIB-1.1', 'OWN-1', 'OWN-2', 'OLD-1', 'OFF-1']],
    [{ isReady: true }, ['LIB-1', 'OWN-2']],
    [{ isReady: false }, ['LIB-1.1', 'OWN-1', 'OLD-1', 'OFF-1']],
    [{ hasEvidence: true }, ['LIB-1', 'OWN-1', 'OWN-2']],
    [{ hasEvidence: false }, ['LIB-1.1', 'OLD-1', 'OFF-1']],
    [{ hasPolicy: true }, ['LIB-1', 'OFF-1']],
    [{ hasPolicy: false }, ['LIB-1.1', 'OWN-1', 'OWN-2', 'OLD-1']],
    [{ hasPassingTest: true }, ['LIB-1']],
    [{ hasPassingTest: false }, ['LIB-1.1', 'OWN-1', 'OWN-2', 'OLD-1', 'OFF-1']],
    [{ ticketStatus: 'IN_PROGRESS' }, ['OFF-1']],
    [{ ticketStatus: 'ARCHIVED' }, ['OLD-1']],
    [{ isEnabled: false }, ['OFF-1']],
    [{ isEnabled: true }, ['LIB-1', 'LIB-1.1', 'OWN-1', 'OWN-2', 'OLD-1']],
    [{ isArchived: true }, ['OLD-1']],
    [{ isArchived: false }, ['LIB-1', 'LIB-1.1', 'OWN-1', 'OWN-2', 'OFF-1']],
    [{ hasPolicy: true, isEnabled: false }, ['OFF-1']],
    [{ policyId: unknownId }, []],
  ])('the filter %o finds %o', async (query, expected) => {
    expect(await codes(query)).toEqual(expected)
  })

  test('controls are found by a policy, and by none of another account', async () => {
    const policies = await idsOf('policies')
    const theirs = await idsOf('policies', stranger)

    expect(await codes({ policyId: policies['Our Access Policy'] ?? 0 })).toEqual(['LIB-1', 'OFF-1'])
    expect(await codes({ policyId: policies['Spare Policy'] ?? 0 })).toEqual([])
    expect(await codes({ policyId: theirs['Our Access Policy'] ?? 0 })).toEqual([])
  })

  test('a flag agrees with the filter of its name', async () => {
    const { data } = await list({ 'expand[]': ['flags'], size: 500 })

    for (const flag of ['hasEvidence', 'hasPolicy', 'isReady', 'isMonitored'] as const) {
      const filtered = (await list({ [flag]: true, size: 500 })).data.map(({ id }) => id)
      expect(filtered).toEqual(data.filter(({ flags }) => flags?.[flag]).map(({ id }) => id))
    }
  })

  test('a report is valid on its last day and not after it', async () => {
    const { Review } = await idsOf('evidence')
    const before = bodyOf(await get('code:LIB-1', { 'expand[]': ['evidenceIds'] }), 200)
    const now = opened.clock.now().toISOString()

    opened.clock.set('2026-03-03T00:00:00.000Z')
    const after = bodyOf(await get('code:LIB-1', { 'expand[]': ['evidenceIds', 'flags'] }), 200)
    opened.clock.set(now)

    expect(before.evidenceIds).toMatchObject({ validReportIds: [Review], invalidReportIds: [] })
    expect(after.evidenceIds).toMatchObject({ validReportIds: [], invalidReportIds: [Review] })
    expect(after.flags).toMatchObject({ hasEvidence: true, isReady: false })
  })

  test('pages walk the filtered list and count it on the first page', async () => {
    const first = await list({ isReady: true, size: 1, includeTotalCount: true })
    const second = await list({ isReady: true, size: 1, cursor: first.pagination.cursor ?? '' })

    expect(first).toMatchObject({ data: [{ code: 'LIB-1' }], pagination: { totalCount: 2 } })
    expect(second).toMatchObject({ data: [{ code: 'OWN-2' }] })
    const other = await company.client.listControls({
      params: { workspaceId: company.workspaceId },
      query: { isReady: false, cursor: first.pagination.cursor ?? '' },
    })
    expect(other.status).toBe(400)
  })

  test('a control is created with everything that it names', async () => {
    const tests = await idsOf('tests')
    const evidence = await idsOf('evidence')
    const policies = await idsOf('policies')
    const requirements = bodyOf(await get('code:LIB-1', { 'expand[]': ['requirements'] }), 200).requirements ?? []

    const created = bodyOf(
      await create({
        ...minimal('NEW-FULL'),
        name: 'Größe & Höhe',
        question: 'Why?',
        activity: 'Do it.',
        reportIds: [evidence.Review ?? 0],
        policyIds: [policies['Spare Policy'] ?? 0, policies['Spare Policy'] ?? 0],
        requirementIds: requirements.map(({ id }) => id),
        ownersIds: [company.users.ben ?? 0],
        testIds: [tests.MFA ?? 0],
        customFields: [{ name: 'Month', value: 'May' }],
      }),
      201,
    )

    expect(created).toMatchObject({ code: 'NEW-FULL', slug: 'gro-e-ho-he', question: 'Why?', activity: 'Do it.' })
    expect(bodyOf(await get(created.id, { 'expand[]': everything }), 200)).toMatchObject({
      ...created,
      frameworkTags: ['SOC_2'],
      topics: [],
      flags: { hasEvidence: true, hasPolicy: true, isReady: true, hasOwner: true, isMonitored: true },
      owners: { data: [{ id: company.users.ben }], totalCount: 1 },
      testIds: { passing: [tests.MFA] },
      evidenceIds: { validReportIds: [evidence.Review] },
      customFields: [{ name: 'Month', value: 'May' }],
    })
    expect((await company.events('CREATE_CONTROL')).at(-1)).toMatchObject({
      metadata: { targetEntity: { kind: 'control', id: created.id } },
    })
  })

  test('an owners extra shows ten of many', async () => {
    const { db } = opened.platform.database
    const account = await db.selectFrom('accounts').select('id').where('name', '=', 'Acme').executeTakeFirstOrThrow()
    const now = opened.clock.now()
    const users = await db
      .insertInto('users')
      .values(
        Array.from({ length: 12 }, (_, index) => ({
          account_id: account.id,
          email: `many${index}@acme.example`,
          first_name: null,
          last_name: null,
          origin: 'operator' as const,
          created_at: now,
          updated_at: now,
        })),
      )
      .returning('id')
      .execute()
    const ownersIds = users.map((user) => user.id)

    const { id } = bodyOf(await create({ ...minimal('NEW-MANY'), ownersIds }), 201)

    const { owners } = bodyOf(await get(id, { 'expand[]': ['owners'] }), 200)
    expect(owners?.totalCount).toBe(12)
    expect(owners?.data.map((user) => user.id)).toEqual(ownersIds.slice(0, 10))
  })

  test('a code is given once in a workspace, also to requests at the same time', async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => create(minimal('NEW-RACE'))))
    const elsewhere = await create(minimal('NEW-RACE'), company.otherWorkspaceId)

    expect(answers.map(({ status }) => Number(status)).sort()).toEqual([201, 400, 400, 400, 400])
    expect(elsewhere.status).toBe(201)
    const events = (await company.events('CREATE_CONTROL')).filter(({ description }) => description.includes('RACE'))
    expect(events).toHaveLength(2)
  })

  test.each(['reportIds', 'policyIds', 'requirementIds', 'ownersIds', 'testIds'] as const)(
    'an unknown id in %s is 404 and leaves nothing behind',
    async (field) => {
      const before = (await list({ includeTotalCount: true })).pagination.totalCount

      const answer = await create({ ...minimal('NEW-NONE'), [field]: [unknownId] })

      expect(answer.status).toBe(404)
      expect((await list({ includeTotalCount: true })).pagination.totalCount).toBe(before)
    },
  )

  test('rows of another account or workspace are unknown, and external evidence is no report', async () => {
    const theirPolicies = await idsOf('policies', stranger)
    const theirTests = await idsOf('tests', stranger)
    const tests = await idsOf('tests')
    const evidence = await idsOf('evidence')

    const answers = [
      await create({ ...minimal('NEW-THEIRS'), policyIds: [theirPolicies['Spare Policy'] ?? 0] }),
      await create({ ...minimal('NEW-THEIRS'), testIds: [theirTests.MFA ?? 0] }),
      await create({ ...minimal('NEW-THEIRS'), ownersIds: [stranger.users.ana ?? 0] }),
      await create({ ...minimal('NEW-THEIRS'), testIds: [tests.MFA ?? 0] }, company.otherWorkspaceId),
      await create({ ...minimal('NEW-THEIRS'), reportIds: [evidence.Certificate ?? 0] }),
    ]

    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404])
  })

  test.each<[string, Record<string, unknown>]>([
    ['no name', { name: undefined }],
    ['an empty name', { name: '' }],
    ['a name of 192 characters', { name: 'n'.repeat(192) }],
    ['no code', { code: undefined }],
    ['a code of 21 characters', { code: 'c'.repeat(21) }],
    ['a NUL character in the code', { code: 'A\0' }],
    ['half of a surrogate pair in the description', { description: '\ud800' }],
    ['a description of 30001 characters', { description: 'd'.repeat(30_001) }],
    ['a question of 769 characters', { question: 'q'.repeat(769) }],
    ['an id that is no number', { policyIds: ['1'] }],
    ['an id beyond all numbers', { policyIds: [1e300] }],
    ['a list of files that is no JSON', { base64Files: 'AAAA' }],
    ['a file that is not encoded in base64', { base64Files: files({ filename: 'a.pdf', base64String: 'a-b' }) }],
    ['an empty file', { base64Files: files({ filename: 'a.pdf', base64String: '' }) }],
    ['a file without a name', { base64Files: files({ base64String: 'AAAA' }) }],
    ['more files than twenty', { base64Files: files(...Array.from({ length: 21 }, () => file)) }],
    ['a file outside of a form', { externalEvidence: ['AAAA'] }],
    ['what is known of a file that is not there', { externalEvidenceMetadata: files({ originalFile: 'a.pdf' }) }],
    [
      'a renewal on no day',
      { base64Files: files(file), externalEvidenceMetadata: files({ originalFile: 'a.pdf', renewalDate: 'soon' }) },
    ],
    ['a field that the account does not have', { customFields: [{ name: 'Year', value: '1' }] }],
  ])('%s is refused with 400', async (_what, change) => {
    const answer = await create({ ...minimal('NEW-BAD'), ...change } as ControlCreate)

    expect(answer.status).toBe(400)
  })

  test('files arrive as base64 with a control and prove it until they expire', async () => {
    const today = opened.clock.now().toISOString().slice(0, 10)
    const base64Files = files(
      { filename: 'now.pdf', base64String: Buffer.from('now').toString('base64') },
      { filename: 'past.pdf', base64String: 'data:application/pdf;base64,cGFzdA' },
      { filename: 'ever.txt', base64String: 'data:text/plain;charset=utf-8;base64,ZXZlcg==' },
    )
    const externalEvidenceMetadata = files(
      { originalFile: 'now.pdf', name: 'Review', renewalDate: today, description: 'Signed.' },
      { originalFile: 'past.pdf', creationDate: '2020-07-06 12:00:00.000000', renewalScheduleType: 'ONE_YEAR' },
    )

    const created = bodyOf(await create({ ...minimal('NEW-FILES'), base64Files, externalEvidenceMetadata }), 201)

    const read = bodyOf(await get(created.id, { 'expand[]': ['evidenceIds', 'flags'] }), 200)
    expect(read.flags).toMatchObject({ hasEvidence: true })
    expect(await filesOf(created.id)).toEqual([
      { name: 'Review', filename: 'now.pdf', media_type: 'application/octet-stream', text: 'now', until: today },
      { name: 'past.pdf', filename: 'past.pdf', media_type: 'application/pdf', text: 'past', until: '2021-07-06' },
      { name: 'ever.txt', filename: 'ever.txt', media_type: 'text/plain', text: 'ever', until: null },
    ])
    expect(read.evidenceIds).toMatchObject({
      validExternalEvidenceIds: [expect.any(Number), expect.any(Number)],
      invalidExternalEvidenceIds: [expect.any(Number)],
      validReportIds: [],
    })
  })

  test('evidence whose renewal would lie after the year 9999 is refused with 400', async () => {
    const body = {
      ...minimal('NEW-LATE'),
      base64Files: files({ filename: 'a.pdf', base64String: 'cGFzdA==' }),
      externalEvidenceMetadata: files({
        originalFile: 'a.pdf',
        creationDate: '9999-12-31',
        renewalScheduleType: 'ONE_MONTH',
      }),
    }

    expect(await create(body)).toMatchObject({
      status: 400,
      error: { message: expect.stringContaining('after the year 9999') },
    })
  })

  test('files arrive in a form with a control, whose lists are repeated fields or JSON', async () => {
    const policies = Object.values(await idsOf('policies'))
    const form = new FormData()
    for (const [name, value] of Object.entries(minimal('NEW-FORM'))) form.append(name, value)
    for (const id of policies) form.append('policyIds[]', String(id))
    form.append('ownersIds', JSON.stringify([company.users.ana]))
    form.append('externalEvidence', new File([Buffer.from([0, 255, 13, 10])], 'Prüfung.bin'))
    form.append('externalEvidence', new File(['two'], 'a.pdf', { type: 'application/pdf' }))

    const answer = await send(form)

    expect(answer.status).toBe(201)
    const { id } = (await answer.json()) as { id: number }
    const read = bodyOf(await get(id, { 'expand[]': ['evidenceIds', 'owners', 'flags'] }), 200)
    expect(read).toMatchObject({ code: 'NEW-FORM', owners: { totalCount: 1 }, flags: { hasPolicy: true } })
    expect((await filesOf(id)).map(({ filename, text }) => [filename, text])).toEqual([
      ['Prüfung.bin', Buffer.from([0, 255, 13, 10]).toString()],
      ['a.pdf', 'two'],
    ])
    expect(read.evidenceIds?.validExternalEvidenceIds).toHaveLength(2)
  })

  test('a form that is none, or that is not text where it should be, is refused with 400', async () => {
    const broken = new FormData()
    broken.append('code', 'NEW-BROKEN')
    broken.append('name', new File(['a'], 'name'))
    broken.append('description', 'd')
    const type = 'multipart/form-data; boundary=x'
    const part = (value: Buffer) =>
      Buffer.concat([
        Buffer.from('--x\r\nContent-Disposition: form-data; name="name"\r\n\r\n'),
        value,
        Buffer.from('\r\n--x--\r\n'),
      ])

    const answers = [
      await send(broken),
      await send(Buffer.from('--x'), type),
      await send(part(Buffer.from([0xff])), type),
      await send(part(Buffer.from('a')), 'multipart/form-data'),
    ]

    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400])
  })

  async function send(body: FormData | Buffer<ArrayBuffer>, type?: string): Promise<Response> {
    const { key } = await opened.operator.createKey({
      body: { account: company.name, name: 'form', permissions: 'all' },
    })
    const headers = { authorization: `Bearer ${key}`, ...(type !== undefined && { 'content-type': type }) }
    const url = `${opened.platform.baseUrl}/workspaces/${company.workspaceId}/controls`
    return fetch(url, { method: 'POST', headers, body })
  }

  async function filesOf(controlId: number) {
    const rows = await opened.platform.database.db
      .selectFrom('control_evidence as mapped')
      .innerJoin('evidence', 'evidence.id', 'mapped.evidence_id')
      .innerJoin('evidence_files as file', 'file.evidence_id', 'evidence.id')
      .select(['evidence.name', 'evidence.valid_until as until', 'file.filename', 'file.media_type', 'file.content'])
      .where('mapped.control_id', '=', controlId)
      .orderBy('evidence.id')
      .execute()
    return rows.map(({ content, ...row }) => ({ ...row, text: Buffer.from(content).toString() }))
  }

  test('custom fields need the feature in the plan', async () => {
    const workspaceId = stranger.workspaceId

    const answers = [
      await stranger.client.listControls({ params: { workspaceId }, query: { 'expand[]': ['customFields'] } }),
      await stranger.client.createControl({
        params: { workspaceId },
        body: { ...minimal('NEW-FIELD'), customFields: [{ name: 'Month', value: 'May' }] },
      }),
    ]

    expect(answers.map(({ status }) => status)).toEqual([403, 403])
  })

  test('unknown ids and those of others are 404', async () => {
    const theirs = stranger.controls['LIB-1'] ?? 0
    const other = { workspaceId: stranger.workspaceId }

    const answers = [
      await get(unknownId),
      await get(theirs),
      await get(theirs, {}, stranger.workspaceId),
      await get(company.controls['LIB-2'] ?? 0),
      await get('code:NONE'),
      await get('code:LIB-1\0'),
      await get('code:LIB-1', {}, unknownId),
      await company.client.listControls({ params: other, query: {} }),
      await company.client.listControls({ params: { workspaceId: unknownId }, query: {} }),
      await create(minimal('NEW-OTHER'), stranger.workspaceId),
      await create(minimal('NEW-OTHER'), unknownId),
    ]

    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404))
  })

  test.each([
    ['isReady=maybe'],
    ['policyId=0'],
    ['policyId=99999999999999999999'],
    ['ticketStatus=OPEN'],
    ['expand[]=secrets'],
    ['size=501'],
    ['cursor=%00'],
  ])('the query %s is refused with 400', async (query) => {
    const { key } = await opened.operator.createKey({ body: { account: 'Acme', name: query, permissions: 'all' } })
    const url = `${opened.platform.baseUrl}/workspaces/${company.workspaceId}/controls?${query}`

    const answer = await fetch(url, { headers: { authorization: `Bearer ${key}` } })

    expect(answer.status).toBe(400)
  })

  test('a body that is not JSON is refused with 400', async () => {
    const { key } = await opened.operator.createKey({ body: { account: 'Acme', name: 'forms', permissions: 'all' } })
    const form = new FormData()
    form.append('name', 'New')

    const answer = await fetch(`${opened.platform.baseUrl}/workspaces/${company.workspaceId}/controls`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: form,
    })

    expect(answer.status).toBe(400)
  })

  test('a key needs the permission of the operation', async () => {
    const reader = await opened.clientOf('Acme', ['controls-get'])
    const params = { workspaceId: company.workspaceId }

    const answers = [
      await reader.listControls({ params, query: {} }),
      await reader.getControl({ params: { ...params, controlId: 'code:LIB-1' }, query: {} }),
      await reader.createControl({ params, body: minimal('NEW-KEY') }),
    ]

    expect(answers.map(({ status }) => status)).toEqual([200, 403, 403])
  })
})
