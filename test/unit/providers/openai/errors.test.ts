import { expect } from 'chai'
import type { ErrorCode } from '../../../../core/contract/error-codes.ts'
import type { ProviderErrorResponse } from '../../../../core/contract/provider.ts'
import { openai } from '../../../../providers/openai/adapter.ts'

describe('parsing an error of OpenAI', () => {
  const table: [status: number, error: object, code: ErrorCode][] = [
    [400, { type: 'invalid_request_error', code: null }, 'provider_refused'],
    [400, { code: 'context_length_exceeded' }, 'context_length_exceeded'],
    [401, { code: 'invalid_api_key' }, 'provider_authentication_error'],
    [402, { message: 'Insufficient Balance' }, 'provider_quota_exceeded'],
    [403, { code: 'unsupported_country' }, 'provider_authentication_error'],
    [404, { code: 'model_not_found' }, 'model_not_found'],
    [404, { code: 'not_found' }, 'provider_refused'],
    [408, {}, 'provider_timeout'],
    [413, {}, 'provider_refused'],
    [422, {}, 'provider_refused'],
    [429, { code: 'rate_limit_exceeded' }, 'provider_rate_limited'],
    [429, { code: 'insufficient_quota' }, 'provider_quota_exceeded'],
    [429, { type: 'insufficient_quota' }, 'provider_quota_exceeded'],
    [429, { type: 'insufficient_quota', code: 'rate_limit_exceeded' }, 'provider_rate_limited'],
    [429, { code: 'credit_balance_exhausted' }, 'provider_quota_exceeded'],
    [429, { code: 'project_spend_limit_exceeded' }, 'provider_quota_exceeded'],
    [429, { code: 'organization_spend_limit_exceeded' }, 'provider_quota_exceeded'],
    [429, { code: 'organization_usage_limit_exceeded' }, 'provider_quota_exceeded'],
    [500, { type: 'server_error' }, 'provider_error'],
    [502, {}, 'provider_error'],
    [503, { code: 'server_is_overloaded' }, 'provider_overloaded'],
    [503, { code: 'slow_down' }, 'provider_rate_limited'],
    [504, {}, 'provider_timeout'],
    [529, {}, 'provider_overloaded'],
    [302, {}, 'provider_error'],
  ]
  for (const [status, error, code] of table) {
    it(`maps ${status} ${JSON.stringify(error)} to ${code}`, () => {
      expect(readError(status, error).code).to.equal(code)
    })
  }

  it("passes on the provider's message, parameter and code for a bad request", () => {
    const error = readError(400, {
      message: "This model's maximum context length is 128000 tokens.",
      type: 'invalid_request_error',
      param: 'messages',
      code: 'context_length_exceeded',
    })
    expect(error.message).to.equal(
      "openai rejected the request: This model's maximum context length is 128000 tokens.",
    )
    expect(error.details.param).to.equal('messages')
    expect(error.wireCode).to.equal('context_length_exceeded')
    expect(error.status).to.equal(400)
  })

  it('names the model parameter for an unknown model', () => {
    const error = readError(404, { message: 'The model `gpt-9` does not exist', code: 'model_not_found' })
    expect(error).to.include({ status: 404, wireCode: 'model_not_found' })
    expect(error.details.param).to.equal('model')
  })

  it("uses the gateway's code if the provider has none, or a number", () => {
    expect(readError(400, { code: null }).wireCode).to.equal('provider_refused')
    expect(readError(400, { code: 400 }).wireCode).to.equal('provider_refused')
  })

  it("does not pass on the provider's message about the API key", () => {
    const error = readError(401, { message: 'Incorrect API key provided: sk-proj-abc***wxyz.' })
    expect(error.message).to.equal(
      "openai rejected the gateway's credentials. Ask the gateway's operator to check the API key.",
    )
    expect(String(error.details.cause)).not.to.contain('wxyz')
  })

  it('redacts keys in messages', () => {
    const { message } = readError(400, { message: 'Bad header Bearer abc.def-123 with sk-proj-AbC_123456' })
    expect(message).to.equal('openai rejected the request: Bad header [redacted] with [redacted]')
  })

  it('tells clients not to retry when the quota is used up', () => {
    expect(readError(429, { code: 'insufficient_quota' }).details.headers).to.deep.equal({
      'x-should-retry': 'false',
    })
  })

  describe('retry-after', () => {
    const headers: [ProviderErrorResponse['headers'], number][] = [
      [{ 'retry-after': '7' }, 7],
      [{ 'retry-after': '0' }, 1],
      [{ 'retry-after': '1.2' }, 2],
      [{ 'retry-after-ms': '2400' }, 3],
      [{ 'retry-after-ms': '2400', 'retry-after': '60' }, 3],
      [{ 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }, 1],
      [{ 'retry-after': 'invalid' }, 1],
      [{}, 1],
    ]
    for (const [sent, seconds] of headers) {
      it(`is ${seconds} s for a 429 with the headers ${JSON.stringify(sent)}`, () => {
        const { details } = readError(429, { code: 'rate_limit_exceeded' }, sent)
        expect(details.retryAfter).to.equal(seconds)
      })
    }

    it('can be a date', () => {
      const inTenSeconds = new Date(Date.now() + 10_000).toUTCString()
      const { details } = readError(429, {}, { 'retry-after': inTenSeconds })
      expect(details.retryAfter).to.be.closeTo(10, 1)
    })

    it('is kept for other errors if the provider sends it', () => {
      expect(readError(503, {}, { 'retry-after': '4' }).details.retryAfter).to.equal(4)
      expect(readError(503, {}).details).not.to.have.property('retryAfter')
    })
  })

  for (const body of ['', '<html>Bad gateway</html>', '[]', 'null', '42', '{"error":null}', '{"error":']) {
    it(`accepts the body ${JSON.stringify(body)}`, () => {
      expect(read(500, body)).to.include({
        code: 'provider_error',
        message: 'openai returned a server error.',
      })
      expect(read(400, body).message).to.equal('openai rejected the request: HTTP status 400')
    })
  }

  for (const body of [
    { message: 'No such field' },
    { error: 'No such field' },
    [{ error: { message: 'No such field' } }],
    { detail: 'No such field' },
    { object: 'error', message: 'No such field', code: 400 },
  ]) {
    it(`finds the message in ${JSON.stringify(body)}`, () => {
      expect(read(400, JSON.stringify(body)).message).to.equal('openai rejected the request: No such field')
    })
  }
})

function readError(status: number, error: object, headers: ProviderErrorResponse['headers'] = {}) {
  return read(status, JSON.stringify({ error }), headers)
}

function read(status: number, body: string, headers: ProviderErrorResponse['headers'] = {}) {
  return openai.parseError({ provider: 'openai', status, headers, body })
}
