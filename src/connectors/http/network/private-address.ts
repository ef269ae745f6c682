import { BlockList, isIP } from 'node:net'

/** Networks that the public internet does not route, and those of the machine itself or of its cloud (from IANA's special purpose registries). */
const specialNetworks = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // Clouds hand out credentials at 169.254.169.254.
  ['169.254.0.0', 16],
  // In Azure the host answers here, although the network is public.
  ['168.63.129.16', 32],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const

/** The networks that are not public within 2000::/3, which is the only public part of IPv6. */
const specialNetworks6 = [
  ['2001::', 23],
  ['2001:db8::', 32],
  // Holds an IPv4 address to which a relay would connect.
  ['2002::', 16],
  ['3fff::', 20],
] as const

const special = new BlockList()
for (const [network, prefix] of specialNetworks) special.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of specialNetworks6) special.addSubnet(network, prefix, 'ipv6')

const globalUnicast = new BlockList()
globalUnicast.addSubnet('2000::', 3, 'ipv6')

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

// ::ffff:0:0/96 is another spelling of IPv4, and 64:ff9b::/96 is IPv4 behind a translator.
const embedding = /^(?:::ffff:|64:ff9b::)([0-9a-f]{1,4}):([0-9a-f]{1,4})$/

/** Whether a text is an IP address of the public internet. */
export function isPublicAddress(address: string): boolean {
  const plain = plainAddress(address)
  const family = isIP(plain)
  if (family === 4) return !special.check(plain, 'ipv4')
  return family === 6 && globalUnicast.check(plain, 'ipv6') && !special.check(plain, 'ipv6')
}

/** Whether an IP address is this machine itself. */
export function isLoopback(address: string): boolean {
  const plain = plainAddress(address)
  const family = isIP(plain)
  return family !== 0 && loopback.check(plain, family === 4 ? 'ipv4' : 'ipv6')
}

/** The canonical spelling of an address. An IPv6 address that only wraps an IPv4 address becomes that IPv4 address. */
function plainAddress(address: string): string {
  if (isIP(address) !== 6 || address.includes('%')) return address.split('%')[0] ?? ''
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [, high, low] = embedding.exec(canonical) ?? (canonical === '64:ff9b::' ? ['', '0', '0'] : [])
  if (high === undefined || low === undefined) return canonical
  const bits = [Number.parseInt(high, 16), Number.parseInt(low, 16)]
  return bits.flatMap((pair) => [pair >> 8, pair & 0xff]).join('.')
}

/** Whether the name of a host alone says that it is this machine. */
export function isLocalHost({ hostname }: URL): boolean {
  return hostname === 'localhost' || isLoopback(hostname.replaceAll(/^\[|\]$/g, ''))
}
