import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { unreadable } from '../../file/failures.ts'
import { isLocalHost } from '../network/private-address.ts'
import { toNetworkFailure } from './failures.ts'
import { isLoopback, isPublicAddress } from './private-address.ts'

/** Resolves a host name to its addresses. Throws the error of the resolver. */
export type ResolveHost = (host: string) => Promise<readonly LookupAddress[]>

/** All addresses of a host that the resolver of this machine knows. */
export function resolveHost(host: string): Promise<LookupAddress[]> {
  return lookup(host, { all: true })
}

type AddressRules = { readonly allowPrivate: boolean; readonly insecure: boolean; readonly resolve: ResolveHost }

/** Resolves the host of `url` once. Refuses the host if any of its addresses is not allowed. */
export async function resolveCheckedAddresses(
  url: URL,
  { allowPrivate, insecure, resolve }: AddressRules,
): Promise<readonly LookupAddress[]> {
  const host = url.hostname.replaceAll(/^\[|\]$/g, '')
  const addresses = isIP(host) ? [{ address: host, family: isIP(host) }] : await lookUp(host, resolve)
  const privateAddress = addresses.find(({ address }) => !isPublicAddress(address))
  if (privateAddress && !allowPrivate)
    throw unreadable(
      `${isIP(host) ? `${host} is` : `${host} leads to ${privateAddress.address}, which is`} no address of the public internet`,
      'check the address; one of your own network needs allowPrivate: true in the configuration',
    )
  const leavesMachineUnencrypted =
    url.protocol === 'http:' && !insecure && !addresses.every(({ address }) => isLoopback(address))
  if (leavesMachineUnencrypted && isLocalHost(url))
    throw unreadable(`${host} is not this machine`, 'write https:// in url')
  return addresses
}

/** A lookup that always returns these addresses, so that connections go only to addresses that were checked. */
export function fixedLookup(addresses: readonly LookupAddress[]): LookupFunction {
  return (_host, { all }, done) => {
    const [first] = addresses
    if (all) done(null, [...addresses])
    else done(null, first?.address ?? '', first?.family)
  }
}

async function lookUp(host: string, resolve: ResolveHost): Promise<readonly LookupAddress[]> {
  try {
    return await resolve(host)
  } catch (error) {
    throw toNetworkFailure(error, host)
  }
}
