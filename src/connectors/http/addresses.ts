import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { unreadable } from '../file/failures.ts'
import { brokenRequest } from './failures.ts'
import { isLoopback, isPublicAddress } from './private-address.ts'
import { isLocalHost } from './settings.ts'

export type ResolveHost = (host: string) => Promise<readonly LookupAddress[]>

/** All addresses of a host that the resolver of this machine knows. */
export function resolveHost(host: string): Promise<LookupAddress[]> {
  return lookup(host, { all: true })
}

type Rules = { readonly allowPrivate: boolean; readonly insecure: boolean; readonly resolve: ResolveHost }

/** The addresses of a host. They are resolved once, and each is checked. One address that is not allowed refuses the host. */
export async function resolveCheckedAddresses(
  url: URL,
  { allowPrivate, insecure, resolve }: Rules,
): Promise<readonly LookupAddress[]> {
  const host = url.hostname.replaceAll(/^\[|\]$/g, '')
  const addresses = isIP(host) ? [{ address: host, family: isIP(host) }] : await resolved(host, resolve)
  const hidden = addresses.find(({ address }) => !isPublicAddress(address))
  if (hidden && !allowPrivate)
    throw unreadable(
      `${host} leads to ${hidden.address}, which is no address of the public internet`,
      'check url, or write allowPrivate: true where that is meant',
    )
  const leaves = url.protocol === 'http:' && !insecure && !addresses.every(({ address }) => isLoopback(address))
  if (leaves && isLocalHost(url)) throw unreadable(`${host} is not this machine`, 'write https:// in url')
  return addresses
}

/** A look-up that always gives exactly these addresses, so that connections go only to addresses that were checked. */
export function fixedLookup(addresses: readonly LookupAddress[]): LookupFunction {
  return (_host, { all }, done) => {
    const [first] = addresses
    if (all) done(null, [...addresses])
    else done(null, first?.address ?? '', first?.family)
  }
}

async function resolved(host: string, resolve: ResolveHost): Promise<readonly LookupAddress[]> {
  try {
    return await resolve(host)
  } catch (error) {
    throw brokenRequest(error, host)
  }
}
