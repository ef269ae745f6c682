import type { AssetCreate } from '../../../src/contract/platform/assets.ts'
import type { DeviceUpload } from '../../../src/contract/platform/devices.ts'
import { SeedDocument } from '../../../src/platform/seed/document.ts'
import { bodyOf, entitlement, type PlatformClient, type TestPlatform } from './platforms.ts'

type SeedFields = NonNullable<Parameters<typeof SeedDocument.parse>[0]>

/** A separate account for a test, with two people, a connection of type MDM and shorthands for frequent requests. */
export async function newInventory(
  opened: TestPlatform,
  { entitlements = [entitlement], customFields = [] }: { entitlements?: string[]; customFields?: SeedFields[] } = {},
) {
  const { name, id, client } = await opened.newAccount({ entitlements: [entitlement, ...entitlements] })
  const people = [
    { email: 'nora@acme.example', firstName: 'Nora', lastName: 'Berg' },
    { email: 'tom@acme.example', firstName: 'Tom', lastName: 'Rey' },
  ]
  const account = { name, entitlements: [], termsAcceptedAt: null, people, customFields }
  await opened.operator.seed({ body: SeedDocument.parse({ accounts: [account] }) })
  const person = async (email: string) =>
    bodyOf(await client.getPersonnel({ params: { personnelId: `email:${email}` }, query: {} }), 200)
  const [nora, tom] = [await person('nora@acme.example'), await person('tom@acme.example')]
  const connectionId = await newMdmConnection(client)
  const device = (overrides: Partial<DeviceUpload> = {}): DeviceUpload => ({
    personnelId: nora.id,
    platformName: 'MACOS',
    platformVersion: '14.2',
    ...overrides,
  })
  const asset = (overrides: Partial<AssetCreate> = {}): AssetCreate => ({
    name: 'Billing database',
    description: 'Holds invoices',
    assetClassTypes: ['DATABASE'],
    assetType: 'VIRTUAL',
    ownerId: nora.userId,
    ...overrides,
  })
  return {
    name,
    accountId: id,
    client,
    connectionId,
    nora,
    tom,
    device,
    asset,
    report: async (overrides: Partial<DeviceUpload> = {}, to = connectionId) =>
      bodyOf(await client.upsertDevice({ params: { connectionId: to }, body: device(overrides) }), 201),
    add: async (overrides: Partial<AssetCreate> = {}) =>
      bodyOf(await client.createAsset({ body: asset(overrides) }), 201),
    events: () =>
      opened.platform.database.db
        .selectFrom('events')
        .select(['type', 'connection_id', 'metadata'])
        .where('account_id', '=', id)
        .where('category', 'in', ['DEVICE', 'MDM', 'ASSET'])
        .orderBy('id')
        .execute(),
  }
}

export async function newMdmConnection(client: PlatformClient): Promise<number> {
  return bodyOf(await client.createCustomConnection({ body: { name: 'MDM', providerTypes: ['MDM'] } }), 201).id
}
