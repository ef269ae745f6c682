import { BlockList, isIP, isIPv6 } from 'node:net'

/** Whether `address` is one of the addresses or lies in one of the networks; where none is named, every address does. */
export function isWithin(ranges: readonly string[], address: string): boolean {
  if (ranges.length === 0) return true
  // What a proxy passes on may be anything.
  if (isIP(address) === 0) return false
  const list = new BlockList()
  for (const range of ranges) addRange(list, range)
  // An IPv4 caller of a socket that takes both families comes as ::ffff:10.0.0.1, which BlockList understands.
  return list.check(address, familyOf(address))
}

function addRange(list: BlockList, range: string): void {
  const [address = '', prefix] = range.split('/')
  if (prefix === undefined) list.addAddress(address, familyOf(address))
  else list.addSubnet(address, Number(prefix), familyOf(address))
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4'
}
