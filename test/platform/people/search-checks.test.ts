import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type SearchedCheck, SearchedStatus, searchedChecks } from '../../../src/contract/platform/personnel-search.ts'
import { maxLagMs } from '../../../src/platform/people/search-index.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { newCompany } from '../helpers/companies.ts'
import { newDemandingCompany } from '../helpers/demanding-companies.ts'
import { base64Picture } from '../helpers/pictures.ts'
import { bodyOf, openTestPlatform, type PlatformClient, type TestPlatform } from '../helpers/platforms.ts'

const names = Object.keys(searchedChecks) as readonly SearchedCheck[]
const wellSet = {
  ...{ encryptionEnabled: true, antivirusEnabled: true, autoUpdateEnabled: true },
  ...{ screenLockEnabled: true, passwordManagerEnabled: true },
}

describe.each(databases)('the checks in the search of people on $name', ({ createDatabase }) => {
  let opened: TestPlatform

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  /** The ids of people by check and status, as the people themselves show it and as the filters of the search find them. */
  async function compare(client: PlatformClient) {
    opened.clock.advance(maxLagMs)
    const shown: Record<string, number[]> = {}
    for (const { id } of bodyOf(await client.listPersonnel({ query: {} }), 200).data) {
      const query = { 'expand[]': ['complianceChecks' as const] }
      const person = bodyOf(await client.getPersonnel({ params: { personnelId: id }, query }), 200)
      for (const { type, status } of person.complianceChecks ?? []) {
        shown[`${type} ${status}`] ??= []
        shown[`${type} ${status}`]?.push(id)
      }
    }
    const searched: Record<string, number[]> = {}
    for (const name of names) {
      for (const status of SearchedStatus.options) {
        const { data } = bodyOf(await client.searchPersonnel({ query: { [`${name}[]`]: [status] } }), 200)
        if (data.length > 0) searched[`${searchedChecks[name]} ${status}`] = data.map(({ id }) => id)
      }
    }
    const { facets = {} } = bodyOf(await client.searchPersonnel({ query: { 'facets[]': [...names] } }), 200)
    const counted = names.flatMap((name) =>
      (facets[name] ?? []).flatMap(({ value, count }) =>
        count > 0 ? [[`${searchedChecks[name]} ${value}`, count]] : [],
      ),
    )
    const sizes = Object.fromEntries(Object.entries(shown).map(([check, ids]) => [check, ids.length]))
    return { shown, searched, counted: Object.fromEntries(counted), sizes }
  }

  test('are those that the people show, by documents, devices, policies and employment', async () => {
    const policies = [{ name: 'For all', assignedTo: 'ALL' as const }]
    const { ana, bo, client, report, send, sync } = await newDemandingCompany(opened, { policies })
    await send([
      { identityId: 'c', email: 'cy@acme.example', isContractor: false },
      { identityId: 'd', email: 'di@acme.example', isContractor: false, separatedAt: '2026-01-31T00:00:00Z' },
      { identityId: 'e', email: 'ed@acme.example', isContractor: false, separatedAt: '2026-01-31T00:00:00Z' },
      { identityId: 'f', email: 'fay@acme.example', isContractor: false },
    ])
    await sync()
    const searchFor = async (email: `email:${string}`) =>
      bodyOf(await client.getPersonnel({ params: { personnelId: email }, query: {} }), 200)
    const [cy, di] = [await searchFor('email:cy@acme.example'), await searchFor('email:di@acme.example')]
    const upload = async (userId: number, type: 'SEC_TRAINING' | 'MFA_EVIDENCE' | 'OFFBOARDING_EVIDENCE') =>
      client.createUserDocument({ params: { userId }, body: { type, base64File: base64Picture('proof.png') } })
    await upload(ana.userId, 'SEC_TRAINING')
    await upload(bo.userId, 'MFA_EVIDENCE')
    await upload(di.userId, 'OFFBOARDING_EVIDENCE')
    await report(bo.id, wellSet)
    await report(cy.id, { ...wellSet, antivirusEnabled: false })
    await client.createBackgroundCheck({
      body: { userId: ana.userId, filedAt: '2026-02-01', url: 'https://checks.example/1' },
    })
    const [assigned] = bodyOf(await client.listAssignedPolicies({ params: { userId: cy.userId }, query: {} }), 200).data
    await client.acknowledgePolicy({
      params: { userId: cy.userId, policyId: assigned?.policyId ?? 0 },
      body: { acceptedAt: '2026-02-01T09:00:00.000Z' },
    })

    const { shown, searched, counted, sizes } = await compare(client)

    expect(searched).toEqual(shown)
    expect(counted).toEqual(sizes)
    expect(sizes).toMatchObject({
      ...{ 'SECURITY_TRAINING PASS': 1, 'IDENTITY_MFA PASS': 1, 'ACCEPTED_POLICIES PASS': 1, 'BG_CHECK PASS': 1 },
      ...{ 'ANTIVIRUS PASS': 1, 'ANTIVIRUS FAIL': 3, 'LOCK_SCREEN PASS': 2 },
      ...{ 'OFFBOARDING PASS': 1, 'OFFBOARDING FAIL': 1, 'FULL_COMPLIANCE EXCLUDED': 2, 'FULL_COMPLIANCE FAIL': 4 },
    })
  })

  test('are those that the people show where nothing is demanded', async () => {
    const { client, send, sync } = await newCompany(opened)
    await send([{ identityId: 'a', email: 'ana@acme.example', isContractor: false }])
    await sync()

    const { shown, searched, counted, sizes } = await compare(client)

    expect(searched).toEqual(shown)
    expect(counted).toEqual(sizes)
    expect(sizes).toEqual({ 'FULL_COMPLIANCE FAIL': 1, 'BG_CHECK FAIL': 1 })
  })

  test('follow an employment that is set by hand', async () => {
    const policies = [{ name: 'For employees', assignedTo: 'ALL' as const, employmentStatuses: ['CURRENT_EMPLOYEE'] }]
    const { ana, bo, client } = await newDemandingCompany(opened, { policies })
    const set = (personnelId: number, employmentStatus: 'FORMER_EMPLOYEE' | 'CURRENT_EMPLOYEE') =>
      client.updatePersonnel({ params: { personnelId }, body: { employmentStatus } })
    await set(ana.id, 'FORMER_EMPLOYEE')
    await set(bo.id, 'CURRENT_EMPLOYEE')

    const { shown, searched } = await compare(client)

    expect(searched).toEqual(shown)
    expect(shown).toMatchObject({ 'OFFBOARDING FAIL': [ana.id], 'ACCEPTED_POLICIES FAIL': [bo.id] })
  })
})
