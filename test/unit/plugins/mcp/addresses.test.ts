import { promisify } from 'node:util'
import { expect } from 'chai'
import { createAddressGuard } from '../../../../plugins/mcp/servers/addresses.ts'

describe('addresses of tool servers', () => {
  const resolve = (guard: ReturnType<typeof createAddressGuard>, name: string, all: boolean) =>
    promisify<string, object, unknown>(guard.lookup as never)(name, { all })

  it('are checked when names are resolved, for every connection', async () => {
    const strict = createAddressGuard(undefined, '0.0.0.0')
    for (const all of [true, false]) {
      const error = await resolve(strict, 'localhost', all).then(
        () => undefined,
        (error: Error) => error,
      )
      expect(error).to.be.an('error').with.property('code', 'EPRIVATE')
      expect(error?.message).to.contain('mcp.allow_private_addresses')
    }
    const local = createAddressGuard(undefined, '127.0.0.1')
    expect(await resolve(local, 'localhost', false)).to.match(/^(127\.0\.0\.1|::1)$/)
    const listed = createAddressGuard(['127.0.0.1'], '0.0.0.0')
    expect(await resolve(listed, 'localhost', true)).to.deep.equal([{ address: '127.0.0.1', family: 4 }])
  })

  it('that are not public are refused in every spelling', () => {
    const { isAllowed } = createAddressGuard(false, '127.0.0.1')
    const refused = [
      ...['10.1.2.3', '127.0.0.1', '169.254.169.254', '192.168.0.1', '100.64.0.1', '0.0.0.0', '224.0.0.1'],
      ...['::1', '::', 'fe80::1%eth0', 'fd12::1', '::ffff:10.0.0.1', '::ffff:7f00:1', '64:ff9b::a00:1'],
      ...['2002:a00:1::', '::10.0.0.1', 'ff02::1', 'not-an-address', ''],
    ]
    expect(refused.filter(isAllowed)).to.deep.equal([])
    const allowed = ['93.184.216.34', '2606:4700::1111', '::ffff:93.184.216.34', '64:ff9b::5db8:d822']
    expect(allowed.filter((address) => !isAllowed(address))).to.deep.equal([])
    expect(refused.slice(0, 16).every(createAddressGuard(true, '0.0.0.0').isAllowed)).to.equal(true)
  })
})
