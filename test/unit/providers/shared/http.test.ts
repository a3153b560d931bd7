import { inspect } from 'node:util'
import { expect } from 'chai'
import { GatewayError } from '../../../../core/contract/errors.ts'
import { toNetworkError } from '../../../../providers/shared/http.ts'

describe('explaining a failed request', () => {
  for (const [code, explained] of [
    ['ECONNREFUSED', 'provider_unreachable'],
    ['ECONNRESET', 'provider_unreachable'],
    ['ENOTFOUND', 'provider_unreachable'],
    ['UND_ERR_SOCKET', 'provider_unreachable'],
    ['CERT_HAS_EXPIRED', 'provider_unreachable'],
    ['ETIMEDOUT', 'provider_timeout'],
    ['UND_ERR_CONNECT_TIMEOUT', 'provider_timeout'],
    ['HPE_INVALID_CONSTANT', 'provider_error'],
  ] as const) {
    it(`reads ${code} as ${explained}, and tells no address`, () => {
      const cause = Object.assign(new Error('connect 10.0.0.1:443'), { code })
      const error = toNetworkError(cause, 'acme', undefined)
      expect(error).to.be.instanceOf(GatewayError).and.include({ code: explained })
      expect((error as GatewayError).cause)
        .to.have.property('message')
        .that.contains('connect 10.0.0.1:443')
      expect((error as GatewayError).message)
        .to.contain('acme')
        .and.not.contain('10.0.0.1')
    })
  }

  it('keeps back what a provider sent that is not HTTP: it may quote the request', () => {
    const cause = Object.assign(new Error('Expected HTTP/'), {
      code: 'HPE_INVALID_CONSTANT',
      data: 'a prompt',
    })
    const error = toNetworkError(cause, 'acme', undefined)
    expect(inspect(error, { depth: 9, showHidden: true })).not.to.contain('a prompt')
  })

  it('gives the reason why the request was broken off', () => {
    const cause = Object.assign(new Error('aborted'), { code: 'UND_ERR_ABORTED' })
    expect(toNetworkError(cause, 'acme', { reason: 'client left' })).to.equal('client left')
  })

  it('leaves what is explained already', () => {
    const error = new GatewayError('provider_error', 'acme sent a reply that is not JSON.')
    expect(toNetworkError(error, 'acme', undefined)).to.equal(error)
  })

  it('leaves a fault of our own program', () => {
    const error = new TypeError('x is not a function')
    expect(toNetworkError(error, 'acme', undefined)).to.equal(error)
  })
})
