import { expect } from 'chai'
import {
  type ErrorCode,
  type ErrorDetails,
  GatewayError,
  type Reply,
  ReplyEvent,
  type ReplyingExchange,
  type Route,
  type Target,
} from '../../../../core/contract/index.ts'
import { dispatchExchange } from '../../../../plugins/dispatch/dispatch.ts'
import { presenceOf } from '../../../support/presence.ts'

const target = (name: string): Target => {
  const [provider = '', model = ''] = name.split(':')
  return { provider, model }
}

function routeTo(names: readonly [string, ...string[]], isFixed = false): Route {
  const [first, ...others] = names
  const targets: Route['targets'] = [target(first), ...others.map(target)]
  return { mode: 'balance', targets, isFixed, candidates: () => [], reason: '', score: 1 }
}

const error = (code: ErrorCode, details: ErrorDetails = {}) => new GatewayError(code, code, details)

const NO_RETRY = { 'x-should-retry': 'false' }

const REPLY: Reply = { type: 'whole', event: new ReplyEvent([]) }

/** Dispatches a request. Each provider call throws the next outcome; further calls succeed. */
async function send(route: Route, outcomes: readonly unknown[], signal = new AbortController().signal) {
  const called: string[] = []
  // The cast is safe: `dispatchExchange` uses only these fields.
  const exchange = { account: {}, attempts: [], client: presenceOf(signal) } as unknown as ReplyingExchange
  const remaining = [...outcomes]
  const callProvider = async (_: ReplyingExchange, { provider, model }: Target) => {
    called.push(`${provider}:${model}`)
    const outcome = remaining.shift()
    if (outcome !== undefined) throw outcome
    return REPLY
  }
  const thrown = await dispatchExchange(exchange, route, callProvider).then(
    () => undefined,
    (error) => error,
  )
  return { called, thrown, attempts: exchange.attempts }
}

