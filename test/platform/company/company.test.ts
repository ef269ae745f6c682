import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SeedDocument } from '../../../src/platform/seed/document.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

const minuteMs = 60_000
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const seedOf = (company: object) =>
  SeedDocument.parse({
    accounts: [
      {
        name: 'Acme',
        entitlements: ['CUSTOM_FRAMEWORKS', 'CUSTOM_CONNECTIONS_AND_TESTS'],
        termsAcceptedAt: '2026-01-01T00:00:00Z',
        company,
      },
    ],
  })

describe.each(databases)('the company on $name', ({ createDatabase }) => {
  let opened: TestPlatform

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  test('a seeded company returns everything in the seed and what the plan includes', async () => {
    const createdAt = opened.clock.now().toISOString()
    const described = {
      domain: 'acme.example',
      legalName: 'Acme Ltd',
      description: 'Plans deliveries.',
      logoUrl: 'https://acme.example/logo.svg',
      securityTraining: 'MANUAL',
      hipaaTraining: 'NOT_REQUIRED',
      backgroundCheck: 'MANUAL',
      agentEnabled: true,
      manualUploadEnabled: true,
      language: 'GERMAN_DE',
    }
    await opened.operator.seed({ body: seedOf(described) })
    const client = await opened.clientOf('Acme', ['company-settings-get-info'])

    const company = bodyOf(await client.getCompany({}), 200)

    expect(company).toEqual({
      accountId: expect.stringMatching(uuid),
      name: 'Acme',
      ...described,
      createdAt,
      updatedAt: createdAt,
      entitlements: [
        { name: 'CUSTOM_CONNECTIONS_AND_TESTS', type: 'CUSTOM_CONNECTIONS_AND_TESTS', featureId: null },
        { name: 'CUSTOM_FRAMEWORKS', type: 'CUSTOM_FRAMEWORKS', featureId: null },
      ],
    })
  })

  test('seeding again changes nothing of it', async () => {
    const client = await opened.clientOf('Acme', 'all')
    const before = bodyOf(await client.getCompany({}), 200)
    opened.clock.advance(minuteMs)

    await opened.operator.seed({ body: seedOf({ domain: 'other.example' }) })

    expect(bodyOf(await client.getCompany({}), 200)).toEqual(before)
  })

  test('an account of which nothing is known answers as little', async () => {
    const { client, name } = await opened.newAccount({ entitlements: [] })

    const company = bodyOf(await client.getCompany({}), 200)

    expect(company).toMatchObject({
      name,
      domain: `${name.replace(' ', '-')}.invalid`,
      legalName: null,
      securityTraining: null,
      entitlements: [],
      language: 'ENGLISH_US',
    })
  })

  test('each account has an id of its own, which stays', async () => {
    const [one, other] = [await opened.newAccount(), await opened.newAccount()]

    const ids = [one, one, other].map(async ({ client }) => bodyOf(await client.getCompany({}), 200).accountId)

    const [first, second, third] = await Promise.all(ids)
    expect(first).toBe(second)
    expect(first).not.toBe(third)
  })

  test('a name without letters still makes a domain', async () => {
    await opened.operator.createAccount({
      body: { name: '株式会社', entitlements: [], termsAcceptedAt: '2026-01-01T00:00:00Z' },
    })
    const client = await opened.clientOf('株式会社', 'all')

    expect(bodyOf(await client.getCompany({}), 200).domain).toBe('account.invalid')
  })
})
