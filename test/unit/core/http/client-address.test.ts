import type { IncomingMessage } from 'node:http'
import { expect } from 'chai'
import {
  addressGroup,
  createClientAddressResolver,
  findNetworkIssue,
} from '../../../../core/http/client-address.ts'

const request = (remoteAddress: string, forwarded?: string) =>
  ({
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  }) as unknown as IncomingMessage

describe('resolving the client address', () => {
  const resolveAddress = createClientAddressResolver(['10.0.0.0/8', '192.0.2.9', 'fd00::/8'])
  const cases: readonly [title: string, socket: string, forwarded: string | undefined, address: string][] = [
    ['returns the socket address', '203.0.113.1', undefined, '203.0.113.1'],
    ['ignores x-forwarded-for of an untrusted socket', '203.0.113.1', '198.51.100.1', '203.0.113.1'],
    ['returns the address that a proxy forwards', '10.1.1.1', '198.51.100.1', '198.51.100.1'],
    [
      'returns the address that the outermost trusted proxy forwards',
      '10.1.1.1',
      '1.1.1.1, 198.51.100.1, 192.0.2.9',
      '198.51.100.1',
    ],
    ['returns the proxy address without x-forwarded-for', '10.1.1.1', undefined, '10.1.1.1'],
    ['returns the last proxy if all addresses are trusted', '10.1.1.1', '10.2.2.2', '10.2.2.2'],
    ['stops at an invalid entry', '10.1.1.1', '198.51.100.1, nonsense, 10.2.2.2', '10.2.2.2'],
    ['converts IPv4-mapped IPv6 addresses', '::ffff:10.1.1.1', '::ffff:198.51.100.1', '198.51.100.1'],
    ['supports IPv6', 'fd00::1', '2001:db8::1', '2001:db8::1'],
    ['returns an empty string for a closed socket', '', '198.51.100.1', ''],
  ]
  for (const [title, socket, forwarded, address] of cases) {
    it(title, () => {
      expect(resolveAddress(request(socket, forwarded))).to.equal(address)
    })
  }

  it('groups IPv6 addresses by /64 in any notation', () => {
    for (const text of [
      '2001:db8:0:1::1',
      '2001:DB8::1:0:0:0:2',
      '2001:0db8:0000:0001:ffff::',
      '2001:db8:0:1:2:3:4:5%eth0',
    ])
      expect(addressGroup(text), text).to.equal('2001:db8:0:1::/64')
    expect(addressGroup('::1')).to.equal('0:0:0:0::/64')
    expect(addressGroup('fe80::')).to.equal('fe80:0:0:0::/64')
    expect(addressGroup('198.51.100.1')).to.equal('198.51.100.1')
  })
})

describe('validating a trusted proxy', () => {
  it('accepts IP addresses and CIDR blocks only', () => {
    for (const text of ['10.0.0.1', '10.0.0.0/8', '::1', 'fd00::/8', '0.0.0.0/0'])
      expect(findNetworkIssue(text), text).to.equal(undefined)
    for (const text of ['', 'localhost', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/x', 'fd00::/129', '10.0.0/8'])
      expect(findNetworkIssue(text), text).to.be.a('string')
  })
})
