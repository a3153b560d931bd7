import { expect } from 'chai'
import type { ChatRequest, FirewallRule } from '../../../../core/contract/index.ts'
import { createPatternBudget } from '../../../../core/pcre/budget.ts'

import { compileFirewall } from '../../../../plugins/firewall/compile.ts'
import { evaluateFirewall } from '../../../../plugins/firewall/evaluate.ts'
import { firewallRule, ruleSet } from '../../../support/rules.ts'

const request = (content: ChatRequest['messages'][0]['content']): ChatRequest => ({
  messages: [{ role: 'user', content: content ?? null }],
})

/** Evaluates the rules, given in evaluation order, for a request or the text of a user message. */
async function evaluate(rules: readonly Partial<FirewallRule>[], input: string | ChatRequest) {
  const firewall = await compileFirewall(ruleSet(rules.map(firewallRule)))
  const outcome = await evaluateFirewall(firewall, typeof input === 'string' ? request(input) : input)
  const first = outcome.request.messages[0]?.content
  return {
    ...outcome,
    text: first,
    names: outcome.trace.map(({ rule_id, outcome }) => `${rule_id} ${outcome}`),
  }
}

describe('evaluating the firewall', () => {
  it('returns the same request object if nothing matches', async () => {
    const harmless = request('harmless')
    const { request: passed, warnings, trace } = await evaluate([{}], harmless)
    expect(passed).to.equal(harmless)
    expect([warnings, trace]).to.deep.equal([[], []])
  })

  it('evaluates rules in order: a mask changes the text that later rules see', async () => {
    const { text, blockedBy } = await evaluate(
      [
        { pattern: 'secret', replacement: 'public' },
        { pattern: 'secret', action: 'block' },
        { pattern: 'public', replacement: 'known' },
      ],
      'a Secret',
    )
    expect(blockedBy).to.equal(undefined)
    expect(text).to.equal('a known')
  })

  it('stops at the first matching block', async () => {
    const { blockedBy, names, warnings } = await evaluate(
      [
        { pattern: 'a', action: 'warn' },
        { pattern: 'b', action: 'block' },
        { pattern: 'c', action: 'warn' },
      ],
      'abc',
    )
    expect(blockedBy?.id).to.equal(2)
    expect(names).to.deep.equal(['1 applied', '2 applied'])
    expect(warnings).to.have.length(1)
  })

  it('matches text that only a mask produces', async () => {
    const { blockedBy } = await evaluate(
      [
        { pattern: 'x', replacement: '' },
        { pattern: 'bomb', action: 'block' },
      ],
      'boxmb',
    )
    expect(blockedBy?.id).to.equal(2)
  })

  it('evaluates a long chain of masks', async () => {
    const rules = Array.from({ length: 60 }, (_, n) => ({ pattern: `<${n}>`, replacement: `<${n + 1}>` }))
    const { text } = await evaluate([...rules, { pattern: '<60>', action: 'warn' as const }], 'at <0>')
    expect(text).to.equal('at <60>')
  })

  it('skips a mask that matches only in the JSON encoding', async () => {
    const { request: passed, trace } = await evaluate(
      [{ pattern: '"type":"text"' }],
      request([{ type: 'text', text: 'x' }]),
    )
    expect(passed.messages[0]?.content).to.deep.equal([{ type: 'text', text: 'x' }])
    expect(trace[0]).to.include({ outcome: 'skipped', reason: 'nothing_to_mask' })
  })

  it('blocks a match in the JSON encoding', async () => {
    const { blockedBy } = await evaluate(
      [{ pattern: '"text":"x"', action: 'block' }],
      request([{ type: 'text', text: 'x' }]),
    )
    expect(blockedBy?.id).to.equal(1)
  })

  it('ignores disabled rules, response rules and patterns that cannot be evaluated', async () => {
    const { trace } = await evaluate(
      [{ is_enabled: false }, { scope: 'response' }, { type: 'regex', pattern: '(' }, { pattern: 'nothing' }],
      'a secret (',
    )
    expect(trace).to.deep.equal([])
  })

  it('combines patterns of both engines', async () => {
    const { text } = await evaluate(
      [
        { type: 'regex', pattern: '(?<!no )secret', replacement: 'A' },
        { type: 'regex', pattern: 's[e]cret', replacement: 'B' },
        { type: 'regex', pattern: '(.)\\1', replacement: 'C' },
      ],
      'secret, no secret, bookkeeper',
    )
    expect(text).to.equal('A, no B, bCCCper')
  })

  it('blocks and warns on empty matches, but does not mask them', async () => {
    const empty = { type: 'regex' as const, pattern: 'z*' }
    expect((await evaluate([{ ...empty, action: 'block' }], 'abc')).blockedBy?.id).to.equal(1)
    expect((await evaluate([{ ...empty, action: 'warn' }], 'abc')).warnings).to.have.length(1)
    expect((await evaluate([empty], 'abc zz')).text).to.equal('abc [redacted]')
  })

  it('masks a prompt of 100 KB on a worker thread', async () => {
    const long = `${'lorem ipsum '.repeat(9000)}secret-1234`
    const { text, overruns } = await evaluate(
      [{ type: 'regex', pattern: 'secret-[0-9]{1,40}[a-z]{0,40}' }],
      long,
    )
    expect(String(text).endsWith('lorem ipsum [redacted]')).to.equal(true)
    expect(overruns).to.deep.equal([])
  })

  it('runs RE2 patterns without any budget left', async () => {
    const firewall = await compileFirewall(ruleSet([firewallRule({ type: 'regex', pattern: 'secret' })]))
    const { request: passed } = await evaluateFirewall(firewall, request('a secret'), createPatternBudget(0))
    expect(passed.messages[0]?.content).to.equal('a [redacted]')
  })

  it('reports the patterns that exceeded the budget', async () => {
    const { overruns, trace } = await evaluate(
      [{ type: 'regex', pattern: '(a+)+(?![a!])', action: 'block' }],
      `${'a'.repeat(60)}!`,
    )
    expect(overruns).to.deep.equal(['(a+)+(?![a!])'])
    expect(trace[0]).to.include({ action: 'block', outcome: 'skipped', reason: 'over_budget' })
  })

  it('evaluates a rule among thousands', async () => {
    const others = Array.from({ length: 2500 }, (_, n) => ({ pattern: `other word ${n};` }))
    const { text, names } = await evaluate([...others, { pattern: 'secret' }], 'a secret, other word 77;')
    expect(text).to.equal('a [redacted], [redacted]')
    expect(names).to.deep.equal(['78 applied', '2501 applied'])
  })
})
