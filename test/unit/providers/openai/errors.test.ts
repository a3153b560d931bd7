import { expect } from 'chai'
import type { ErrorCode } from '../../../../core/contract/errors.ts'
import type { ProviderErrorResponse } from '../../../../core/contract/provider.ts'
import { openai } from '../../../../providers/openai/adapter.ts'

describe('reading a failure of OpenAI', () => {
  const table: [status: number, error: object, code: ErrorCode][] = [
    [400, { type: 'invalid_request_error', code: null }, 'provider_refused'],
    [400, { code: 'context_length_exceeded' }, 'provider_refused'],
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
    [503, { code: 'server_is_overloaded' }, 'provider_error'],
    [503, { code: 'slow_down' }, 'provider_rate_limited'],
    [504, {}, 'provider_timeout'],
    [529, {}, 'provider_error'],
    [302, {}, 'provider_error'],
  ]
  for (const [status, error, code] of table) {
    it(`reads ${status} ${JSON.stringify(error)} as ${code}`, () => {
      expect(readError(status, error).code).to.equal(code)
    })
  }

  it('passes on what the provider says about a bad request', () => {
    const error = readError(400, {
      message: "This model's maximum context length is 128000 tokens.",
      type: 'invalid_request_error',
      param: 'messages',
      code: 'context_length_exceeded',
    })
    expect(error.message).to.equal(
      "openai refused the request: This model's maximum context length is 128000 tokens.",
    )
    expect(error.details.param).to.equal('messages')
    expect(error.wireCode).to.equal('context_length_exceeded')
    expect(error.status).to.equal(400)
  })

  it('names the model field when the model is unknown', () => {
    const error = readError(404, { message: 'The model `gpt-9` does not exist', code: 'model_not_found' })
    expect(error).to.include({ status: 404, wireCode: 'model_not_found' })
    expect(error.details.param).to.equal('model')
  })

  it('keeps our own code where the provider has none, or a number', () => {
    expect(readError(400, { code: null }).wireCode).to.equal('provider_refused')
    expect(readError(400, { code: 400 }).wireCode).to.equal('provider_refused')
  })

  it('never repeats what the provider says about our key', () => {
    const error = readError(401, { message: 'Incorrect API key provided: sk-proj-abc***wxyz.' })
    expect(error.message).to.equal("openai refused the gateway's credentials.")
    expect(String(error.details.cause)).not.to.contain('wxyz')
  })

  it('blots out keys in a message that it passes on', () => {
    const { message } = readError(400, { message: 'Bad header Bearer abc.def-123 with sk-proj-AbC_123456' })
    expect(message).to.equal('openai refused the request: Bad header [redacted] with [redacted]')
  })

  it('tells clients not to retry when the money is gone', () => {
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
      [{ 'retry-after': 'soon' }, 1],
      [{}, 1],
    ]
    for (const [given, seconds] of headers) {
      it(`of ${JSON.stringify(given)} on a 429 is ${seconds} s`, () => {
        const { details } = readError(429, { code: 'rate_limit_exceeded' }, given)
        expect(details.retryAfter).to.equal(seconds)
      })
    }

    it('may be a date', () => {
      const inTenSeconds = new Date(Date.now() + 10_000).toUTCString()
      const { details } = readError(429, {}, { 'retry-after': inTenSeconds })
      expect(details.retryAfter).to.be.closeTo(10, 1)
    })

    it('is kept on other failures when the provider gives it', () => {
      expect(readError(503, {}, { 'retry-after': '4' }).details.retryAfter).to.equal(4)
      expect(readError(503, {}).details).not.to.have.property('retryAfter')
    })
  })

  for (const body of ['', '<html>Bad gateway</html>', '[]', 'null', '42', '{"error":null}', '{"error":']) {
    it(`does with the body ${JSON.stringify(body)}`, () => {
      expect(read(500, body)).to.include({
        code: 'provider_error',
        message: 'openai reports a failure of its own.',
      })
      expect(read(400, body).message).to.equal('openai refused the request: HTTP status 400')
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
      expect(read(400, JSON.stringify(body)).message).to.equal('openai refused the request: No such field')
    })
  }
})

function readError(status: number, error: object, headers: ProviderErrorResponse['headers'] = {}) {
  return read(status, JSON.stringify({ error }), headers)
}

function read(status: number, body: string, headers: ProviderErrorResponse['headers'] = {}) {
  return openai.parseError({ provider: 'openai', status, headers, body })
}
