import { expect } from 'chai'
import type { ProviderErrorResponse } from '../../../../core/contract/provider.ts'
import { openai } from '../../../../providers/openai/adapter.ts'

describe('parsing an error of OpenAI', () => {
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
