import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CustomConnectionCreate } from '../../../src/contract/platform/custom-connections.ts'
import { SeedDocument } from '../../../src/platform/seed/document.ts'
import { databases } from '../../helpers/servers/databases.ts'
import {
  bodyOf,
  entitlement,
  newHrisConnection,
  openTestPlatform,
  type PlatformClient,
  type TestPlatform,
} from '../helpers/platforms.ts'

const minuteMs = 60_000
const schema = { type: 'object', properties: { hostname: { type: 'string' } }, required: ['hostname'] }

describe.each(databases)('custom connections on $name', ({ createDatabase }) => {
  let opened: TestPlatform
  let client: PlatformClient
  let workspaceIds: number[]

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
    const account = {
      name: 'Acme',
      entitlements: [entitlement],
      termsAcceptedAt: '2026-01-01T00:00:00Z',
      workspaces: [{ name: 'Cloud', primary: true, description: 'The product.' }, { name: 'Pay' }],
    }
    await opened.operator.seed({ body: SeedDocument.parse({ accounts: [account] }) })
    client = await opened.clientOf('Acme', 'all')
    workspaceIds = bodyOf(await client.listWorkspaces({ query: {} }), 200).data.map(({ id }) => id)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  const create = (body: CustomConnectionCreate) => client.createCustomConnection({ body })
  const custom = (): CustomConnectionCreate => ({
    name: 'Servers',
    providerTypes: ['CUSTOM'],
    workspaceIds,
    schema,
    displayNameKey: 'hostname',
  })

  test.each(['HRIS', 'MDM'] as const)(
    'an %s connection needs a name only, which is read back as its alias',
    async (type) => {
      const answer = await create({ name: 'People', description: 'From HR', providerTypes: [type] })

      const created = bodyOf(answer, 201)
      expect(created).toEqual({
        id: expect.any(Number),
        clientAlias: 'People',
        description: 'From HR',
        providerTypes: [type],
        createdAt: opened.clock.now().toISOString(),
        updatedAt: opened.clock.now().toISOString(),
        createdById: expect.any(Number),
      })
      const read = await client.getCustomConnection({ params: { connectionId: created.id }, query: {} })
      expect(bodyOf(read, 200)).toEqual(created)
    },
  )

  test('a CUSTOM connection has its one resource with the given schema', async () => {
    const { id } = bodyOf(await create({ ...custom(), description: 'All servers' }), 201)

    const answer = await client.getCustomConnection({
      params: { connectionId: id },
      query: { 'expand[]': ['customResources', 'createdByUser'] },
    })

    expect(bodyOf(answer, 200)).toMatchObject({
      providerTypes: ['CUSTOM'],
      customResources: [{ id: expect.any(Number), name: 'Servers', description: 'All servers', schema }],
      createdByUser: { id: expect.any(Number), firstName: 'test', lastName: null },
    })
  })

  test('a schema is inferred from sample data', async () => {
    const { schema: _none, ...rest } = custom()
    const sampleData = { hostname: 'web-1', cpus: 4, live: true, tags: ['a'], os: { name: 'linux' }, note: null }
    const { id } = bodyOf(await create({ ...rest, sampleData }), 201)

    const answer = await client.getCustomConnection({
      params: { connectionId: id },
      query: { 'expand[]': ['customResources'] },
    })

    expect(bodyOf(answer, 200).customResources?.[0]?.schema).toEqual({
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: {
        hostname: { type: 'string' },
        cpus: { type: 'number' },
        live: { type: 'boolean' },
        tags: { type: 'array' },
        os: { type: 'object', properties: { name: { type: 'string' } }, required: [], additionalProperties: true },
        note: {},
      },
      required: [],
      additionalProperties: true,
    })
  })

  test.each<[string, (valid: CustomConnectionCreate) => CustomConnectionCreate]>([
    ['no type', (valid) => ({ ...valid, providerTypes: [] })],
    ['two types', (valid) => ({ ...valid, providerTypes: ['CUSTOM', 'HRIS'] })],
    ['the same type twice', (valid) => ({ ...valid, providerTypes: ['CUSTOM', 'CUSTOM'] })],
    ['an unknown type', (valid) => ({ ...valid, providerTypes: ['EDR' as never] })],
    ['CUSTOM without a workspace', (valid) => ({ ...valid, workspaceIds: [] })],
    ['CUSTOM with a workspace that does not exist', (valid) => ({ ...valid, workspaceIds: [999_999] })],
    ['CUSTOM with a schema and sample data', (valid) => ({ ...valid, sampleData: { hostname: 'a' } })],
    ['CUSTOM with neither', ({ schema: _none, ...valid }) => valid],
    ['CUSTOM without a display name key', ({ displayNameKey: _none, ...valid }) => valid],
    ['a display name key that the schema lacks', (valid) => ({ ...valid, displayNameKey: 'name' })],
    ['a display name key that only objects in general have', (valid) => ({ ...valid, displayNameKey: 'toString' })],
    ['a NUL character in the name', (valid) => ({ ...valid, name: 'a\0b' })],
    ['a NUL character in the schema', (valid) => ({ ...valid, schema: { ...schema, title: '\0' } })],
    ['half of a surrogate pair in a key of the schema', (valid) => ({ ...valid, schema: { ...schema, '\ud800': 1 } })],
    [
      'a number in the schema that is too large for one',
      (valid) => ({ ...valid, schema: { ...schema, maxProperties: 1e308 * 10 } }),
    ],
    ['a schema of lists', (valid) => ({ ...valid, schema: { ...schema, type: 'array' } })],
    ['a schema of texts or numbers', (valid) => ({ ...valid, schema: { ...schema, type: ['string', 'number'] } })],
    ['a schema that is none', (valid) => ({ ...valid, schema: { ...schema, type: 'objekt' } })],
    [
      'a schema of an unknown dialect',
      (valid) => ({ ...valid, schema: { ...schema, $schema: 'https://example.com/s' } }),
    ],
    [
      'a schema that refers to another place',
      (valid) => ({ ...valid, schema: { ...schema, allOf: [{ $ref: 'http://127.0.0.1/s' }] } }),
    ],
    [
      'a schema that refers to itself for ever',
      (valid) => ({ ...valid, schema: { ...schema, allOf: [{ $ref: '#' }] } }),
    ],
    ['a schema that answers later', (valid) => ({ ...valid, schema: { ...schema, $async: true } })],
    [
      'a schema with a broken pattern',
      (valid) => ({ ...valid, schema: { ...schema, patternProperties: { '(': { type: 'string' } } } }),
    ],
    ['a schema of more than 64 KiB', (valid) => ({ ...valid, schema: { ...schema, $comment: 'x'.repeat(64 * 1024) } })],
    ['a name of 192 characters', (valid) => ({ ...valid, name: 'n'.repeat(192) })],
    ['HRIS with workspaces', () => ({ name: 'HR', providerTypes: ['HRIS'], workspaceIds })],
    ['HRIS with a schema', () => ({ name: 'HR', providerTypes: ['HRIS'], schema })],
    ['MDM with sample data', () => ({ name: 'Devices', providerTypes: ['MDM'], sampleData: {} })],
    ['MDM with a display name key', () => ({ name: 'Devices', providerTypes: ['MDM'], displayNameKey: 'hostname' })],
  ])('%s is refused with 400 and leaves nothing behind', async (_what, change) => {
    const count = async () =>
      bodyOf(await client.listCustomConnections({ query: { includeTotalCount: true } }), 200).pagination.totalCount
    const before = await count()

    const answer = await create(change(custom()))

    expect(answer.status).toBe(400)
    expect(await count()).toBe(before)
  })

  test('sample data nested beyond reason is refused with 400', async () => {
    const { schema: _none, ...rest } = custom()
    const nested: Record<string, unknown> = JSON.parse(`${'{"hostname":'.repeat(500)}1${'}'.repeat(500)}`)

    const answer = await create({ ...rest, sampleData: nested })

    expect(answer.status).toBe(400)
  })

  test("another account's workspace is as unknown as none", async () => {
    const stranger = await opened.newAccount()

    const answer = await stranger.client.createCustomConnection({ body: custom() })

    expect(answer.status).toBe(400)
  })

  test('an update changes the sent fields, and null clears the alias', async () => {
    const { id } = bodyOf(await create({ name: 'HR', description: 'old', providerTypes: ['HRIS'] }), 201)
    const params = { connectionId: id }
    opened.clock.advance(minuteMs)

    const described = await client.updateCustomConnection({ params, body: { description: 'new' } })
    const cleared = await client.updateCustomConnection({ params, body: { clientAlias: null } })

    expect(bodyOf(described, 200)).toMatchObject({
      clientAlias: 'HR',
      description: 'new',
      updatedAt: opened.clock.now().toISOString(),
    })
    expect(bodyOf(cleared, 200)).toMatchObject({ clientAlias: null, description: 'new' })
  })

  test.each([
    'http://json-schema.org/draft-07/schema#',
    'https://json-schema.org/draft/2019-09/schema',
    'https://json-schema.org/draft/2020-12/schema',
  ])('a schema may be of the dialect %s', async ($schema) => {
    const answer = await create({ ...custom(), schema: { $schema, ...schema } })

    expect(answer.status).toBe(201)
  })

  test('an update to the stored values leaves updatedAt unchanged', async () => {
    const created = bodyOf(await create({ name: 'HR', description: 'same', providerTypes: ['HRIS'] }), 201)
    opened.clock.advance(minuteMs)

    const answer = await client.updateCustomConnection({
      params: { connectionId: created.id },
      body: { clientAlias: 'HR', description: 'same' },
    })

    expect(bodyOf(answer, 200)).toEqual(created)
  })

  test('an empty update returns the unchanged connection', async () => {
    const created = bodyOf(await create({ name: 'HR', providerTypes: ['HRIS'] }), 201)
    opened.clock.advance(minuteMs)

    const answer = await client.updateCustomConnection({ params: { connectionId: created.id }, body: {} })

    expect(bodyOf(answer, 200)).toEqual(created)
  })

  test('deleting removes all records; a second deletion or an unknown id is 204 too', async () => {
    const params = { connectionId: await newHrisConnection(client) }
    await client.upsertHrisUserIdentities({ params, body: [{ identityId: 'a' }] })

    const deleted = [
      await client.deleteCustomConnection({ params }),
      await client.deleteCustomConnection({ params }),
      await client.deleteCustomConnection({ params: { connectionId: 999_999 } }),
    ]

    expect(deleted.map(({ status }) => status)).toEqual([204, 204, 204])
    const gone = [
      await client.getCustomConnection({ params, query: {} }),
      await client.listHrisUserIdentities({ params, query: {} }),
    ]
    expect(gone.map(({ status }) => status)).toEqual([404, 404])
    const { db } = opened.platform.database
    const remaining = await db
      .selectFrom('hris_user_identities')
      .selectAll()
      .where('connection_id', '=', params.connectionId)
      .execute()
    expect(remaining).toEqual([])
  })

  test('a connection is deleted while batches arrive without an error of the server', async () => {
    const params = { connectionId: await newHrisConnection(client) }
    const items = Array.from({ length: 200 }, (_, index) => ({ identityId: `${index}` }))

    const answers = await Promise.all([
      ...Array.from({ length: 6 }, () => client.upsertHrisUserIdentities({ params, body: items })),
      client.deleteCustomConnection({ params }),
      ...Array.from({ length: 6 }, () => client.upsertHrisUserIdentities({ params, body: items })),
    ])

    const statuses = new Set(answers.map(({ status }) => status))
    expect([...statuses].filter((status) => ![200, 201, 204, 404].includes(Number(status)))).toEqual([])
  })

  test('two connections may have the same name', async () => {
    const ids = [await newHrisConnection(client), await newHrisConnection(client)]

    expect(new Set(ids).size).toBe(2)
  })

  test('workspaces are listed with their extras on request', async () => {
    const plain = bodyOf(await client.listWorkspaces({ query: {} }), 200).data
    const expanded = bodyOf(
      await client.listWorkspaces({ query: { 'expand[]': ['frameworks', 'personnelScope'] } }),
      200,
    ).data

    expect(plain).toMatchObject([
      { name: 'Cloud', primary: true },
      { name: 'Pay', primary: false },
    ])
    expect(expanded).toEqual(plain.map((workspace) => ({ ...workspace, frameworks: [], scopedPersonnelCount: null })))
  })
})
