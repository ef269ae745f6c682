import { deliveryOperations } from '../../src/contract/platform/delivery-operations.ts'
import { createClient } from '../../src/http/client/client.ts'
import type { PlatformClient } from '../../src/sync/context/context.ts'
import type { Host, World } from './world.ts'

/** From now on the world reaches the platform through another client. */
export function reach(world: World, client: PlatformClient): void {
  Object.assign(world.sync, { platform: { ...world.sync.platform, client } })
}

/** A client of an address at which nobody listens. */
export function nobody(): PlatformClient {
  return createClient(deliveryOperations, { baseUrl: 'http://127.0.0.1:9/public/v2', bearer: 'key' })
}

/** A client whose key the platform does not know. */
export function withWrongKey({ platform }: Host): PlatformClient {
  return createClient(deliveryOperations, { baseUrl: platform.baseUrl, bearer: 'wrong' })
}

/** Answers for everybody whose key begins so that the platform will not have them. */
export function refusing(client: PlatformClient, start: string): PlatformClient {
  return {
    ...client,
    upsertHrisUserIdentities: async (input, options) => {
      const answer = await client.upsertHrisUserIdentities(input, options)
      if (answer.status !== 207 && answer.status !== 200 && answer.status !== 201) return answer
      const refused = { statusCode: 400, error: { statusCode: 400, name: 'BadRequest', message: 'this will not do' } }
      const body = answer.body.map((result, at) => (input.body[at]?.identityId.startsWith(start) ? refused : result))
      return { ...answer, body } as typeof answer
    },
  }
}
