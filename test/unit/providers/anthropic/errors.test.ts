import { expect } from 'chai'
import type { ProviderErrorResponse } from '../../../../core/contract/provider.ts'
import { anthropic } from '../../../../providers/anthropic/adapter.ts'

describe('parsing an error of Anthropic', () => {
  const spent = (error_code: string) => ({ type: 'rate_limit_error', details: { error_code } })
  const bad = (message: string) => ({ type: 'invalid_request_error', message })
  it('allows failover if Anthropic is overloaded', () => {
    const error = readError(529, { type: 'overloaded_error', message: 'Overloaded' })
    expect(error).to.include({ status: 503, mayFailOver: true })
  })

  it("passes on the provider's message for a bad request", () => {
    const { message, wireCode, status } = readError(400, bad('messages.0: bad'))
    expect(message).to.equal('anthropic rejected the request: messages.0: bad')
    expect({ wireCode, status }).to.deep.equal({ wireCode: 'provider_refused', status: 400 })
  })

  for (const message of [
    'prompt is too long: 210000 tokens > 200000 maximum',
    'input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000',
  ]) {
    it(`sets the code context_length_exceeded for "${message}"`, () => {
      expect(readError(400, bad(message)).wireCode).to.equal('context_length_exceeded')
    })
  }

  it('names the model parameter for an unknown model', () => {
    const error = readError(404, { type: 'not_found_error', message: 'model: claude-9' })
    expect(error).to.include({ status: 404, wireCode: 'model_not_found' })
    expect(error.details.param).to.equal('model')
  })

  it("does not pass on the provider's message about the account", () => {
    const error = readError(401, { type: 'authentication_error', message: 'bad key sk-ant-api03-abcwxyz' })
    expect(error.message).to.equal(
      "anthropic rejected the gateway's credentials. Ask the gateway's operator to check the API key.",
    )
    expect(String(error.details.cause)).to.contain('authentication_error').and.not.to.contain('wxyz')
  })

  it('tells clients not to retry when the quota is used up', () => {
    for (const error of [readError(402, {}), readError(429, spent('enforced_spend_limit_reached'))]) {
      expect(error.details.headers).to.deep.equal({ 'x-should-retry': 'false' })
      expect(error.details).not.to.have.property('retryAfter')
    }
  })

  describe('retry-after', () => {
    const reset = (limit: string, seconds: number, remaining = '0') => ({
      [`anthropic-ratelimit-${limit}-remaining`]: remaining,
      [`anthropic-ratelimit-${limit}-reset`]: new Date(Date.now() + seconds * 1000).toISOString(),
    })
    const headers: [
      description: string,
      buildHeaders: () => ProviderErrorResponse['headers'],
      seconds: number,
    ][] = [
      ['the value of the header', () => ({ 'retry-after': '7', ...reset('tokens', 60) }), 7],
      [
        'the time until the exhausted limit is reset',
        () => ({ ...reset('requests', 9, '4'), ...reset('tokens', 30) }),
        30,
      ],
      [
        'the time until the last exhausted limit is reset',
        () => ({ ...reset('input-tokens', 40), ...reset('output-tokens', 20) }),
        40,
      ],
      ['at least one second', () => reset('requests', -5), 1],
      ['one second without any header', () => ({}), 1],
      ['one second for an invalid time', () => ({ 'anthropic-ratelimit-tokens-remaining': '0' }), 1],
    ]
    for (const [description, buildHeaders, seconds] of headers) {
      it(`is ${description}`, () => {
        const { details } = readError(429, { type: 'rate_limit_error' }, buildHeaders())
        expect(details.retryAfter).to.be.closeTo(seconds, seconds > 7 ? 1 : 0)
      })
    }

    it('is kept for other errors if the provider sends it', () => {
      expect(readError(529, {}, { 'retry-after': '4' }).details.retryAfter).to.equal(4)
      expect(readError(529, {}).details).not.to.have.property('retryAfter')
    })
  })
})

function readError(status: number, error: object, headers: ProviderErrorResponse['headers'] = {}) {
  return read(status, JSON.stringify({ type: 'error', error, request_id: 'req_1' }), headers)
}

function read(status: number, body: string, headers: ProviderErrorResponse['headers'] = {}) {
  return anthropic.parseError({ provider: 'anthropic', status, headers, body })
}
