import { expect } from 'chai'
import { pino } from 'pino'
import type { ChatRequest, ProviderAdapter, Target } from '../../../../core/contract/index.ts'
import { guardAdapter } from '../../../../core/pipeline/guard-reply.ts'

const GUARD = { title: 'the plugin p', logger: pino({ level: 'silent' }), timeoutMs: 1000 }

/** What a guarded adapter builds with this body. */
function build(body: unknown) {
  const buildRequest = () => ({ path: '/', headers: {}, body, omitted: [] })
  const adapter = guardAdapter({ format: 'own', buildRequest } as unknown as ProviderAdapter, GUARD)
  return adapter.buildRequest({} as ChatRequest, {} as Target)
}

describe('an adapter of a package', () => {
  it('returns a body as text or in UTF-8', () => {
    for (const body of ['{}', Buffer.from('{}')]) expect(build(body)).to.have.property('body', body)
    for (const body of [undefined, {}, 5]) expect(() => build(body)).to.throw('without a path, a body')
  })
})
