import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SeedDocument } from '../../../src/platform/seed/document.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { newInventory } from '../helpers/inventories.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

const entitlement = 'CUSTOM_FIELDS_AND_FORMULAS'

const customFields = [
  { name: 'Badge', type: 'TEXT', entityTypes: ['PERSONNEL', 'ASSET'], description: 'On the card.' },
  { name: 'Office', type: 'OPTIONS', entityTypes: ['ASSET'], options: ['Oslo', 'Lisbon'], required: true },
  { name: 'Price', type: 'CURRENCY', entityTypes: ['ASSET'], currencyCode: 'EUR', hidden: true },
  { name: 'Risk', type: 'OPTIONS_NUMERIC', entityTypes: ['ASSET'], options: ['1', '2.5'] },
  { name: 'Age', type: 'FORMULA', entityTypes: ['PERSONNEL'] },
]

describe.each(databases)('definitions of custom fields on $name', ({ createDatabase }) => {
  let opened: TestPlatform

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  async function open() {
    const inventory = await newInventory(opened, { entitlements: [entitlement], customFields })
    const names = async (query: object) => {
      const { data } = bodyOf(await inventory.client.listCustomFieldDefinitions({ query }), 200)
      return data.map(({ name }) => name)
    }
    const get = (customFieldId: number | `name:${string}`) =>
      inventory.client.getCustomFieldDefinition({ params: { customFieldId } })
    return { ...inventory, names, get }
  }

  test('a definition says what values the field takes', async () => {
    const { get } = await open()

    const office = bodyOf(await get('name:Office'), 200)
    const byNumber = bodyOf(await get(office.customFieldId), 200)
    const [badge, price, age] = await Promise.all(
      (['name:Badge', 'name:Price', 'name:Age'] as const).map(async (name) => bodyOf(await get(name), 200)),
    )

    expect(byNumber).toEqual(office)
    expect(office).toEqual({
      customFieldId: expect.any(Number),
      name: 'Office',
      description: null,
      type: 'OPTIONS',
      isRequired: true,
      isHidden: false,
      readOnly: false,
      entityTypes: ['ASSET'],
      options: [
        { customFieldOptionId: expect.any(Number), value: 'Oslo' },
        { customFieldOptionId: expect.any(Number), value: 'Lisbon' },
      ],
    })
    expect(badge).toMatchObject({ description: 'On the card.', entityTypes: ['PERSONNEL', 'ASSET'] })
    expect(badge).not.toHaveProperty('options')
    expect(price).toMatchObject({ currencyCode: 'EUR', isHidden: true })
    expect(age).toMatchObject({ type: 'FORMULA', readOnly: true })
  })

  test('the list is narrowed by the kind of object and by what is hidden', async () => {
    const { names } = await open()

    expect(await names({})).toEqual(['Badge', 'Office', 'Price', 'Risk', 'Age'])
    expect(await names({ entityType: 'PERSONNEL' })).toEqual(['Badge', 'Age'])
    expect(await names({ entityType: 'ASSET', isHidden: false })).toEqual(['Badge', 'Office', 'Risk'])
    expect(await names({ isHidden: true })).toEqual(['Price'])
    expect(await names({ entityType: 'VENDOR' })).toEqual([])
  })

  test('a name that several fields have is 422, one that none has is 404, and a plan without fields is 402', async () => {
    const { get, accountId } = await open()
    const { db } = opened.platform.database
    const prices = db
      .updateTable('custom_field_definitions')
      .where('account_id', '=', accountId)
      .where('name', '=', 'Price')
    await prices.set({ name: 'Badge' }).execute()
    const without = await newInventory(opened)

    const statuses = [
      (await get('name:Badge')).status,
      (await get('name:badge')).status,
      (await get(999_999)).status,
      (await without.client.listCustomFieldDefinitions({ query: {} })).status,
    ]

    expect(statuses).toEqual([422, 404, 404, 402])
  })

  test.each([
    ['Office', 'Oslo', 201],
    ['Office', 'oslo', 422],
    ['Office', 'Porto', 422],
    ['Risk', '2.5', 201],
    ['Risk', '2', 422],
    ['Price', '12.50', 201],
    ['Price', '12.50 EUR', 422],
  ] as const)('%s with the value %s is answered with %i', async (name, value, status) => {
    const { client, asset } = await open()
    const required = name === 'Office' ? [] : [{ name: 'Office', value: 'Lisbon' }]

    const answer = await client.createAsset({ body: asset({ customFields: [...required, { name, value }] }) })

    expect(answer.status).toBe(status)
  })
})

test.each([
  ['options of a text', { type: 'TEXT', options: ['a'] }, 'customFields.0.options'],
  ['an option twice', { type: 'OPTIONS', options: ['a', 'a'] }, 'customFields.0.options.1'],
  ['a currency of a number', { type: 'NUMBER', currencyCode: 'EUR' }, 'customFields.0.currencyCode'],
  ['no currency', { type: 'CURRENCY', currencyCode: 'euro' }, 'customFields.0.currencyCode'],
])('a seed with %s is refused', (_what, field, path) => {
  const customField = { name: 'Field', entityTypes: ['ASSET'], ...field }
  const account = { name: 'Acme', entitlements: [], termsAcceptedAt: null, customFields: [customField] }

  const parsed = SeedDocument.safeParse({ accounts: [account] })

  expect(parsed.error?.issues.map((issue) => issue.path.join('.'))).toEqual([`accounts.0.${path}`])
})
