import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import type { GatewayContext, GatewayMiddleware, PluginParts } from '../../../../core/contract/index.ts'
import { composeChain } from '../../../../core/pipeline/chain.ts'
import type { PluginStep } from '../../../../core/pipeline/set-up.ts'

describe('the chain of plugins', () => {
  let ran: string[]

  beforeEach(() => {
    ran = []
  })

  const mark =
    (name: string): GatewayMiddleware =>
    async (_, next) => {
      ran.push(name)
      await next()
    }

  const deciding = (name: string) => ({
    decide: async () => {
      ran.push(name)
    },
  })

  function step(plugin: Pick<PluginStep['plugin'], 'applies' | 'needs'>, parts: PluginParts): PluginStep {
    return { plugin: { name: 'a plugin', setup: () => parts, ...plugin }, parts, isBuiltIn: true }
  }

  async function run(kind: 'inference' | 'management', ...steps: PluginStep[]): Promise<readonly string[]> {
    const chain = composeChain(kind, steps, [mark('body')])
    // Nothing of the context is looked at here.
    const ctx = { exchange: {} } as GatewayContext
    const runFrom = async (place: number): Promise<void> => {
      await chain[place]?.(ctx, () => runFrom(place + 1))
    }
    await runFrom(0)
    return ran
  }

  it('runs middleware in the listed order, and reads the body before the first that needs it', async () => {
    const steps = [
      step({ needs: 'headers' }, { middleware: mark('first') }),
      step({}, { middleware: mark('second') }),
      step({ needs: 'headers' }, { middleware: mark('third') }),
    ]
    expect(await run('inference', ...steps)).to.deep.equal(['first', 'body', 'second', 'third'])
  })

  it('reads the body at the end when nobody needs it', async () => {
    expect(await run('inference', step({ needs: 'headers' }, { middleware: mark('first') }))).to.deep.equal([
      'first',
      'body',
    ])
  })

  it('leaves out middleware for requests of the other kind', async () => {
    const steps = [
      step({ applies: 'inference' }, { middleware: mark('inference') }),
      step({ applies: 'management' }, { middleware: mark('management') }),
      step({ applies: 'all' }, { middleware: mark('all') }),
    ]
    expect(await run('management', ...steps)).to.deep.equal(['body', 'management', 'all'])
  })

  it('decides in front of the middleware of the same plugin, with the body read', async () => {
    const steps = [step({ needs: 'headers' }, { ...deciding('decision'), middleware: mark('middleware') })]
    expect(await run('inference', ...steps)).to.deep.equal(['body', 'decision', 'middleware'])
  })

  it('decides about inference requests only, whatever the middleware applies to', async () => {
    const steps = [
      step({ applies: 'management' }, { ...deciding('decision'), middleware: mark('middleware') }),
    ]
    expect(await run('inference', ...steps)).to.deep.equal(['body', 'decision'])
    ran = []
    expect(await run('management', ...steps)).to.deep.equal(['body', 'middleware'])
  })

  it('waits for a decision, whatever kind of promise it is', async () => {
    const refusal = new Error('refused')
    const thenable = {
      // biome-ignore lint/suspicious/noThenProperty: a promise of another kind
      then: (_: unknown, refuse: (reason: unknown) => void) => setImmediate(refuse, refusal),
    }
    const decisions: unknown[] = [
      Promise.reject(refusal),
      thenable,
      runInNewContext('(e) => Promise.reject(e)')(refusal),
    ]
    for (const decision of decisions) {
      ran = []
      const parts = { decide: () => decision as Promise<void>, middleware: mark('middleware') }
      expect(await run('inference', step({}, parts)).catch((error: unknown) => error)).to.equal(refusal)
      expect(ran).to.deep.equal(['body'])
    }
  })

  it('goes on at once after a decision that gives nothing to wait for', async () => {
    for (const given of [undefined, null, true, {}]) {
      ran = []
      const parts = { decide: () => given as undefined, middleware: mark('middleware') }
      expect(await run('inference', step({}, parts))).to.deep.equal(['body', 'middleware'])
    }
  })
})
