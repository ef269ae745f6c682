import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ControlExpand } from '../../../src/contract/platform/controls.ts'
import { SeedDocument } from '../../../src/platform/seed/document.ts'
import { readSeed } from '../../../src/platform/seed/file.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { newControlCompany } from '../helpers/control-company.ts'
import { controlSeed, seededLibrary } from '../helpers/control-seed.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

const minuteMs = 60_000
const expand: ControlExpand[] = ['requirements', 'flags', 'owners', 'topics']
const shippedSeed = fileURLToPath(new URL('../../../config/platform-seed.yaml', import.meta.url))

const seeded = [
  'frameworks',
  'requirements',
  'test_templates',
  'policy_templates',
  'evidence_templates',
  'risk_templates',
  'control_templates',
  'template_tests',
  'template_policies',
  'template_evidence',
  'template_risks',
  'template_requirements',
  'workspace_frameworks',
  'policies',
  'tests',
  'evidence',
  'controls',
  'control_policies',
  'control_tests',
  'control_evidence',
  'control_requirements',
  'control_owners',
  'control_notes',
] as const

describe.each(databases)('seeding controls on $name', ({ createDatabase }) => {
  let opened: TestPlatform

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  const everything = async () => {
    const { db } = opened.platform.database
    const rows = []
    for (const table of seeded) rows.push(await db.selectFrom(table).selectAll().execute())
    return rows
  }

  test('a control takes missing values from its template', async () => {
    const { client, workspaceId, otherWorkspaceId } = await newControlCompany(opened, 'Acme')
    const get = async (controlId: `code:${string}`, workspace = workspaceId) => {
      const params = { workspaceId: workspace, controlId }
      const query = { 'expand[]': expand }
      return bodyOf(await client.getControl({ params, query }), 200)
    }

    const [first, again, paid] = [
      await get('code:LIB-1'),
      await get('code:LIB-1.1'),
      await get('code:LIB-2', otherWorkspaceId),
    ]

    expect(first).toMatchObject({ name: 'Access is reviewed', question: 'How?', flags: { hasPolicy: true } })
    expect(first.requirements?.map(({ name }) => name)).toEqual(['CC1.1', 'CC6.1'])
    expect(again).toMatchObject({ name: 'Again', question: 'How?', topics: ['SECURITY'], requirements: [] })
    expect(again.flags).toMatchObject({ hasPolicy: false, hasEvidence: false, isMonitored: false })
    expect(paid.requirements?.map(({ name }) => name)).toEqual(['A.5'])
  })

  test('notes and owners stand under the people that the seed names', async () => {
    const { client, workspaceId, controls, users } = await newControlCompany(opened, 'Bolt')
    const params = { workspaceId, controlId: controls['LIB-1'] ?? 0 }

    const notes = bodyOf(await client.listControlNotes({ params, query: {} }), 200).data
    const owners = bodyOf(await client.listControlOwners({ params, query: {} }), 200).data

    expect(notes).toMatchObject([{ ownerId: users.ana, comment: 'Looked at.' }])
    expect(owners.map(({ id }) => id)).toEqual([users.ana, users.ben])
  })

  test('workspaces show the frameworks that are enabled in them', async () => {
    const { client } = await newControlCompany(opened, 'Core')

    const { data } = bodyOf(await client.listWorkspaces({ query: { 'expand[]': ['frameworks'] } }), 200)

    expect(data.map(({ frameworks }) => frameworks)).toEqual([
      [
        {
          id: expect.any(Number),
          name: 'SOC 2',
          description: 'Trust services.',
          createdAt: expect.any(String),
          updatedAt: expect.any(String),
          enabledAt: opened.clock.now().toISOString(),
        },
      ],
      [expect.objectContaining({ name: 'ISO 27001' })],
    ])
  })

  test('seeding again adds nothing and changes nothing', async () => {
    await newControlCompany(opened, 'Dune')
    const before = await everything()
    opened.clock.advance(minuteMs)

    await opened.operator.seed({ body: controlSeed('Dune') })

    expect(await everything()).toEqual(before)
  })

  test('a later seed adds what is new and leaves alone what people changed', async () => {
    const { client, workspaceId, controls, users } = await newControlCompany(opened, 'Elba')
    const params = { workspaceId, controlId: controls['LIB-1'] ?? 0 }
    await client.deleteControlOwner({ params: { ...params, ownerId: users.ben ?? 0 } })
    const document = controlSeed('Elba')
    const cloud = document.accounts[0]?.workspaces[0]
    cloud?.controls.push({ template: 'LIB-9', owners: ['ben@acme.example'], enabled: true, notes: [] })

    await opened.operator.seed({ body: document })

    const owners = bodyOf(await client.listControlOwners({ params, query: {} }), 200).data
    expect(owners.map(({ id }) => id)).toEqual([users.ana])
    const added = await client.getControl({
      params: { ...params, controlId: 'code:LIB-9' },
      query: { 'expand[]': ['owners'] },
    })
    expect(bodyOf(added, 200)).toMatchObject({ name: 'accounts end', owners: { totalCount: 1 } })
  })

  test('a template that neither the seed nor the platform has is named, and nothing is added', async () => {
    const account = {
      name: 'Faro',
      entitlements: [],
      termsAcceptedAt: null,
      workspaces: [{ name: 'Cloud', controls: [{ template: 'NONE-1' }] }],
    }

    const seeding = opened.operator.seed({ body: SeedDocument.parse({ accounts: [account] }) })

    await expect(seeding).rejects.toMatchObject({
      code: 'not_found',
      message: 'the seed names the control template "NONE-1", which is not in the library of this platform',
    })
    const { db } = opened.platform.database
    expect(await db.selectFrom('accounts').selectAll().where('name', '=', 'Faro').execute()).toEqual([])
  })

  test('a seed without a library uses the one that the platform has', async () => {
    await opened.operator.seed({ body: SeedDocument.parse({ library: seededLibrary, accounts: [] }) })
    const account = {
      name: 'Gale',
      entitlements: [],
      termsAcceptedAt: '2026-01-01T00:00:00Z',
      workspaces: [{ name: 'Cloud', frameworks: ['soc2'], controls: [{ template: 'LIB-1' }] }],
    }

    await opened.operator.seed({ body: SeedDocument.parse({ accounts: [account] }) })

    const client = await opened.clientOf('Gale', 'all')
    const [workspace] = bodyOf(await client.listWorkspaces({ query: {} }), 200).data
    const list = await client.listControls({
      params: { workspaceId: workspace?.id ?? 0 },
      query: { 'expand[]': ['frameworkTags'] },
    })
    expect(bodyOf(list, 200).data).toMatchObject([{ code: 'LIB-1', frameworkTags: ['SOC_2'] }])
  })

  test('the seed that comes with the project fills every table', async () => {
    await using fresh = await openTestPlatform(createDatabase)
    await fresh.operator.seed({ body: await readSeed(shippedSeed) })

    const { db } = fresh.platform.database
    for (const table of seeded) {
      const rows = await db.selectFrom(table).selectAll().execute()
      expect(rows.length, table).toBeGreaterThan(0)
    }
  })
})
