import type { Operation } from '../../contract/operation.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Caller } from './api-keys.ts'

const bearer = /^Bearer +(\S+) *$/i

/** The bearer token of an `Authorization` header, or null. */
export function bearerToken(header: string | undefined): string | null {
  return bearer.exec(header ?? '')?.[1] ?? null
}

/** Returns the caller, or refuses: unknown (401), terms not accepted (412), feature not in the plan (402), permission missing (403). */
export function authorize(caller: Caller | null, operation: Operation): Caller {
  if (!caller)
    throw new Refusal(
      401,
      'Unauthorized: the API key is missing, unknown, expired, revoked or not for use from this address',
    )
  if (!caller.termsAccepted) throw new Refusal(412, 'The account has not accepted the terms and conditions')
  if (operation.entitlement && !caller.entitlements.has(operation.entitlement)) {
    throw new Refusal(402, `The plan of the account does not include ${operation.entitlement}`)
  }
  if (!isPermitted(caller, operation)) {
    throw new Refusal(403, `The API key lacks the permission ${permissionsOf(operation).join(' or ')}`)
  }
  return caller
}

function isPermitted(caller: Caller, operation: Operation): boolean {
  const required = permissionsOf(operation)
  if (caller.access === 'all' || required.length === 0) return true
  if (caller.access === 'all-read') return operation.method === 'GET'
  return required.some((permission) => caller.permissions.has(permission))
}

function permissionsOf({ permission = [] }: Operation): readonly string[] {
  return typeof permission === 'string' ? [permission] : permission
}
