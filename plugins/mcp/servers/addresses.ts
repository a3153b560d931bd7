import { type LookupAddress, type LookupAllOptions, lookup as resolve } from 'node:dns'
import { BlockList, isIP } from 'node:net'
import { addNetwork } from '../../../core/http/client-address.ts'

/** Tells which addresses tool servers may have. See docs/decisions/tools.md, "Private addresses". */
export interface AddressGuard {
  isAllowed(address: string): boolean
  /** Why a URL is not allowed, as the end of a sentence. Names are checked when they are resolved. */
  findIssue(url: URL): string | undefined
  /**
   * Resolves a name like `dns.lookup`, to allowed addresses only. Connections get the addresses that were
   * checked, so that a name cannot resolve to another one in between.
   */
  readonly lookup: typeof resolve
}

/** What is not on the public Internet: IANA's special-purpose registries, and multicast. */
const SPECIAL_NETWORKS = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4', '::/128', '64:ff9b:1::/48', '100::/64', '2001::/23', '2001:db8::/32'],
  ...['2002::/16', '3fff::/20', '5f00::/16', 'fc00::/7', 'fe80::/10', 'fec0::/10', 'ff00::/8'],
]

const LOOPBACK = ['127.0.0.0/8', '::1/128']

const REFUSED =
  'is a private address, which the gateway does not connect to. The setting mcp.allow_private_addresses ' +
  'allows some or all'

/**
 * `allowed`: the setting. Without it, loopback addresses are allowed if the gateway itself listens on one:
 * then whoever can call it can reach them anyway.
 */
export function createAddressGuard(
  allowed: boolean | readonly string[] | undefined,
  host: string,
): AddressGuard {
  const special = createNetworks(SPECIAL_NETWORKS)
  const loopback = createNetworks(LOOPBACK)
  const listed = createNetworks(Array.isArray(allowed) ? allowed : [])
  const allowsLoopback = allowed === undefined && (host === 'localhost' || loopback(host))

  function isAllowed(address: string): boolean {
    const plain = unwrapIPv4(address)
    if (isIP(plain) === 0) return false
    if (allowed === true || listed(plain)) return true
    return loopback(plain) ? allowsLoopback : !special(plain)
  }

  function findIssue({ hostname }: URL): string | undefined {
    const address = hostname.replace(/^\[|\]$/g, '')
    if (isIP(address) !== 0) return isAllowed(address) ? undefined : REFUSED
    const isLocal = /(^|\.)localhost\.?$/.test(hostname)
    return isLocal && !isAllowed('127.0.0.1') && !isAllowed('::1') ? REFUSED : undefined
  }

  const lookup = (
    name: string,
    options: LookupAllOptions,
    done: (error: Error | null, found: string | LookupAddress[], family?: number) => void,
  ) =>
    resolve(name, { ...options, all: true }, (error, addresses) => {
      if (error) return done(error, [])
      const usable = addresses.filter(({ address }) => isAllowed(address))
      const [first] = usable
      if (first === undefined) return done(new PrivateAddressError(name), [])
      if (options.all) done(null, usable)
      else done(null, first.address, first.family)
    })

  // The cast is safe: clients call it with options.
  return { isAllowed, findIssue, lookup: lookup as typeof resolve }
}

/** A name resolves to addresses only that the gateway does not connect to. */
class PrivateAddressError extends Error {
  readonly code = 'EPRIVATE'

  constructor(host: string) {
    super(`${host} ${REFUSED}`)
  }
}

function createNetworks(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const network of networks) addNetwork(list, network)
  return (address) => isIP(address) !== 0 && list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}

/** IPv4 addresses in IPv6: mapped, compatible, and those of NAT64. */
const WRAPPED = /^(?:::|::ffff:|::ffff:0:|64:ff9b::)([0-9a-f]{1,4}):([0-9a-f]{1,4})$/

/** Returns the IPv4 address that an IPv6 address stands for, or the address itself. */
function unwrapIPv4(address: string): string {
  const [withoutZone = ''] = address.split('%')
  if (isIP(withoutZone) !== 6) return withoutZone
  const normal = new URL(`http://[${withoutZone}]/`).hostname.slice(1, -1)
  const [, high = '', low = ''] = WRAPPED.exec(normal) ?? []
  if (high === '') return normal
  const bytes = [high, low].flatMap((group) => [
    Number.parseInt(group, 16) >> 8,
    Number.parseInt(group, 16) & 255,
  ])
  return bytes.join('.')
}