describe('dispatching a request', () => {
  describe('to an automatic route', () => {
    const automatic = routeTo(['a:1', 'a:2', 'b:1', 'a:3', 'c:1', 'd:1'])

    it('calls only the first target if it replies', async () => {
      expect(await send(automatic, [])).to.deep.include({ called: ['a:1'], thrown: undefined })
    })

    for (const code of [
      'provider_unreachable',
      'provider_timeout',
      'provider_rate_limited',
      'provider_quota_exceeded',
      'provider_error',
      'model_unavailable',
      'provider_authentication_error',
      'model_not_found',
    ] as const) {
      it(`tries the best target of another provider after ${code}`, async () => {
        const { called, thrown } = await send(automatic, [error(code)])
        expect(called).to.deep.equal(['a:1', 'b:1'])
        expect(thrown).to.equal(undefined)
      })
    }

    it('returns 503 after three failed attempts at different providers', async () => {
      const { called, thrown } = await send(automatic, Array(9).fill(error('provider_error')))
      expect(called).to.deep.equal(['a:1', 'b:1', 'c:1'])
      expect(thrown).to.include({ code: 'no_providers_available', status: 503 })
      expect(thrown.details).to.deep.include({ retryAfter: 1, headers: NO_RETRY })
    })

    it('tries other models of a provider after all providers have failed', async () => {
      const { called } = await send(
        routeTo(['a:1', 'b:1', 'b:2', 'a:2']),
        Array(9).fill(error('provider_timeout')),
      )
      expect(called).to.deep.equal(['a:1', 'b:1', 'b:2'])
    })

    it('tries each target only once', async () => {
      const { called } = await send(routeTo(['a:1', 'a:2']), Array(9).fill(error('provider_error')))
      expect(called).to.deep.equal(['a:1', 'a:2'])
    })

    it('returns the error of a provider that rejects the request', async () => {
      const rejected = error('provider_refused')
      expect(await send(automatic, [rejected])).to.deep.include({ called: ['a:1'], thrown: rejected })
    })

    it('returns 429 with retry_after if all providers are rate limited', async () => {
      const { thrown } = await send(automatic, [
        error('provider_quota_exceeded', { headers: NO_RETRY }),
        error('provider_rate_limited', { retryAfter: 3 }),
        error('provider_rate_limited', { retryAfter: 1, headers: NO_RETRY }),
      ])
      expect(thrown).to.include({ code: 'provider_rate_limited' })
      expect(thrown.details).to.deep.equal({ retryAfter: 3 })
    })

    it('returns 503 with the shortest retry_after if only some are rate limited', async () => {
      const { thrown } = await send(automatic, [
        error('provider_rate_limited', { retryAfter: 9 }),
        error('model_unavailable', { retryAfter: 4 }),
        error('provider_rate_limited', { retryAfter: 7 }),
      ])
      expect(thrown).to.include({ code: 'no_providers_available' })
      expect(thrown.details.retryAfter).to.equal(4)
    })

    it('leaves it to clients to retry if every circuit is open', async () => {
      const { thrown } = await send(automatic, Array(9).fill(error('model_unavailable', { retryAfter: 4 })))
      expect(thrown).to.include({ code: 'no_providers_available' })
      expect(thrown.details).not.to.have.property('headers')
    })

    it('stops if the client disconnects', async () => {
      const aborted = new DOMException('The client disconnected.', 'AbortError')
      expect(await send(automatic, [aborted])).to.deep.include({ called: ['a:1'], thrown: aborted })
    })

    it('records every attempt with its outcome', async () => {
      const { attempts } = await send(automatic, [error('provider_timeout')])
      expect(attempts.map(({ target, outcome }) => [target.provider, outcome])).to.deep.equal([
        ['a', 'provider_timeout'],
        ['b', 'ok'],
      ])
    })
  })

  describe('to a fixed model', () => {
    const fixed = routeTo(['a:1'], true)

    it('retries once after an error', async () => {
      expect(await send(fixed, [error('provider_error')])).to.deep.include({
        called: ['a:1', 'a:1'],
        thrown: undefined,
      })
    })

    it('returns the second error if the retry fails', async () => {
      const { called, thrown } = await send(fixed, [error('provider_error'), error('provider_timeout')])
      expect(called).to.deep.equal(['a:1', 'a:1'])
      expect(thrown).to.include({ code: 'provider_timeout' })
      expect(thrown.details).to.deep.include({ headers: NO_RETRY })
    })

    it('leaves it to clients to wait for the end of a rate limit, if the provider says when that is', async () => {
      const limited = error('provider_rate_limited', { retryAfter: 1 })
      const { called, thrown } = await send(fixed, [limited, limited])
      expect(called).to.deep.equal(['a:1', 'a:1'])
      expect(thrown.details).to.deep.equal({ retryAfter: 1 })
    })

    for (const [reason, failure] of [
      ['the provider asks for a long delay', error('provider_rate_limited', { retryAfter: 3 })],
      ['the quota of the provider is exceeded', error('provider_quota_exceeded')],
      ['the provider does not have the model', error('model_not_found')],
      ['the provider rejects the request', error('provider_refused')],
    ] as const) {
      it(`does not retry if ${reason}`, async () => {
        expect(await send(fixed, [failure])).to.deep.include({ called: ['a:1'], thrown: failure })
      })
    }

    it('does not retry if the provider rejects the API key, and tells clients not to', async () => {
      const { called, thrown } = await send(fixed, [error('provider_authentication_error')])
      expect(called).to.deep.equal(['a:1'])
      expect(thrown).to.include({ code: 'provider_authentication_error' })
      expect(thrown.details).to.deep.include({ headers: NO_RETRY })
    })

    it('does not retry if the client disconnects before', async () => {
      const client = new AbortController()
      const sent = send(fixed, [error('provider_rate_limited', { retryAfter: 2 })], client.signal)
      client.abort()
      const { called, thrown } = await sent
      expect(called).to.deep.equal(['a:1'])
      expect(thrown).to.include({ name: 'AbortError' })
    })
  })
})
