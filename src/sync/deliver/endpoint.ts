import { byIdentityId } from '../../contract/platform/hris-user-identities.ts'
import type { AnyAnswer, Unreachable } from '../../http/client/answer.ts'
import type { Platform } from '../context.ts'

/** A custom connection of the platform as requests reach it. Counts them. */
export type Endpoint = {
  readonly platform: Platform
  readonly signal: AbortSignal
  connectionId: number
  requests: number
}

export type Call<A> = (client: Platform['client'], options: { signal: AbortSignal }) => Promise<A>

/** Makes a request at the platform's pace. `before` runs when its turn has come; what it throws keeps the request from being made. */
export async function request<A extends AnyAnswer>(
  endpoint: Endpoint,
  call: Call<A>,
  before?: () => Promise<void>,
): Promise<A | Unreachable> {
  const { platform, signal } = endpoint
  return await platform.pace.send(async () => {
    await before?.()
    endpoint.requests++
    return await call(platform.client, { signal })
  }, signal)
}

export function personParams({ connectionId }: Endpoint, identityId: string) {
  return { connectionId, userIdentityId: byIdentityId(identityId) }
}
