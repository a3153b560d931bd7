import { expect } from 'chai'
import type { ErrorCode } from '../../../../core/contract/errors.ts'
import type { ProviderErrorResponse } from '../../../../core/contract/provider.ts'
import { gemini } from '../../../../providers/gemini/adapter.ts'

const TYPES = 'type.googleapis.com/google.rpc'

const retryIn = (retryDelay: string) => ({ '@type': `${TYPES}.RetryInfo`, retryDelay })
const over = (...quotaIds: string[]) => ({
  '@type': `${TYPES}.QuotaFailure`,
  violations: quotaIds.map((quotaId) => ({ quotaMetric: 'requests', quotaId })),
})
const because = (reason: string) => ({ '@type': `${TYPES}.ErrorInfo`, reason, domain: 'googleapis.com' })

describe('reading a failure of Gemini', () => {
  const table: [status: number, error: object, code: ErrorCode][] = [
    [400, { status: 'INVALID_ARGUMENT' }, 'provider_refused'],
    [400, { status: 'FAILED_PRECONDITION' }, 'provider_refused'],
    [
      400,
      { status: 'INVALID_ARGUMENT', details: [because('API_KEY_INVALID')] },
      'provider_authentication_error',
    ],
    [401, { status: 'UNAUTHENTICATED' }, 'provider_authentication_error'],
    [402, { status: 'RESOURCE_EXHAUSTED' }, 'provider_quota_exceeded'],
    [403, { status: 'PERMISSION_DENIED' }, 'provider_authentication_error'],
    [404, { status: 'NOT_FOUND' }, 'model_not_found'],
    [413, {}, 'provider_refused'],
    [429, { status: 'RESOURCE_EXHAUSTED' }, 'provider_rate_limited'],
    [429, { details: [over('GenerateRequestsPerMinutePerProjectPerModel')] }, 'provider_rate_limited'],
    [
      429,
      { details: [over('GenerateRequestsPerDayPerProjectPerModel-FreeTier'), retryIn('34s')] },
      'provider_quota_exceeded',
    ],
    [499, { status: 'CANCELLED' }, 'provider_error'],
    [500, { status: 'INTERNAL' }, 'provider_error'],
    [502, {}, 'provider_error'],
    [503, { status: 'UNAVAILABLE' }, 'provider_error'],
    [504, { status: 'DEADLINE_EXCEEDED' }, 'provider_timeout'],
    [302, {}, 'provider_error'],
  ]
  for (const [status, error, code] of table) {
    it(`reads ${status} ${JSON.stringify(error)} as ${code}`, () => {
      expect(readError(status, error).code).to.equal(code)
    })
  }

  it('passes on what the provider says about a bad request', () => {
    const error = readError(400, { message: 'Unknown name "foo".', status: 'INVALID_ARGUMENT' })
    expect(error).to.include({
      message: 'gemini refused the request: Unknown name "foo".',
      wireCode: 'provider_refused',
    })
  })

  it('says in the usual code that the conversation is too long', () => {
    const message = 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'
    expect(readError(400, { message })).to.include({ status: 400, wireCode: 'context_length_exceeded' })
  })

  it('names the model field when the model is unknown', () => {
    const error = readError(404, { message: 'models/gemini-9 is not found', status: 'NOT_FOUND' })
    expect(error).to.include({ status: 404, wireCode: 'model_not_found' })
    expect(error.details.param).to.equal('model')
  })

  it('never repeats what the provider says about our key', () => {
    const error = readError(403, { message: 'Key AIzaSyA1234567890bcdefg is not allowed.' })
    expect(error.message).to.equal("gemini refused the gateway's credentials.")
    expect(String(error.details.cause)).not.to.contain('AIza')
  })

  it('tells clients not to retry when the quota of the day is used up', () => {
    const { details } = readError(429, { details: [over('RequestsPerDay')] })
    expect(details.headers).to.deep.equal({ 'x-should-retry': 'false' })
  })

  describe('retry-after', () => {
    const waits: [details: object[], headers: ProviderErrorResponse['headers'], seconds: number][] = [
      [[retryIn('34s')], {}, 34],
      [[over('PerMinute'), retryIn('34.074824224s')], {}, 35],
      [[retryIn('0.2s')], {}, 1],
      [[retryIn('soon')], {}, 1],
      [[], {}, 1],
      [[retryIn('34s')], { 'retry-after': '7' }, 7],
    ]
    for (const [details, headers, seconds] of waits) {
      it(`of ${JSON.stringify({ details, headers })} on a 429 is ${seconds} s`, () => {
        expect(readError(429, { details }, headers).details.retryAfter).to.equal(seconds)
      })
    }

    it('is kept on other failures when the provider gives it', () => {
      expect(readError(503, { details: [retryIn('4s')] }).details.retryAfter).to.equal(4)
      expect(readError(503, {}).details).not.to.have.property('retryAfter')
    })
  })

  for (const body of ['', '<html>Bad gateway</html>', 'Not Found', '[]', 'null', '42', '{"error":']) {
    it(`does with the body ${JSON.stringify(body)}`, () => {
      expect(read(500, body)).to.include({
        code: 'provider_error',
        message: 'gemini reports a failure of its own.',
      })
      expect(read(400, body).message).to.equal('gemini refused the request: HTTP status 400')
    })
  }

  const error = { code: 400, message: 'No such field', status: 'INVALID_ARGUMENT' }
  for (const body of [{ error }, [{ error }], { error: 'No such field' }]) {
    it(`13: finds the message in ${JSON.stringify(body)}`, () => {
      expect(read(400, JSON.stringify(body)).message).to.equal('gemini refused the request: No such field')
    })
  }
})

function readError(status: number, error: object, headers: ProviderErrorResponse['headers'] = {}) {
  return read(status, JSON.stringify({ error: { code: status, ...error } }), headers)
}

function read(status: number, body: string, headers: ProviderErrorResponse['headers'] = {}) {
  return gemini.parseError({ provider: 'gemini', status, headers, body })
}
