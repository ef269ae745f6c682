import type { IdentityRecord } from '../../../src/contract/platform/hris-user-identities.ts'
import { bodyOf, newHrisConnection, type PlatformClient } from './platforms.ts'

/** A separate connection for a test, with shorthands for frequent requests. */
export async function newPeople(client: PlatformClient) {
  const params = { connectionId: await newHrisConnection(client) }
  const named = (key: string) => ({ ...params, userIdentityId: `identity-id:${key}` as const })
  return {
    params,
    named,
    send: (...items: readonly unknown[]) =>
      client.upsertHrisUserIdentities({ params, body: items as IdentityRecord[] }),
    put: async (...records: readonly IdentityRecord[]) => {
      const answer = await client.upsertHrisUserIdentities({ params, body: [...records] })
      if (answer.status !== 200 && answer.status !== 201) throw new Error(`put failed: ${JSON.stringify(answer)}`)
      return answer.body
    },
    get: async (key: string) => bodyOf(await client.getHrisUserIdentity({ params: named(key) }), 200),
    update: (key: string, body: object) => client.updateHrisUserIdentity({ params: named(key), body }),
    delete: (key: string) => client.deleteHrisUserIdentity({ params: named(key) }),
  }
}
