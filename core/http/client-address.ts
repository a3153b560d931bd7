import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'

/** Says from which address a request comes. */
export type ClientAddressResolver = (request: IncomingMessage) => string

/**
 * The address at the other end of the socket. Only when that is a trusted proxy, `x-forwarded-for` is read, from its end: what
 * trusted proxies added is believed, and the first address that is none of theirs is the client's.
 */
export function createClientAddressResolver(trustedProxies: readonly string[]): ClientAddressResolver {
  const trusted = new BlockList()
  for (const text of trustedProxies) addNetwork(trusted, text)
  const isTrusted = (address: string) => trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
  return ({ socket, headers }) => {
    let address = plainAddress(socket.remoteAddress ?? '')
    const hops = String(headers['x-forwarded-for'] ?? '').split(',')
    while (isIP(address) !== 0 && isTrusted(address)) {
      const hop = plainAddress(hops.pop()?.trim() ?? '')
      if (isIP(hop) === 0) break
      address = hop
    }
    return address
  }
}

/** Undefined for an address or a network such as `10.0.0.0/8`; else what is allowed. */
export function findNetworkIssue(text: string): string | undefined {
  try {
    addNetwork(new BlockList(), text)
    return undefined
  } catch {
    return 'must be an address or a network such as 10.0.0.0/8'
  }
}

function addNetwork(list: BlockList, text: string): void {
  const [address = '', bits] = text.split('/')
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
  if (bits === undefined) list.addAddress(address, family)
  else list.addSubnet(address, Number(bits || Number.NaN), family)
}

/** An IPv4 address as such, also where a socket of IPv6 shows it. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '')
}

/**
 * Whom an address stands for when failures are counted: itself, or its /64 of IPv6. That is what one customer gets, who may use a new
 * address of it for every request.
 */
export function addressGroup(address: string): string {
  if (isIP(address) !== 6) return address
  const [bare = ''] = address.split('%')
  const [head = '', tail] = bare.split('::')
  const front = head === '' ? [] : head.split(':')
  const back = tail ? tail.split(':') : []
  const missing = tail === undefined ? 0 : 8 - front.length - back.length
  const groups = [...front, ...Array.from({ length: missing }, () => '0'), ...back]
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}
