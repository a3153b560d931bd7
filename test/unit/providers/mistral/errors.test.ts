import { expect } from 'chai'
import type { ErrorCode } from '../../../../core/contract/error-codes.ts'
import { mistral } from '../../../../providers/mistral/adapter.ts'

const issue = (name: string) => ({
  type: 'extra_forbidden',
  loc: ['body', ...name.split('.')],
  msg: 'Extra inputs are not permitted',
  input: 'x',
})

describe('parsing an error of Mistral', () => {
  const table: [status: number, body: object, code: ErrorCode][] = [
    [
      400,
      { object: 'error', message: 'Bad', type: 'invalid_request_error', code: '3280' },
      'provider_refused',
    ],
    [
      400,
      { object: 'error', message: 'Invalid model: x', type: 'invalid_model', code: '1500' },
      'model_not_found',
    ],
    [401, { detail: 'Unauthorized' }, 'provider_authentication_error'],
    [401, { message: 'Unauthorized', request_id: 'r' }, 'provider_authentication_error'],
    [402, { object: 'error', message: 'Pay' }, 'provider_quota_exceeded'],
    [403, { object: 'error', message: 'No' }, 'provider_authentication_error'],
    [404, { object: 'error', message: 'No route' }, 'provider_refused'],
    [422, { detail: [issue('user')] }, 'provider_refused'],
    [
      429,
      { object: 'error', message: 'Rate limit', type: 'rate_limited', code: '1300' },
      'provider_rate_limited',
    ],
    [
      500,
      { object: 'error', message: 'Service unavailable', type: 'internal_error_proxy' },
      'provider_error',
    ],
    [502, {}, 'provider_error'],
    [503, { object: 'error', message: 'Overloaded', type: 'server_error' }, 'provider_overloaded'],
    [504, {}, 'provider_timeout'],
  ]
  for (const [status, body, code] of table) {
    it(`maps ${status} ${JSON.stringify(body)} to ${code}`, () => {
      expect(read(status, body).code).to.equal(code)
    })
  }

  it('passes on a message that is an object, a list, or a detail list', () => {
    const message = 'mistral rejected the request: user: Extra inputs are not permitted'
    for (const body of [
      { object: 'error', message: { detail: [issue('user')] }, type: 'invalid_request_error', code: null },
      { object: 'error', message: [issue('user')] },
      { detail: [issue('user')] },
    ]) {
      const error = read(422, body)
      expect(error.message).to.equal(message)
      expect(error.details.param).to.equal('user')
      expect(error.wireCode).to.equal('provider_refused')
    }
  })

  it('names all of several issues', () => {
    const error = read(422, { detail: [issue('seed'), issue('messages.0.name')] })
    expect(error.message).to.match(/seed: Extra [\w ]+; messages\.0\.name: Extra/)
    expect(error.details.param).to.equal('seed')
  })

  it('sets the code context_length_exceeded for a prompt that is too long', () => {
    const message = 'Prompt contains 140000 tokens, too large for model with 131072 maximum context length'
    expect(read(400, { object: 'error', message, code: '3051' }).wireCode).to.equal('context_length_exceeded')
  })

  it('keeps retry-after', () => {
    const failure = { provider: 'mistral', status: 429, headers: { 'retry-after': '7' }, body: '{}' }
    expect(mistral.parseError(failure).details.retryAfter).to.equal(7)
  })
})

function read(status: number, body: object) {
  return mistral.parseError({ provider: 'mistral', status, headers: {}, body: JSON.stringify(body) })
}
