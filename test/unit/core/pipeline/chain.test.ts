import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import type { GatewayContext, GatewayMiddleware, PluginParts } from '../../../../core/contract/index.ts'
import { composeChain } from '../../../../core/pipeline/chain.ts'
import type { PluginStep } from '../../../../core/pipeline/set-up.ts'

describe('composeChain', () => {
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

  const withDecide = (name: string) => ({
    decide: async () => {
      ran.push(name)
    },
  })

  function step(plugin: Pick<PluginStep['plugin'], 'applies' | 'needs'>, parts: PluginParts): PluginStep {
    return { plugin: { name: 'a plugin', setup: () => parts, ...plugin }, parts, isBuiltIn: true }
  }

  async function run(kind: 'inference' | 'management', ...steps: PluginStep[]): Promise<readonly string[]> {
    const chain = composeChain(kind, steps, [mark('body')])
    // The chain reads nothing else of the context.
    const ctx = { exchange: {} } as GatewayContext
    const runFrom = async (index: number): Promise<void> => {
      await chain[index]?.(ctx, () => runFrom(index + 1))
    }
    await runFrom(0)
    return ran
  }

  it('runs middleware in the listed order, and reads the body before the first reader', async () => {
    const steps = [
      step({ needs: 'headers' }, { middleware: mark('first') }),
      step({}, { middleware: mark('second') }),
      step({ needs: 'headers' }, { middleware: mark('third') }),
    ]
    expect(await run('inference', ...steps)).to.deep.equal(['first', 'body', 'second', 'third'])
  })

  it('reads the body at the end if no plugin needs it', async () => {
    expect(await run('inference', step({ needs: 'headers' }, { middleware: mark('first') }))).to.deep.equal([
      'first',
      'body',
    ])
  })

  it('omits middleware for other kinds of requests', async () => {
    const steps = [
      step({ applies: 'inference' }, { middleware: mark('inference') }),
      step({ applies: 'management' }, { middleware: mark('management') }),
      step({ applies: 'all' }, { middleware: mark('all') }),
    ]
    expect(await run('management', ...steps)).to.deep.equal(['body', 'management', 'all'])
  })

  it('runs decide before the middleware of the same plugin, after the body is read', async () => {
    const steps = [step({ needs: 'headers' }, { ...withDecide('decision'), middleware: mark('middleware') })]
    expect(await run('inference', ...steps)).to.deep.equal(['body', 'decision', 'middleware'])
  })

  it('runs decide for inference requests only, regardless of applies', async () => {
    const steps = [
      step({ applies: 'management' }, { ...withDecide('decision'), middleware: mark('middleware') }),
    ]
    expect(await run('inference', ...steps)).to.deep.equal(['body', 'decision'])
    ran = []
    expect(await run('management', ...steps)).to.deep.equal(['body', 'middleware'])
  })

  it('awaits any kind of promise that decide returns', async () => {
    const rejection = new Error('refused')
    const thenable = {
      // biome-ignore lint/suspicious/noThenProperty: a promise of another library
      then: (_: unknown, reject: (reason: unknown) => void) => setImmediate(reject, rejection),
    }
    const decisions: unknown[] = [
      Promise.reject(rejection),
      thenable,
      runInNewContext('(e) => Promise.reject(e)')(rejection),
    ]
    for (const decision of decisions) {
      ran = []
      const parts = { decide: () => decision as Promise<void>, middleware: mark('middleware') }
      expect(await run('inference', step({}, parts)).catch((error: unknown) => error)).to.equal(rejection)
      expect(ran).to.deep.equal(['body'])
    }
  })

  it('continues immediately if decide returns no promise', async () => {
    for (const result of [undefined, null, true, {}]) {
      ran = []
      const parts = { decide: () => result as undefined, middleware: mark('middleware') }
      expect(await run('inference', step({}, parts))).to.deep.equal(['body', 'middleware'])
    }
  })
})
