import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import type { ChatRequest, FirewallRule } from '../../../../core/contract/index.ts'
import { createPatternBudget } from '../../../../core/pcre/budget.ts'

import { compileFirewall } from '../../../../plugins/firewall/compile.ts'
import { evaluateFirewall } from '../../../../plugins/firewall/evaluate.ts'
import { firewallRule, ruleSet } from '../../../support/rules.ts'

const request = (content: ChatRequest['messages'][0]['content']): ChatRequest => ({
  messages: [{ role: 'user', content: content ?? null }],
})

/** Given these rules (in evaluation order), when this is asked, then … */
async function given(rules: readonly Partial<FirewallRule>[], asked: string | ChatRequest) {
  const firewall = await compileFirewall(ruleSet(rules.map(firewallRule)))
  const outcome = await evaluateFirewall(firewall, typeof asked === 'string' ? request(asked) : asked)
  const first = outcome.request.messages[0]?.content
  return {
    ...outcome,
    text: first,
    names: outcome.trace.map(({ rule_id, outcome }) => `${rule_id} ${outcome}`),
  }
}

describe('the firewall', () => {
  it('lets a request through untouched, the same object, when nothing matches', async () => {
    const asked = request('harmless')
    const { request: passed, warnings, trace } = await given([{}], asked)
    expect(passed).to.equal(asked)
    expect([warnings, trace]).to.deep.equal([[], []])
  })

  it('runs rules in order: a mask changes what later rules see', async () => {
    const { text, blockedBy } = await given(
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

  it('ends at the first block that matches', async () => {
    const { blockedBy, names, warnings } = await given(
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

  it('finds what only appears when a mask took something away', async () => {
    const { blockedBy } = await given(
      [
        { pattern: 'x', replacement: '' },
        { pattern: 'bomb', action: 'block' },
      ],
      'boxmb',
    )
    expect(blockedBy?.id).to.equal(2)
  })

  it('goes on when masks chase each other for long', async () => {
    const rules = Array.from({ length: 60 }, (_, n) => ({ pattern: `<${n}>`, replacement: `<${n + 1}>` }))
    const { text } = await given([...rules, { pattern: '<60>', action: 'warn' as const }], 'at <0>')
    expect(text).to.equal('at <60>')
  })

  it('leaves alone what a mask matches only in the encoding, and says so', async () => {
    const { request: passed, trace } = await given(
      [{ pattern: '"type":"text"' }],
      request([{ type: 'text', text: 'x' }]),
    )
    expect(passed.messages[0]?.content).to.deep.equal([{ type: 'text', text: 'x' }])
    expect(trace[0]).to.include({ outcome: 'skipped', reason: 'nothing_to_mask' })
  })

  it('blocks what shows only in the encoding', async () => {
    const { blockedBy } = await given(
      [{ pattern: '"text":"x"', action: 'block' }],
      request([{ type: 'text', text: 'x' }]),
    )
    expect(blockedBy?.id).to.equal(1)
  })

  it('passes over disabled rules, response rules and patterns that cannot be evaluated', async () => {
    const { trace } = await given(
      [{ is_enabled: false }, { scope: 'response' }, { type: 'regex', pattern: '(' }, { pattern: 'nothing' }],
      'a secret (',
    )
    expect(trace).to.deep.equal([])
  })

  it('runs patterns of both engines side by side', async () => {
    const { text } = await given(
      [
        { type: 'regex', pattern: '(?<!no )secret', replacement: 'A' },
        { type: 'regex', pattern: 's[e]cret', replacement: 'B' },
        { type: 'regex', pattern: '(.)\\1', replacement: 'C' },
      ],
      'secret, no secret, bookkeeper',
    )
    expect(text).to.equal('A, no B, bCCCper')
  })

  it('triggers block and warn on a pattern that matches the empty text, and leaves empty matches unmasked', async () => {
    const empty = { type: 'regex' as const, pattern: 'z*' }
    expect((await given([{ ...empty, action: 'block' }], 'abc')).blockedBy?.id).to.equal(1)
    expect((await given([{ ...empty, action: 'warn' }], 'abc')).warnings).to.have.length(1)
    expect((await given([empty], 'abc zz')).text).to.equal('abc [redacted]')
  })

  it('masks a prompt of 100 KB that patterns cost too much for to run here', async () => {
    const long = `${'lorem ipsum '.repeat(9000)}secret-1234`
    const { text, overruns } = await given(
      [{ type: 'regex', pattern: 'secret-[0-9]{1,40}[a-z]{0,40}' }],
      long,
    )
    expect(String(text).endsWith('lorem ipsum [redacted]')).to.equal(true)
    expect(overruns).to.deep.equal([])
  })

  it('holds up nobody else with a mask that would make a gigabyte of a prompt', async () => {
    const long = 'a'.repeat(100_000)
    let last = performance.now()
    let longest = 0
    const pulse = setInterval(() => {
      longest = Math.max(longest, performance.now() - last)
      last = performance.now()
    }, 5)
    const { text, overruns } = await given(
      [{ type: 'regex', pattern: '.', replacement: 'x'.repeat(10_000) }],
      long,
    )
    await setTimeout(10)
    clearInterval(pulse)
    expect(longest).to.be.below(500)
    expect(text).to.equal(long)
    expect(overruns).to.deep.equal(['.'])
  })

  it('obeys patterns of RE2 however little time is left', async () => {
    const firewall = await compileFirewall(ruleSet([firewallRule({ type: 'regex', pattern: 'secret' })]))
    const { request: passed } = await evaluateFirewall(firewall, request('a secret'), createPatternBudget(0))
    expect(passed.messages[0]?.content).to.equal('a [redacted]')
  })

  it('names the patterns that ran over', async () => {
    const { overruns, trace } = await given(
      [{ type: 'regex', pattern: '(a+)+(?![a!])', action: 'block' }],
      `${'a'.repeat(60)}!`,
    )
    expect(overruns).to.deep.equal(['(a+)+(?![a!])'])
    expect(trace[0]).to.include({ action: 'block', outcome: 'skipped', reason: 'over_budget' })
  })

  it('does the same with a thousand rules as with one', async () => {
    const others = Array.from({ length: 2500 }, (_, n) => ({ pattern: `other word ${n};` }))
    const { text, names } = await given([...others, { pattern: 'secret' }], 'a secret, other word 77;')
    expect(text).to.equal('a [redacted], [redacted]')
    expect(names).to.deep.equal(['78 applied', '2501 applied'])
  })
})
