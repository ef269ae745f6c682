import { SeedDocument } from '../../../src/platform/seed/document.ts'
import { newCompany } from './companies.ts'
import { newMdmConnection } from './inventories.ts'
import { bodyOf, type TestPlatform } from './platforms.ts'

type Policy = {
  readonly name: string
  readonly assignedTo?: 'ALL' | 'GROUP' | 'NONE'
  readonly groups?: readonly string[]
  readonly employmentStatuses?: readonly string[]
  readonly version?: number
  readonly requiresAcknowledgment?: boolean
}

type Demands = {
  readonly policies?: readonly Policy[]
  readonly hipaaTraining?: 'MANUAL' | 'NOT_REQUIRED'
  /** The keys of groups at the identity provider Okta, without members. */
  readonly groups?: readonly string[]
}

/** A company that demands trainings, a second factor and devices of its people, with two people from HR: an employee and a contractor. */
export async function newDemandingCompany(
  opened: TestPlatform,
  { policies = [], hipaaTraining = 'MANUAL', groups = [] }: Demands = {},
) {
  const company = await newCompany(opened)
  const seed = async (more: readonly Policy[]) => {
    const account = {
      name: company.name,
      entitlements: [],
      termsAcceptedAt: null,
      company: { domain: 'acme.example', securityTraining: 'MANUAL', hipaaTraining },
      identityProviders: [
        { name: 'Okta', clientType: 'OKTA_IDENTITY', groups: groups.map((key) => ({ externalId: key, name: key })) },
      ],
      policies: more.map((policy) => ({ description: 'Ours.', ...policy })),
    }
    await opened.operator.seed({ body: SeedDocument.parse({ accounts: [account] }) })
  }
  await seed(policies)
  await company.send([
    { identityId: 'a', email: 'ana@acme.example', firstName: 'Ana', lastName: 'Ruiz', isContractor: false },
    { identityId: 'b', email: 'bo@acme.example', firstName: 'Bo', lastName: 'Lind', isContractor: true },
  ])
  await company.sync()
  const connectionId = await newMdmConnection(company.client)
  const [ana, bo] = [await company.person('ana@acme.example'), await company.person('bo@acme.example')]
  return {
    ...company,
    ana,
    bo,
    seed,
    mdmConnectionId: connectionId,
    report: async (personnelId: number, settings: object = {}) => {
      const body = {
        personnelId,
        platformName: 'MACOS',
        platformVersion: '15',
        serialNumber: `S${personnelId}`,
      } as const
      return bodyOf(
        await company.client.upsertDevice({ params: { connectionId }, body: { ...body, ...settings } }),
        201,
      )
    },
    /** The status of each check of a person, by type. */
    checksOf: async (personnelId: number) => {
      const query = { 'expand[]': ['complianceChecks' as const] }
      const { complianceChecks = [] } = bodyOf(
        await company.client.getPersonnel({ params: { personnelId }, query }),
        200,
      )
      return Object.fromEntries(complianceChecks.map(({ type, status }) => [type, status]))
    },
    events: async () => {
      const { data } = bodyOf(await company.client.listEvents({ query: { sortDir: 'DESC', size: 20 } }), 200)
      return data.map(({ type }) => type)
    },
  }
}
