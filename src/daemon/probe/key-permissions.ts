import type { Operation } from '../../contract/operation.ts'
import { deliveryOperations } from '../../contract/platform/delivery-operations.ts'
import { Failure } from '../../errors.ts'
import type { AnyAnswer } from '../../http/client/answer.ts'
import type { Client } from '../../http/client/client.ts'

/** A permission that an API key needs, and its purpose. */
type NeededPermission = {
  /** The operation that needs it. */
  readonly name: ProbeName
  /** Any one of them suffices. */
  readonly permissions: readonly string[]
  readonly purpose: string
  /** Whether runs stop without it. */
  readonly isVital: boolean
}

/** Whether the key has a permission. */
export type PermissionResult = Omit<NeededPermission, 'name'> & {
  /** Null if the answer does not show it. */
  readonly isGranted: boolean | null
}

/** What a key is used for: to send people, to send records of a shape of their own, or to probe the platform. */
export type KeyUse = 'people' | 'records' | 'probe'

const people: readonly KeyUse[] = ['people', 'probe']
const records: readonly KeyUse[] = ['records']

type Probe = {
  /** What it is needed for; left out: for everything. */
  readonly of?: readonly KeyUse[]
  readonly purpose: string
  readonly isVital: boolean
  readonly input?: { readonly params?: object; readonly query?: object }
  /** A body that no platform accepts. */
  readonly bodyJson?: string
}

/** No connection has this number, so a request that gets through changes nothing. */
const nowhere = { connectionId: 0 }
const noRecord = { ...nowhere, resourceId: 0, recordId: 'rollcall-asks-for-its-permissions' }
const noPerson = { ...nowhere, userIdentityId: 'identity-id:rollcall-asks-for-its-permissions' }

/** A request for each permission. Its parameters or body are invalid, so with the permission it is refused for that reason. */
const probes = {
  listCustomConnections: { purpose: 'find the connection', isVital: true, input: { query: { size: 1 } } },
  createCustomConnection: { purpose: 'create the connection, if it is missing', isVital: false, bodyJson: '{}' },
  deleteCustomConnection: {
    of: ['probe'],
    purpose: 'remove the connection of a probe',
    isVital: false,
    input: { params: nowhere },
  },
  upsertCustomDataRecords: {
    of: records,
    purpose: 'send records, also as a session',
    isVital: true,
    input: { params: noRecord },
    bodyJson: '{}',
  },
  updateCustomDataRecord: {
    of: records,
    purpose: 'send changes of records',
    isVital: false,
    input: { params: noRecord },
    bodyJson: '{}',
  },
  deleteCustomDataRecord: {
    of: records,
    purpose: 'remove records',
    isVital: false,
    input: { params: noRecord },
  },
  listHrisUserIdentities: {
    of: people,
    purpose: 'verify what the platform holds',
    isVital: true,
    input: { params: nowhere, query: { size: 1 } },
  },
  getHrisUserIdentity: { of: people, purpose: 'look up one person', isVital: true, input: { params: noPerson } },
  upsertHrisUserIdentities: {
    of: people,
    purpose: 'send people',
    isVital: true,
    input: { params: nowhere },
    bodyJson: '[]',
  },
  updateHrisUserIdentity: {
    of: people,
    purpose: 'send departures',
    isVital: true,
    input: { params: noPerson },
    bodyJson: '{}',
  },
  deleteHrisUserIdentity: {
    of: people,
    purpose: 'retract people who were sent in error',
    isVital: false,
    input: { params: noPerson },
  },
  listPersonnel: {
    of: ['people'],
    purpose: 'see whether departures took effect',
    isVital: false,
    input: { query: { size: 1 } },
  },
  getPersonnel: {
    of: ['people'],
    purpose: 'see whether the departure of one person took effect',
    isVital: false,
    input: { params: { personnelId: 0 } },
  },
  listEvents: {
    of: ['people'],
    purpose: 'see when identities were synced, and who edited people by hand',
    isVital: false,
    input: { query: { size: 1 } },
  },
  resetPersonnelSync: {
    of: ['people'],
    purpose: 'reset the sync of people who were edited by hand',
    isVital: false,
    bodyJson: '{}',
  },
} as const satisfies Partial<Record<keyof typeof deliveryOperations, Probe>>

type ProbeName = keyof typeof probes
const probeNames = Object.keys(probes) as ProbeName[]

/** The permissions that a key needs for these uses. */
export function neededPermissions(uses: readonly KeyUse[]): readonly NeededPermission[] {
  const names = probeNames.filter((name) => {
    const { of }: Probe = probes[name]
    return of === undefined || of.some((use) => uses.includes(use))
  })
  return names.map((name) => {
    const { permission = [] }: Operation = deliveryOperations[name]
    const { purpose, isVital } = probes[name]
    return { name, permissions: [permission].flat(), purpose, isVital }
  })
}

/**
 * Tests the permissions of a key, also for writing, without changing anything: writing requests name no existing connection or person and
 * hold nothing that could be stored. Throws `blocked` if the key itself is refused.
 */
export async function testPermissions(
  { client, baseUrl }: { readonly client: Client<typeof deliveryOperations>; readonly baseUrl: string },
  signal: AbortSignal,
  uses: readonly KeyUse[] = ['people'],
): Promise<PermissionResult[]> {
  const results: PermissionResult[] = []
  for (const { name, ...needed } of neededPermissions(uses)) {
    const { input = {}, bodyJson }: Probe = probes[name]
    // A request that is meant to be refused does not fit the types of its operation.
    const call = client[name] as (input: object, options: object) => Promise<AnyAnswer>
    const answer = await call(input, { signal, ...(bodyJson !== undefined && { bodyJson }) })
    results.push({ ...needed, isGranted: grantedBy(answer, baseUrl) })
  }
  return results
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
