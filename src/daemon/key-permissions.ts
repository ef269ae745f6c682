import type { Operation } from '../contract/operation.ts'
import { deliveryOperations } from '../contract/platform/delivery-operations.ts'
import { Failure } from '../errors.ts'
import type { AnyAnswer } from '../http/client/answer.ts'
import type { Client } from '../http/client/client.ts'

/** What an API key has to be allowed, and what for. */
export type NeededPermission = {
  /** Any one of them suffices. */
  readonly permissions: readonly string[]
  readonly purpose: string
  /** Whether runs stop without it. */
  readonly isVital: boolean
}

export type TriedPermission = NeededPermission & {
  /** null: the answer does not tell. */
  readonly isGranted: boolean | null
}

type Probe = {
  readonly purpose: string
  readonly isVital: boolean
  readonly input?: { readonly params?: object; readonly query?: object }
  /** A body that no platform accepts. */
  readonly bodyText?: string
}

/** No connection has this number, so that whatever reaches it finds nothing to change. */
const nowhere = { connectionId: 0 }
const nobody = { ...nowhere, userIdentityId: 'identity-id:rollcall-asks-for-its-permissions' }

/** A request for each permission, which is refused for what it asks once the key was found to be allowed to ask. */
const probes = {
  listCustomConnections: { purpose: 'find the connection', isVital: true, input: { query: { size: 1 } } },
  createCustomConnection: { purpose: 'create the connection, if it is missing', isVital: false, bodyText: '{}' },
  listHrisUserIdentities: {
    purpose: 'read back what the platform holds',
    isVital: true,
    input: { params: nowhere, query: { size: 1 } },
  },
  getHrisUserIdentity: { purpose: 'read back one person', isVital: true, input: { params: nobody } },
  upsertHrisUserIdentities: { purpose: 'send people', isVital: true, input: { params: nowhere }, bodyText: '[]' },
  updateHrisUserIdentity: { purpose: 'send departures', isVital: true, input: { params: nobody }, bodyText: '{}' },
  deleteHrisUserIdentity: {
    purpose: 'take back people who were sent in error',
    isVital: false,
    input: { params: nobody },
  },
  listPersonnel: { purpose: 'see whether departures took effect', isVital: false, input: { query: { size: 1 } } },
  getPersonnel: {
    purpose: 'see whether the departure of one person took effect',
    isVital: false,
    input: { params: { personnelId: 0 } },
  },
} as const satisfies Partial<Record<keyof typeof deliveryOperations, Probe>>

type ProbeName = keyof typeof probes
const probeNames = Object.keys(probes) as ProbeName[]

/** What Rollcall asks of a key. */
export const neededPermissions: readonly NeededPermission[] = probeNames.map((name) => needed(name))

/**
 * Tries what a key may do, the writing as well, and changes nothing: the requests that write name no connection and no person that
 * there is, and hold nothing that could be stored. Throws `blocked` where the key is refused as such.
 */
export async function tryPermissions(
  { client, baseUrl }: { readonly client: Client<typeof deliveryOperations>; readonly baseUrl: string },
  signal: AbortSignal,
): Promise<TriedPermission[]> {
  const tried: TriedPermission[] = []
  for (const name of probeNames) {
    const { input = {}, bodyText }: Probe = probes[name]
    // A request that is meant to be refused does not fit the types of its operation.
    const call = client[name] as (input: object, options: object) => Promise<AnyAnswer>
    const answer = await call(input, { signal, ...(bodyText !== undefined && { bodyText }) })
    tried.push({ ...needed(name), isGranted: grantedBy(answer, baseUrl) })
  }
  return tried
}

function needed(name: ProbeName): NeededPermission {
  const { permission = [] }: Operation = deliveryOperations[name]
  const { purpose, isVital } = probes[name]
  return { permissions: [permission].flat(), purpose, isVital }
}

function grantedBy(answer: AnyAnswer, baseUrl: string): boolean | null {
  switch (answer.status) {
    case 'unreachable':
      throw new Failure('platform_unreachable', `${baseUrl}: ${answer.message}`)
    case 'unreadable':
      return null
    case 'undeclared':
      return answer.httpStatus >= 500 || answer.httpStatus === 429 ? null : answer.httpStatus !== 403
    case 401:
    case 402:
    case 412: {
      const message = 'error' in answer ? answer.error.message : ''
      throw new Failure('blocked', `${baseUrl} answers ${answer.status}: ${message}`)
    }
    default:
      return answer.status >= 500 ? null : answer.status !== 403
  }
}
