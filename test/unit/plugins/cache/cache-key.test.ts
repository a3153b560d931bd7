import { expect } from 'chai'
import type { ChatRequest, Exchange, Route } from '../../../../core/contract/index.ts'
import { buildCacheKey } from '../../../../plugins/cache/cache-key.ts'
import { model } from '../../../support/models.ts'

const HELLO = { messages: [{ role: 'user', content: 'Hello' }] } as const

function keyOf(request: ChatRequest, route: Partial<Route> = {}, { userId = 1, isShared = false } = {}) {
  const targets = [{ provider: 'openai', model: 'gpt-4o' }]
  const candidates = () => [model('gpt-4o', 'openai'), model('mistral-large-4', 'mistral')]
  // The cast is safe: nothing else is read.
  const exchange = {
    account: { userId },
    request,
    preferences: [],
    route: { isFixed: false, mode: 'balance', targets, candidates, ...route },
  } as unknown as Exchange
  return buildCacheKey(exchange, isShared)
}

describe('the key of a cached reply', () => {
  it('is a hash behind the user, or behind no user if replies are shared', () => {
    expect(keyOf(HELLO)).to.match(/^user-1:[\w-]{43}$/)
    expect(keyOf(HELLO, {}, { userId: 2 })).to.match(/^user-2:/)
    expect(keyOf(HELLO, {}, { isShared: true })).to.match(/^shared:[\w-]{43}$/)
  })

  it('is the same for fields in another order, at any depth', () => {
    const one = {
      ...HELLO,
      response_format: { type: 'json_schema', json_schema: { a: 1, b: [{ c: 2, d: 3 }] } },
    }
    const other = {
      response_format: { json_schema: { b: [{ d: 3, c: 2 }], a: 1 }, type: 'json_schema' },
      ...HELLO,
    }
    expect(keyOf(one)).to.equal(keyOf(other))
  })

  it('differs for values that look alike', () => {
    const values = [1, '1', true, 'true', [1], [[1]], { a: 1 }, [{ a: 1 }], ['a', 1], 'null', {}, [], '']
    const keys = values.map((value) => keyOf({ ...HELLO, extra: value }))
    expect(new Set([...keys, keyOf(HELLO)]).size).to.equal(values.length + 1)
    const nested = [{ a: [1, 2] }, { a: [[1], 2] }, { a: [1], b: 2 }, { a: ['1,2'] }, { 'a":[1,2],"b': 1 }]
    expect(new Set(nested.map((extra) => keyOf({ ...HELLO, extra }))).size).to.equal(nested.length)
  })

  it('follows what the catalogue and the rules allow for an automatic choice, not its order', () => {
    const key = keyOf(HELLO)
    expect(keyOf(HELLO, { targets: [{ provider: 'mistral', model: 'mistral-large-4' }] })).to.equal(key)
    expect(keyOf(HELLO, { candidates: () => [model('gpt-4o', 'openai')] })).not.to.equal(key)
    expect(keyOf(HELLO, { mode: 'cost' })).not.to.equal(key)
  })

  it('has the name of a fixed model under which it was requested, because some names set parameters', () => {
    const target = { provider: 'deepseek', model: 'deepseek-flash' }
    const key = keyOf(HELLO, { isFixed: true, targets: [target] })
    expect(keyOf(HELLO, { isFixed: true, targets: [{ ...target, alias: 'deepseek-chat' }] })).not.to.equal(
      key,
    )
  })

  it('does not exist for requests of more than 2,000,000 characters', () => {
    expect(keyOf({ messages: [{ role: 'user', content: 'x'.repeat(2_000_000) }] })).to.equal(undefined)
  })
})
