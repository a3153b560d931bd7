import { expect } from 'chai'
import type { ProviderErrorResponse } from '../../../../core/contract/provider.ts'
import { gemini } from '../../../../providers/gemini/adapter.ts'

const TYPES = 'type.googleapis.com/google.rpc'

const retryIn = (retryDelay: string) => ({ '@type': `${TYPES}.RetryInfo`, retryDelay })
const over = (...quotaIds: string[]) => ({
  '@type': `${TYPES}.QuotaFailure`,
  violations: quotaIds.map((quotaId) => ({ quotaMetric: 'requests', quotaId })),
})

describe('parsing an error of Gemini', () => {
  it("passes on the provider's message for a bad request", () => {
    const error = readError(400, { message: 'Unknown name "foo".', status: 'INVALID_ARGUMENT' })
    expect(error).to.include({
      message: 'gemini rejected the request: Unknown name "foo".',
      wireCode: 'provider_refused',
    })
  })

  it('sets the code context_length_exceeded for a conversation that is too long', () => {
    const message = 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'
    expect(readError(400, { message })).to.include({ status: 400, wireCode: 'context_length_exceeded' })
  })

  it('names the model parameter for an unknown model', () => {
    const error = readError(404, { message: 'models/gemini-9 is not found', status: 'NOT_FOUND' })
    expect(error).to.include({ status: 404, wireCode: 'model_not_found' })
    expect(error.details.param).to.equal('model')
  })

  it("does not pass on the provider's message about the API key", () => {
    const error = readError(403, { message: 'Key AIzaSyA1234567890bcdefg is not allowed.' })
    expect(error.message).to.equal(
      "gemini rejected the gateway's credentials. Ask the gateway's operator to check the API key.",
    )
    expect(String(error.details.cause)).not.to.contain('AIza')
  })

  it('tells clients not to retry when the daily quota is used up', () => {
    const { details } = readError(429, { details: [over('RequestsPerDay')] })
    expect(details.headers).to.deep.equal({ 'x-should-retry': 'false' })
  })

  describe('retry-after', () => {
    const waits: [details: object[], headers: ProviderErrorResponse['headers'], seconds: number][] = [
      [[retryIn('34s')], {}, 34],
      [[over('PerMinute'), retryIn('34.074824224s')], {}, 35],
      [[retryIn('0.2s')], {}, 1],
      [[retryIn('invalid')], {}, 1],
      [[], {}, 1],
      [[retryIn('34s')], { 'retry-after': '7' }, 7],
    ]
    for (const [details, headers, seconds] of waits) {
      it(`is ${seconds} s for a 429 with ${JSON.stringify({ details, headers })}`, () => {
        expect(readError(429, { details }, headers).details.retryAfter).to.equal(seconds)
      })
    }

    it('is kept for other errors if the provider sends it', () => {
      expect(readError(503, { details: [retryIn('4s')] }).details.retryAfter).to.equal(4)
      expect(readError(503, {}).details).not.to.have.property('retryAfter')
    })
  })

  const error = { code: 400, message: 'No such field', status: 'INVALID_ARGUMENT' }
  for (const body of [{ error }, [{ error }], { error: 'No such field' }]) {
    it(`finds the message in ${JSON.stringify(body)}`, () => {
      expect(read(400, JSON.stringify(body)).message).to.equal('gemini rejected the request: No such field')
    })
  }
})

function readError(status: number, error: object, headers: ProviderErrorResponse['headers'] = {}) {
  return read(status, JSON.stringify({ error: { code: status, ...error } }), headers)
}

function read(status: number, body: string, headers: ProviderErrorResponse['headers'] = {}) {
  return gemini.parseError({ provider: 'gemini', status, headers, body })
}
