import { expect } from 'chai'
import { deepseek } from '../../../../providers/deepseek/adapter.ts'

describe('parsing an error of DeepSeek', () => {
  it('tells clients not to retry a 402, and allows failover', () => {
    const error = read(402, 'Insufficient Balance')
    expect(error.details.headers).to.deep.equal({ 'x-should-retry': 'false' })
    expect(error.mayFailOver).to.equal(true)
    expect(error.message).not.to.contain('Balance')
  })

  it('sets the code context_length_exceeded for a prompt that is too long', () => {
    const error = read(
      400,
      "This model's maximum context length is 1000000 tokens. However, you requested more.",
    )
    expect(error.wireCode).to.equal('context_length_exceeded')
  })

  it('accepts a 429 without retry-after', () => {
    expect(read(429, 'Rate limit reached').details.retryAfter).to.equal(1)
  })
})

function read(status: number, message: string) {
  const error = { message, type: 'unknown_error', param: null, code: 'invalid_request_error' }
  return deepseek.parseError({
    provider: 'deepseek',
    status,
    headers: {},
    body: JSON.stringify({ error }),
  })
}
