import { byIdentityId } from '../../contract/platform/hris-user-identities.ts'
import type { AnyAnswer, Unreachable } from '../../http/client/answer.ts'
import type { RosterEntry } from '../../identity/record.ts'
import type { Shape } from '../../identity/shape/shape.ts'
import type { Platform } from '../context/context.ts'

/** The resource of a CUSTOM connection that takes records, and their shape. */
type RecordResource = { readonly resourceId: number; readonly shape: Shape }

/** A custom connection of the platform. `records` null: it takes people. */
export type Address = { readonly connectionId: number; readonly records: RecordResource | null }

/** A custom connection of the platform with the means to send requests to it. It counts them. */
export type Endpoint = {
  readonly platform: Platform
  readonly signal: AbortSignal
  /** The platform does not have the connection, so it has nobody. */
  readonly isMissing?: true
  connectionId: number
  records: RecordResource | null
  requests: number
}

/** A request to make with the client of the platform. */
export type Call<A> = (client: Platform['client'], options: { signal: AbortSignal }) => Promise<A>

/** Makes a request within the rate limit. `before` runs right before it; if it throws, the request is not made. */
export async function request<A extends AnyAnswer>(
  endpoint: Endpoint,
  call: Call<A>,
  before?: () => Promise<void>,
): Promise<A | Unreachable> {
  const { platform, signal } = endpoint
  return await platform.rateLimiter.send(async () => {
    await before?.()
    endpoint.requests++
    return await call(platform.client, { signal })
  }, signal)
}

/** Whether a person must have no record on the platform: records of leavers are removed. */
export function isRemoved({ records }: Pick<Address, 'records'>, record: RosterEntry['desired']): boolean {
  return records !== null && (record?.separatedAt ?? null) !== null
}

/** The path of the records of a CUSTOM connection. */
export function requireRecords({ connectionId, records }: Endpoint): {
  readonly params: { readonly connectionId: number; readonly resourceId: number }
  readonly shape: Shape
} {
  if (records === null) throw new Error('the connection takes people')
  return { params: { connectionId, resourceId: records.resourceId }, shape: records.shape }
}

/** The path parameters of a request about one person. */
export function personParams({ connectionId }: Endpoint, identityId: string) {
  return { connectionId, userIdentityId: byIdentityId(identityId) }
}
