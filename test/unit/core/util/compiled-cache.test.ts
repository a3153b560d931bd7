import { expect } from 'chai'
import type { FirewallRule, RuleSet } from '../../../../core/contract/index.ts'
import { createCompiledCache } from '../../../../core/util/compiled-cache.ts'

const RULE: FirewallRule = {
  id: 1,
  user_id: 1,
  created_at: '2026-01-01T00:00:00Z',
  updated_at: '2026-01-01T00:00:00Z',
  revision: 0,
  name: 'No secrets',
  is_enabled: true,
  priority: 0,
  scope: 'prompt',
  type: 'substring',
  pattern: 'secret',
  action: 'block',
  replacement: null,
}

const setOf = (userId: number, ...firewall: readonly FirewallRule[]): RuleSet => {
  return { ownerId: userId, position: 0, routing: [], firewall, tool: [] }
}

/** A cache that only wraps rule sets. `compiledFor` lists the user of each compilation. */
function createCache(options = { cached_rules: 1000 }) {
  const compiledFor: number[] = []
  const lookups: boolean[] = []
  const compile = async (rules: RuleSet) => {
    compiledFor.push(rules.ownerId)
    return { rules }
  }
  const count = ({ firewall }: RuleSet) => firewall.length
  const cached = createCompiledCache(compile, options, count, (isHit) => lookups.push(isHit))
  return { cached, compiledFor, lookups }
}

describe('the compiled rules cache', () => {
  it("compiles a rule set once, and the user's next rule set again", async () => {
    const { cached, compiledFor, lookups } = createCache()
    const first = setOf(1, RULE)
    expect((await cached(first)).rules).to.equal(first)
    expect((await cached(first)).rules).to.equal(first)
    const second = setOf(1, RULE)
    expect((await cached(second)).rules).to.equal(second)
    expect(compiledFor).to.deep.equal([1, 1])
    expect(lookups).to.deep.equal([false, true, false])
  })

  it('compiles once for all users without rules, though each request has a new rule set', async () => {
    const { cached, compiledFor, lookups } = createCache()
    await Promise.all([cached(setOf(1)), cached(setOf(2))])
    await cached(setOf(1))
    expect(compiledFor).to.deep.equal([1])
    expect(lookups).to.deep.equal([false, true, true])
  })

  it('returns compiled rules without a promise once they are compiled', async () => {
    const { cached } = createCache()
    const rules = setOf(1, RULE)
    await Promise.all([cached(rules), cached(setOf(2))])
    expect(cached(rules)).to.deep.equal({ rules })
    expect(cached(setOf(3))).to.deep.equal({ rules: setOf(2) })
  })

  it('evicts the least recently used users when the rules exceed the limit', async () => {
    const { cached, compiledFor } = createCache({ cached_rules: 4 })
    const [first, second, third] = [setOf(1, RULE), setOf(2, RULE), setOf(3, RULE)]
    for (const rules of [first, second, third, second, first]) await cached(rules)
    expect(compiledFor).to.deep.equal([1, 2, 3, 1])
  })

  it('compiles again after a failed compilation', async () => {
    let tries = 0
    const compile = async () => {
      tries++
      if (tries === 1) throw new Error('not now')
      return {}
    }
    const cached = createCompiledCache(
      compile,
      { cached_rules: 1000 },
      () => 1,
      () => undefined,
    )
    const rules = setOf(1, RULE)
    expect(await Promise.resolve(cached(rules)).catch((error: Error) => error.message)).to.equal('not now')
    await cached(rules)
    await cached(rules)
    expect(tries).to.equal(2)
  })
})
