import { inspect } from 'node:util'
import { expect } from 'chai'
import { GatewayError } from '../../../../core/contract/errors.ts'
import { toNetworkError } from '../../../../providers/shared/http.ts'

const unsent = { isSent: false, wasClosedIdle: false }
const sent = { isSent: true, wasClosedIdle: false }

describe('toNetworkError', () => {
  for (const [code, expected] of [
    ['ECONNREFUSED', 'provider_unreachable'],
    ['ECONNRESET', 'provider_unreachable'],
    ['ENOTFOUND', 'provider_unreachable'],
    ['UND_ERR_SOCKET', 'provider_unreachable'],
    ['CERT_HAS_EXPIRED', 'provider_unreachable'],
    ['ETIMEDOUT', 'provider_timeout'],
    ['UND_ERR_CONNECT_TIMEOUT', 'provider_timeout'],
    ['HPE_INVALID_CONSTANT', 'provider_error'],
  ] as const) {
    it(`maps ${code} to ${expected}, and does not reveal the address`, () => {
      const cause = Object.assign(new Error('connect 10.0.0.1:443'), { code })
      const error = toNetworkError(cause, 'acme', unsent)
      expect(error).to.be.instanceOf(GatewayError).and.include({ code: expected })
      expect((error as GatewayError).cause)
        .to.have.property('message')
        .that.contains('connect 10.0.0.1:443')
      expect((error as GatewayError).message)
        .to.contain('acme')
        .and.not.contain('10.0.0.1')
    })
  }

  it('does not keep an invalid response, which may quote the request', () => {
    const cause = Object.assign(new Error('Expected HTTP/'), {
      code: 'HPE_INVALID_CONSTANT',
      data: 'a prompt',
    })
    const error = toNetworkError(cause, 'acme', unsent)
    expect(inspect(error, { depth: 9, showHidden: true })).not.to.contain('a prompt')
  })

  it('says whether the provider may have executed the request', () => {
    const executed = [unsent, sent, { isSent: true, wasClosedIdle: true }].flatMap((call) =>
      ['ETIMEDOUT', 'ECONNRESET'].map((code) => {
        const error = toNetworkError(Object.assign(new Error('read'), { code }), 'acme', call)
        return (error as GatewayError).details.executed
      }),
    )
    expect(executed).to.deep.equal([undefined, undefined, 'maybe', 'maybe', undefined, undefined])
  })

  it('returns a GatewayError unchanged', () => {
    const error = new GatewayError('provider_error', 'acme sent a reply that is not valid JSON.')
    expect(toNetworkError(error, 'acme', unsent)).to.equal(error)
  })

  it('returns a bug of the gateway unchanged', () => {
    const error = new TypeError('x is not a function')
    expect(toNetworkError(error, 'acme', unsent)).to.equal(error)
  })
})
