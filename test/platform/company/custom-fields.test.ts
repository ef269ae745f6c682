import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { storeCustomFields } from '../../../src/platform/company/custom-fields.ts'
import { SeedDocument } from '../../../src/platform/seed/document.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { newInventory } from '../helpers/inventories.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

const entitlement = 'CUSTOM_FIELDS_AND_FORMULAS'

const customFields = [
  { name: 'Badge', type: 'TEXT' as const, entityTypes: ['PERSONNEL' as const, 'ASSET' as const] },
  { name: 'Desk', type: 'NUMBER' as const, entityTypes: ['PERSONNEL' as const] },
]

describe.each(databases)('custom fields on $name', ({ createDatabase }) => {
  let opened: TestPlatform

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  const newAccount = async (entitlements = [entitlement]) => {
    const { name, id, client } = await opened.newAccount({ entitlements })
    const people = [
      { email: 'nora@acme.example', firstName: 'Nora', lastName: 'Berg' },
      { email: 'tom@acme.example', firstName: 'Tom', lastName: 'Rey' },
    ]
    const seed = () =>
      opened.operator.seed({
        body: SeedDocument.parse({ accounts: [{ name, entitlements, termsAcceptedAt: null, people, customFields }] }),
      })
    await seed()
    const { db } = opened.platform.database
    const fields = () =>
      db.selectFrom('custom_field_definitions').selectAll().where('account_id', '=', id).orderBy('id').execute()
    return { client, db, fields, seed }
  }

  test('a seed adds the fields that are missing, once', async () => {
    const { fields, seed } = await newAccount()

    await seed()

    expect(await fields()).toMatchObject([
      { name: 'Badge', type: 'TEXT', entity_types: ['PERSONNEL', 'ASSET'], is_required: false },
      { name: 'Desk', type: 'NUMBER', entity_types: ['PERSONNEL'], is_required: false },
    ])
  })

  test('people carry the values of their fields on request, in the order of the fields', async () => {
    const { client, db, fields } = await newAccount()
    const [badge, desk] = (await fields()).map(({ id }) => id)
    const [nora, tom] = bodyOf(await client.listPersonnel({ query: {} }), 200).data
    const entity = { entityType: 'PERSONNEL' as const, entityId: nora?.id ?? 0 }
    const changes = [
      { definitionId: desk ?? 0, value: '12' },
      { definitionId: badge ?? 0, value: 'B-7' },
    ]

    const first = await storeCustomFields(db, entity, changes)
    const again = await storeCustomFields(db, entity, changes)

    expect([first, again]).toEqual([true, false])
    const expanded = await client.listPersonnel({ query: { 'expand[]': ['customFields'] } })
    expect(bodyOf(expanded, 200).data).toMatchObject([
      {
        id: nora?.id,
        customFields: [
          { customFieldId: badge, name: 'Badge', value: 'B-7' },
          { customFieldId: desk, name: 'Desk', value: '12' },
        ],
      },
      { id: tom?.id, customFields: [] },
    ])
  })

  test('a plan without custom fields does not show them', async () => {
    const { client } = await newAccount([])

    const answer = await client.listPersonnel({ query: { 'expand[]': ['customFields'] } })

    expect(answer.status).toBe(403)
  })

  test('a plan without custom fields is refused before anything is looked up', async () => {
    const { client } = await newInventory(opened, { entitlements: [] })
    const [asset, control] = [{ assetId: 987_654 }, { workspaceId: 987_654, controlId: 987_654 }]
    const query = { 'expand[]': ['customFields' as const] }
    const given = { customFields: [{ name: 'Site', value: 'Bonn' }] }
    const newAsset = { name: 'Laptop', description: '', assetType: 'PHYSICAL' as const, ownerId: 987_654 }
    const newControl = { name: 'Locks', code: 'L-1', description: 'Doors are locked.' }

    const answers = [
      await client.getAsset({ params: asset, query }),
      await client.createAsset({ body: { ...newAsset, assetClassTypes: ['HARDWARE'], ...given } }),
      await client.updateAsset({ params: asset, body: given }),
      await client.listControls({ params: control, query }),
      await client.getControl({ params: control, query }),
      await client.createControl({ params: control, body: { ...newControl, ...given } }),
    ]

    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 403))
  })

  const assetFields = [
    { name: 'Cost', type: 'CURRENCY', entityTypes: ['ASSET'] },
    { name: 'Site', type: 'TEXT', entityTypes: ['ASSET'] },
    { name: 'Story', type: 'LONG_TEXT', entityTypes: ['ASSET'] },
    { name: 'Page', type: 'URL', entityTypes: ['ASSET'] },
    { name: 'Size', type: 'OPTIONS', entityTypes: ['ASSET'] },
    { name: 'Level', type: 'OPTIONS_NUMERIC', entityTypes: ['ASSET'] },
    { name: 'Count', type: 'NUMBER', entityTypes: ['ASSET'] },
    { name: 'Score', type: 'FORMULA', entityTypes: ['ASSET'], required: true },
    { name: 'Desk', type: 'NUMBER', entityTypes: ['PERSONNEL'] },
  ]
  const assets = (fields: object[] = assetFields) =>
    newInventory(opened, { entitlements: [entitlement], customFields: fields })

  test('values of an asset are set by id or name, changed and removed', async () => {
    const { client, accountId, add } = await assets()
    const { db } = opened.platform.database
    const cost = await db
      .selectFrom('custom_field_definitions')
      .select('id')
      .where('account_id', '=', accountId)
      .where('name', '=', 'Cost')
      .executeTakeFirstOrThrow()
    const { id } = await add({
      customFields: [
        { name: 'Site', value: 'Oslo' },
        { id: cost.id, value: '-12.50' },
      ],
    })
    const params = { assetId: id }
    const values = async () =>
      bodyOf(await client.getAsset({ params, query: { 'expand[]': ['customFields'] } }), 200).customFields?.map(
        ({ name, value }) => [name, value],
      )
    const update = async (value: string | null) =>
      (await client.updateAsset({ params, body: { customFields: [{ name: 'Site', value }] } })).status

    expect(await values()).toEqual([
      ['Cost', '-12.50'],
      ['Site', 'Oslo'],
    ])
    expect(await update('Oslo')).toBe(204)
    expect(await update('Rome')).toBe(200)
    expect(await values()).toContainEqual(['Site', 'Rome'])
    expect(await update(null)).toBe(200)
    expect(await update(null)).toBe(204)
    expect(await values()).toEqual([['Cost', '-12.50']])
    await client.deleteAsset({ params })
    const remaining = await db.selectFrom('custom_field_values').selectAll().where('entity_id', '=', id).execute()
    expect(remaining.filter(({ entity_type }) => entity_type === 'ASSET')).toEqual([])
  })

  test.each<[string, string, string]>([
    ['Site', 'a', 's'.repeat(192)],
    ['Story', 's'.repeat(30_000), 's'.repeat(30_001)],
    ['Page', 'https://acme.example/a?b=c', 'javascript:alert(1)'],
    ['Page', 'http://localhost', 'acme'],
    ['Size', 'L', 's'.repeat(192)],
    ['Level', '3', 'three'],
    ['Count', '-0.25', '1e5'],
    ['Cost', '10', '10 EUR'],
    ['Count', '7', ''],
    ['Count', '7', '0x10'],
  ])('the field %s accepts what its type allows and nothing else', async (name, good, bad) => {
    const { client, add } = await assets()
    const params = { assetId: (await add()).id }
    const update = async (value: string) =>
      (await client.updateAsset({ params, body: { customFields: [{ name, value }] } })).status

    expect(await update(good)).toBe(200)
    expect(await update(bad)).toBe(400)
  })

  test.each<[string, object[], number]>([
    ['an unknown name', [{ name: 'Nothing', value: 'a' }], 422],
    ['an unknown id', [{ id: 999_999, value: 'a' }], 422],
    ['a name and an id that differ', [{ id: 999_999, name: 'Site', value: 'a' }], 422],
    ['a field of people', [{ name: 'Desk', value: '1' }], 422],
    ['a computed field', [{ name: 'Score', value: '1' }], 422],
    ['a computed field taken back', [{ name: 'Score', value: null }], 422],
    ['a value of another type', [{ name: 'Count', value: 'many' }], 422],
    [
      'a field twice',
      [
        { name: 'Site', value: 'a' },
        { name: 'Site', value: 'b' },
      ],
      422,
    ],
    ['neither name nor id', [{ value: 'a' }], 400],
    ['no value', [{ name: 'Site' }], 400],
    ['a NUL character', [{ name: 'Site', value: '\0' }], 400],
  ])('%s is refused for a new asset, and nothing is added', async (_what, fields, status) => {
    const { client, asset } = await assets()

    const answer = await client.createAsset({ body: asset({ customFields: fields as never }) })

    expect(answer.status).toBe(status)
    expect(bodyOf(await client.listAssets({ query: {} }), 200).data).toEqual([])
  })

  test('a name that several fields share needs the id', async () => {
    const { client, accountId, add } = await assets()
    const { db } = opened.platform.database
    const copied = await db
      .insertInto('custom_field_definitions')
      .values({
        account_id: accountId,
        name: 'Site',
        type: 'TEXT',
        entity_types: ['ASSET'],
        is_required: false,
        created_at: opened.clock.now(),
        updated_at: opened.clock.now(),
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    const params = { assetId: (await add()).id }
    const update = async (field: { id?: number; name?: string }) =>
      (await client.updateAsset({ params, body: { customFields: [{ ...field, value: 'Oslo' }] } })).status

    expect(await update({ name: 'Site' })).toBe(400)
    expect(await update({ name: 'Site', id: copied.id })).toBe(200)
  })

  test('a required field must be there from the start and stays filled', async () => {
    const { client, asset, add, report } = await assets([
      { name: 'Site', type: 'TEXT', entityTypes: ['ASSET'], required: true },
    ])
    const siteValues = [{ name: 'Site', value: 'Oslo' }]

    const missing = await client.createAsset({ body: asset() })
    const { id } = await add({ customFields: siteValues })
    const update = (body: object) => client.updateAsset({ params: { assetId: id }, body })

    expect(missing.status).toBe(422)
    expect((await update({ customFields: [{ name: 'Site', value: null }] })).status).toBe(400)
    expect((await update({ customFields: [{ name: 'Site', value: '' }] })).status).toBe(400)
    expect((await update({ name: 'Ledger' })).status).toBe(200)
    expect((await report()).assetId).toEqual(expect.any(Number))
  })

  test('a plan without custom fields accepts no values and requires none', async () => {
    const { client, asset, add } = await newInventory(opened, {
      customFields: [{ name: 'Site', type: 'TEXT', entityTypes: ['ASSET'], required: true }],
    })
    const { id } = await add()
    const params = { assetId: id }
    const siteValues = [{ name: 'Site', value: 'Oslo' }]

    const answers = [
      await client.createAsset({ body: asset({ customFields: siteValues }) }),
      await client.updateAsset({ params, body: { customFields: siteValues } }),
      await client.getAsset({ params, query: { 'expand[]': ['customFields'] } }),
      await client.listAssets({ query: { 'expand[]': ['customFields'] } }),
      await client.updateAsset({ params, body: { customFields: [] } }),
    ]

    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403, 204])
  })
})
