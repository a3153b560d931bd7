import { expect } from 'chai'
import { mistral } from '../../../../providers/mistral/adapter.ts'

const issue = (name: string) => ({
  type: 'extra_forbidden',
  loc: ['body', ...name.split('.')],
  msg: 'Extra inputs are not permitted',
  input: 'x',
})

describe('parsing an error of Mistral', () => {
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
