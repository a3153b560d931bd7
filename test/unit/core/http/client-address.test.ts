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

describe('the address of a client', () => {
  const read = createClientAddressResolver(['10.0.0.0/8', '192.0.2.9', 'fd00::/8'])
  const cases: readonly [what: string, socket: string, forwarded: string | undefined, address: string][] = [
    ['is the socket’s', '203.0.113.1', undefined, '203.0.113.1'],
    ['is the socket’s when that is no proxy', '203.0.113.1', '198.51.100.1', '203.0.113.1'],
    ['is what a proxy says', '10.1.1.1', '198.51.100.1', '198.51.100.1'],
    ['is what the outermost proxy says', '10.1.1.1', '1.1.1.1, 198.51.100.1, 192.0.2.9', '198.51.100.1'],
    ['is the proxy’s when it says nothing', '10.1.1.1', undefined, '10.1.1.1'],
    ['is the last proxy’s when nobody else is named', '10.1.1.1', '10.2.2.2', '10.2.2.2'],
    ['is the last that can be read', '10.1.1.1', '198.51.100.1, nonsense, 10.2.2.2', '10.2.2.2'],
    ['is IPv4 where a socket of IPv6 shows it', '::ffff:10.1.1.1', '::ffff:198.51.100.1', '198.51.100.1'],
    ['may be IPv6', 'fd00::1', '2001:db8::1', '2001:db8::1'],
    ['is none where there is none', '', '198.51.100.1', ''],
  ]
  for (const [what, socket, forwarded, address] of cases) {
    it(what, () => {
      expect(read(request(socket, forwarded))).to.equal(address)
    })
  }

  it('stands for its /64 in IPv6, however it is written', () => {
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

describe('a network of proxies', () => {
  it('is an address, or one with a length', () => {
    for (const text of ['10.0.0.1', '10.0.0.0/8', '::1', 'fd00::/8', '0.0.0.0/0'])
      expect(findNetworkIssue(text), text).to.equal(undefined)
    for (const text of ['', 'localhost', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/x', 'fd00::/129', '10.0.0/8'])
      expect(findNetworkIssue(text), text).to.be.a('string')
  })
})
