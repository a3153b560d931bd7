import { expect } from 'chai'
import {
  type ErrorCode,
  type ErrorDetails,
  type Exchange,
  GatewayError,
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
  return { mode: 'balance', targets, isFixed: isFixed, candidates: () => [], reason: '', score: 1 }
}

const error = (code: ErrorCode, details: ErrorDetails = {}) => new GatewayError(code, code, details)

/** Dispatches; each call to a provider meets the next of these, and what is left over are good answers. */
async function send(route: Route, outcomes: readonly unknown[], signal = new AbortController().signal) {
  const called: string[] = []
  // Only these fields are looked at.
  const exchange = { attempts: [], client: presenceOf(signal) } as unknown as Exchange
  const given = [...outcomes]
  const callProvider = async (_: Exchange, { provider, model }: Target) => {
    called.push(`${provider}:${model}`)
    const outcome = given.shift()
    if (outcome !== undefined) throw outcome
  }
  const thrown = await dispatchExchange(exchange, route, callProvider).then(
    () => undefined,
    (error) => error,
  )
  return { called, thrown, attempts: exchange.attempts }
}

describe('dispatch', () => {
  describe('to targets that were chosen automatically', () => {
    const several = routeTo(['a:1', 'a:2', 'b:1', 'a:3', 'c:1', 'd:1'])

    it('given the first answers, then nobody else is asked', async () => {
      expect(await send(several, [])).to.deep.include({ called: ['a:1'], thrown: undefined })
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
      it(`given ${code}, then the best of another provider is tried`, async () => {
        const { called, thrown } = await send(several, [error(code)])
        expect(called).to.deep.equal(['a:1', 'b:1'])
        expect(thrown).to.equal(undefined)
      })
    }

    it('given every try fails, then there are three, each with another provider, and 503', async () => {
      const { called, thrown } = await send(several, Array(9).fill(error('provider_error')))
      expect(called).to.deep.equal(['a:1', 'b:1', 'c:1'])
      expect(thrown).to.include({ code: 'no_providers_available', status: 503 })
      expect(thrown.details.retryAfter).to.equal(1)
    })

    it('given all providers have failed, then their other models are tried, best first', async () => {
      const { called } = await send(
        routeTo(['a:1', 'b:1', 'b:2', 'a:2']),
        Array(9).fill(error('provider_timeout')),
      )
      expect(called).to.deep.equal(['a:1', 'b:1', 'b:2'])
    })

    it('given fewer targets than tries, then each is tried once', async () => {
      const { called } = await send(routeTo(['a:1', 'a:2']), Array(9).fill(error('provider_error')))
      expect(called).to.deep.equal(['a:1', 'a:2'])
    })

    it('given a provider refuses the request, then that is the answer', async () => {
      const refused = error('provider_refused')
      expect(await send(several, [refused])).to.deep.include({ called: ['a:1'], thrown: refused })
    })

    it('given all are told to slow down, then 429 with the time to wait', async () => {
      const limited = error('provider_rate_limited', { retryAfter: 3 })
      expect(await send(several, Array(9).fill(limited))).to.include({ thrown: limited })
    })

    it('given some are told to slow down and some fail, then 503 with the shortest wait', async () => {
      const { thrown } = await send(several, [
        error('provider_rate_limited', { retryAfter: 9 }),
        error('model_unavailable', { retryAfter: 4 }),
        error('provider_rate_limited', { retryAfter: 7 }),
      ])
      expect(thrown).to.include({ code: 'no_providers_available' })
      expect(thrown.details.retryAfter).to.equal(4)
    })

    it('given the client leaves, then nobody else is asked', async () => {
      const left = new DOMException('The client left.', 'AbortError')
      expect(await send(several, [left])).to.deep.include({ called: ['a:1'], thrown: left })
    })

    it('keeps every attempt with its outcome', async () => {
      const { attempts } = await send(several, [error('provider_timeout')])
      expect(attempts.map(({ target, outcome }) => [target.provider, outcome])).to.deep.equal([
        ['a', 'provider_timeout'],
        ['b', 'ok'],
      ])
    })
  })

  describe('to a pinned model', () => {
    const pinned = routeTo(['a:1'], true)

    it('given it fails, then it is tried once more', async () => {
      expect(await send(pinned, [error('provider_error')])).to.deep.include({
        called: ['a:1', 'a:1'],
        thrown: undefined,
      })
    })

    it('given it fails again, then the second error is the answer', async () => {
      const last = error('provider_timeout')
      expect(await send(pinned, [error('provider_error'), last])).to.deep.include({
        called: ['a:1', 'a:1'],
        thrown: last,
      })
    })

    for (const [why, failure] of [
      ['it asks for a longer wait than is worth it', error('provider_rate_limited', { retryAfter: 3 })],
      ['there is no budget left', error('provider_quota_exceeded')],
      ['our credentials are refused', error('provider_authentication_error')],
      ['the provider does not know the model', error('model_not_found')],
      ['the provider refuses the request', error('provider_refused')],
    ] as const) {
      it(`given ${why}, then it is not tried again`, async () => {
        expect(await send(pinned, [failure])).to.deep.include({ called: ['a:1'], thrown: failure })
      })
    }

    it('given the client leaves before the second try, then there is none', async () => {
      const client = new AbortController()
      const sent = send(pinned, [error('provider_rate_limited', { retryAfter: 2 })], client.signal)
      client.abort()
      const { called, thrown } = await sent
      expect(called).to.deep.equal(['a:1'])
      expect(thrown).to.include({ name: 'AbortError' })
    })
  })
})
