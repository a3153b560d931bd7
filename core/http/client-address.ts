import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'

/** Returns the IP address of the client that sent a request; empty if the socket is already closed. */
export type ClientAddressResolver = (request: IncomingMessage) => string

/**
 * Creates a resolver that returns the socket's remote address, unless that is a trusted proxy. In that case
 * it walks `x-forwarded-for` from right to left and returns the first address that is not a trusted proxy, or
 * the last address before an entry that is not an IP address. `trustedProxies` are IP addresses or CIDR
 * blocks.
 */
export function createClientAddressResolver(trustedProxies: readonly string[]): ClientAddressResolver {
  const trusted = new BlockList()
  for (const text of trustedProxies) addNetwork(trusted, text)
  const isTrusted = (address: string) => trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
  return ({ socket, headers }) => {
    let address = unmapIPv4(socket.remoteAddress ?? '')
    const hops = String(headers['x-forwarded-for'] ?? '').split(',')
    while (isIP(address) !== 0 && isTrusted(address)) {
      const hop = unmapIPv4(hops.pop()?.trim() ?? '')
      if (isIP(hop) === 0) break
      address = hop
    }
    return address
  }
}

/** Returns undefined for an IP address or CIDR block, otherwise the issue. */
export function findNetworkIssue(text: string): string | undefined {
  try {
    addNetwork(new BlockList(), text)
    return undefined
  } catch {
    return 'must be an IP address or a CIDR block such as 10.0.0.0/8'
  }
}

/** Throws if the text is neither an IP address nor a CIDR block. */
export function addNetwork(list: BlockList, text: string): void {
  const [address = '', bits] = text.split('/')
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
  if (bits === undefined) list.addAddress(address, family)
  else list.addSubnet(address, Number(bits || Number.NaN), family)
}

/** Converts an IPv4-mapped IPv6 address such as `::ffff:10.0.0.1` to IPv4. */
function unmapIPv4(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '')
}

/**
 * Returns the key under which failures of an address are counted: the IPv4 address itself, or the /64 of an
 * IPv6 address. A /64 is what one customer gets, who could use a new address from it for every request.
 */
export function addressGroup(address: string): string {
  if (isIP(address) !== 6) return address
  const [withoutZone = ''] = address.split('%')
  const [head = '', tail] = withoutZone.split('::')
  const leading = head === '' ? [] : head.split(':')
  const trailing = tail ? tail.split(':') : []
  const zeros = tail === undefined ? 0 : 8 - leading.length - trailing.length
  const groups = [...leading, ...Array.from({ length: zeros }, () => '0'), ...trailing]
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}
