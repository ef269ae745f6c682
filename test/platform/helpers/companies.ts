import { expect } from 'vitest'
import type { IdentityRecord } from '../../../src/contract/platform/hris-user-identities.ts'
import type { Person } from '../../../src/contract/platform/personnel.ts'
import { SeedDocument } from '../../../src/platform/seed/document.ts'
import { bodyOf, entitlement, newHrisConnection, type TestPlatform } from './platforms.ts'

/** A separate account for a test, with one HRIS connection and the people whom a directory already knows. */
export async function newCompany(
  opened: TestPlatform,
  people: readonly { email: string; firstName: string; lastName: string }[] = [],
) {
  const { id, name, client } = await opened.newAccount()
  const account = { name, entitlements: [entitlement], termsAcceptedAt: null, people: [...people] }
  await opened.operator.seed({ body: SeedDocument.parse({ accounts: [account] }) })
  const connectionId = await newHrisConnection(client)
  const persons = async () => {
    const list = await client.listPersonnel({ query: { 'expand[]': ['user'], size: 500 } })
    return bodyOf(list, 200).data
  }
  return {
    id,
    name,
    client,
    connectionId,
    send: async (records: readonly IdentityRecord[], to = connectionId) => {
      const answer = await client.upsertHrisUserIdentities({ params: { connectionId: to }, body: [...records] })
      expect([200, 201]).toContain(answer.status)
    },
    delete: (key: string) =>
      client.deleteHrisUserIdentity({ params: { connectionId, userIdentityId: `identity-id:${key}` } }),
    sync: () => opened.operator.syncIdentities({ body: { account: name } }),
    persons,
    person: async (email: string): Promise<Person> =>
      bodyOf(
        await client.getPersonnel({ params: { personnelId: `email:${email}` }, query: { 'expand[]': ['user'] } }),
        200,
      ),
    setByHand: async (email: string, status: Person['employmentStatus']) => {
      const { db } = opened.platform.database
      const personnel = bodyOf(await client.getPersonnel({ params: { personnelId: `email:${email}` }, query: {} }), 200)
      await db
        .updateTable('personnel')
        .set({
          employment_status: status,
          status_updated_at: opened.clock.now(),
          not_human_reason: 'a shared mailbox',
        })
        .where('id', '=', personnel.id)
        .execute()
      return personnel.id
    },
  }
}
