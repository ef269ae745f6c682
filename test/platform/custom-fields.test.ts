import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { storeCustomFields } from '../../src/platform/custom-fields.ts'
import { SeedDocument } from '../../src/platform/seed-document.ts'
import { databases } from '../helpers/databases.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from './platforms.ts'

const customFields = [
  { name: 'Badge', type: 'TEXT' as const, entityTypes: ['PERSONNEL' as const, 'ASSET' as const] },
  { name: 'Desk', type: 'NUMBER' as const, entityTypes: ['PERSONNEL' as const] },
]

describe.each(databases)('custom fields on $name', ({ place }) => {
  let opened: TestPlatform

  beforeAll(async () => {
    opened = await openTestPlatform(place)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  const newAccount = async (entitlements = ['CUSTOM_FIELDS_AND_FORMULAS']) => {
    const { name, id, client } = await opened.newAccount({ entitlements })
    const people = [
      { email: 'nora@acme.example', firstName: 'Nora', lastName: 'Berg' },
      { email: 'tom@acme.example', firstName: 'Tom', lastName: 'Rey' },
    ]
    const seed = () =>
      opened.operator.seed(
        SeedDocument.parse({ accounts: [{ name, entitlements, termsAcceptedAt: null, people, customFields }] }),
      )
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
})
