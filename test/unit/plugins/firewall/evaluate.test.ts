import { expect } from 'chai'
import type { ChatRequest, FirewallRule } from '../../../../core/contract/index.ts'

import { compileFirewall } from '../../../../plugins/firewall/compile.ts'
import { type EvaluationOptions, evaluateFirewall } from '../../../../plugins/firewall/evaluate.ts'
import { EVALUATION, patternRun } from '../../../support/pattern-run.ts'
import { firewallRule, ruleSet } from '../../../support/rules.ts'

const request = (content: ChatRequest['messages'][0]['content']): ChatRequest => ({
  messages: [{ role: 'user', content: content ?? null }],
})

/** Evaluates the rules, given in evaluation order, for a request or the text of a user message. */
async function evaluate(
  rules: readonly Partial<FirewallRule>[],
  input: string | ChatRequest,
  options: Partial<EvaluationOptions> = {},
) {
  const firewall = await compileFirewall(ruleSet(rules.map(firewallRule)))
  const outcome = await evaluateFirewall(firewall, typeof input === 'string' ? request(input) : input, {
    ...EVALUATION,
    ...options,
  })
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
    const { text, refusal } = await evaluate(
      [
        { pattern: 'secret', replacement: 'public' },
        { pattern: 'secret', action: 'block' },
        { pattern: 'public', replacement: 'known' },
      ],
      'a Secret',
    )
    expect(refusal).to.equal(undefined)
    expect(text).to.equal('a known')
  })

  it('remembers texts that no rule matches, and inspects every other text', async () => {
    const tools = Array.from({ length: 20 }, (_, n) => ({
      type: 'function' as const,
      function: { name: `tool_${n}`, description: `Does the work number ${n}.`, parameters: {} },
    }))
    const withTools = (content: string, more: typeof tools = []): ChatRequest => ({
      messages: [{ role: 'user', content }],
      tools: [...tools, ...more],
    })
    const described = (description: string) => ({
      type: 'function' as const,
      function: { name: 'other', description, parameters: {} },
    })
    const block = firewallRule({ pattern: 'secret', action: 'block' })
    const mask = firewallRule({ pattern: 'harmless', replacement: 'work number 3' })
    const late = firewallRule({ pattern: 'work number 3', action: 'warn' })
    const firewall = await compileFirewall(ruleSet([mask, block, late]))
    const reasonFor = async (input: ChatRequest) =>
      (await evaluateFirewall(firewall, input, EVALUATION)).refusal?.reason
    const blocking = await compileFirewall(ruleSet([block]))
    for (let round = 0; round < 3; round++) {
      expect((await evaluateFirewall(blocking, withTools('fine'), EVALUATION)).refusal).to.equal(undefined)
      for (const input of [withTools('a secret'), withTools('fine', [described('Finds a secret.')])])
        expect((await evaluateFirewall(blocking, input, EVALUATION)).refusal?.reason).to.equal('blocked')
    }
    expect(await reasonFor(withTools('fine'))).to.equal(undefined)
    const { warnings } = await evaluateFirewall(firewall, withTools('harmless'), EVALUATION)
    expect(warnings).to.have.length(1)
  })

  it('finds and masks values of a long JSON document', async () => {
    const rows = Array.from({ length: 3000 }, (_, n) => ({ name: `row ${n}`, amount: n + 10_000 }))
    const content = JSON.stringify(rows)
    const input: ChatRequest = { messages: [{ role: 'tool', tool_call_id: 'c', content }] }
    for (const pattern of ['/^row 2999$/', '/(?<!x)row 2999\\b/', '\\b12999\\b'])
      expect((await evaluate([{ type: 'regex', pattern, action: 'block' }], input)).refusal).to.include({
        reason: 'blocked',
      })
    for (const pattern of ['row 2999', '/(?<=row )2999/'])
      expect((await evaluate([{ type: 'regex', pattern, replacement: 'x' }], input)).text).to.equal(
        content.replace('row 2999', pattern === 'row 2999' ? 'x' : 'row x'),
      )
    expect((await evaluate([{ pattern: '12999' }], input)).text).to.equal(
      content.replace('12999', '"[redacted]"'),
    )
    const across = await evaluate([{ type: 'regex', pattern: 'row 2999","amount' }], input)
    expect(across.refusal?.reason).to.equal('not_maskable')
  })

  it('stops at the first matching block', async () => {
    const { refusal, names, warnings } = await evaluate(
      [
        { pattern: 'a', action: 'warn' },
        { pattern: 'b', action: 'block' },
        { pattern: 'c', action: 'warn' },
      ],
      'abc',
    )
    expect(refusal?.rule.id).to.equal(2)
    expect(names).to.deep.equal(['1 applied', '2 applied'])
    expect(warnings).to.have.length(1)
  })

  it('matches text that only a mask produces', async () => {
    const { refusal } = await evaluate(
      [
        { pattern: 'x', replacement: '' },
        { pattern: 'bomb', action: 'block' },
      ],
      'boxmb',
    )
    expect(refusal?.rule.id).to.equal(2)
  })

  it('evaluates a long chain of masks', async () => {
    const rules = Array.from({ length: 60 }, (_, n) => ({ pattern: `<${n}>`, replacement: `<${n + 1}>` }))
    const { text } = await evaluate([...rules, { pattern: '<60>', action: 'warn' as const }], 'at <0>')
    expect(text).to.equal('at <60>')
  })

  it('skips a mask that matches nothing but JSON syntax', async () => {
    const { request: passed, trace } = await evaluate(
      [{ pattern: '"type":"text"' }],
      request([{ type: 'text', text: 'x' }]),
    )
    expect(passed.messages[0]?.content).to.deep.equal([{ type: 'text', text: 'x' }])
    expect(trace[0]).to.include({ outcome: 'skipped', reason: 'nothing_to_mask' })
  })

  it('blocks a match in the JSON encoding', async () => {
    const { refusal } = await evaluate(
      [{ pattern: '"text":"x"', action: 'block' }],
      request([{ type: 'text', text: 'x' }]),
    )
    expect(refusal?.rule.id).to.equal(1)
  })

  it('refuses a mask that matches across values of a JSON document', async () => {
    const rule = { type: 'regex', pattern: '"ssn":\\s*"\\d+"' } as const
    const toolResult = (content: string): ChatRequest => ({
      messages: [{ role: 'tool', tool_call_id: 'c', content }],
    })
    const { refusal } = await evaluate([rule], toolResult('{"ssn": "123"}'))
    expect(refusal).to.deep.include({ reason: 'not_maskable' })
    const decoy = JSON.stringify({ ssn: '123', note: '"ssn":"456"' })
    expect((await evaluate([rule], toolResult(decoy))).refusal?.reason).to.equal('not_maskable')
    const masked = await evaluate([rule], toolResult(JSON.stringify({ note: 'an "ssn":"456"!' })))
    expect(masked.text).to.equal('{"note":"an [redacted]!"}')
  })

  it('refuses a mask of a JSON document that is divided into parts', async () => {
    const content = [
      { type: 'text', text: '{"q":' },
      { type: 'text', text: '"\\u0073ecret"}' },
    ]
    const { refusal } = await evaluate([{}], { messages: [{ role: 'tool', tool_call_id: 'c', content }] })
    expect(refusal?.reason).to.equal('not_maskable')
  })

  it('refuses a mask of a number that must stay a number', async () => {
    const seeded = { ...request('hello'), seed: 123456789 }
    expect((await evaluate([{ pattern: '345' }], seeded)).refusal?.reason).to.equal('not_maskable')
    expect((await evaluate([{ pattern: '345' }], { ...seeded, seed: 345 })).refusal).to.equal(undefined)
  })

  it('refuses a mask that would make two keys equal', async () => {
    const content = '{"11": 1, "22": 2}'
    const rule = { type: 'regex', pattern: '^(11|22)$' } as const
    const { refusal } = await evaluate([rule], { messages: [{ role: 'tool', tool_call_id: 'c', content }] })
    expect(refusal?.reason).to.equal('not_maskable')
  })

  it('masks everything in a content list that a pattern covers', async () => {
    const { text, refusal } = await evaluate(
      [{ type: 'regex', pattern: '.+' }],
      request([{ type: 'text', text: 'hello' }]),
    )
    expect(refusal).to.equal(undefined)
    expect(text).to.deep.equal([{ type: 'text', text: '[redacted]' }])
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
    expect((await evaluate([{ ...empty, action: 'block' }], 'abc')).refusal?.rule.id).to.equal(1)
    expect((await evaluate([{ ...empty, action: 'warn' }], 'abc')).warnings).to.have.length(1)
    expect((await evaluate([empty], 'abc zz')).text).to.equal('abc [redacted]')
  })

  it('masks a prompt of 100 KB in a pattern worker', async () => {
    const long = `${'lorem ipsum '.repeat(9000)}secret-1234`
    const { text } = await evaluate([{ type: 'regex', pattern: 'secret-[0-9]{1,40}[a-z]{0,40}' }], long)
    expect(String(text).endsWith('lorem ipsum [redacted]')).to.equal(true)
  })

  const short = { createRun: () => patternRun(50) }
  const runaway = { type: 'regex', pattern: '(a+)+(?![a!])' } as const
  const runawayText = `${'a'.repeat(60)}!`

  it('refuses the request if the pattern of a block or mask does not finish', async () => {
    for (const action of ['block', 'mask'] as const) {
      const { refusal, trace, unfinished } = await evaluate([{ ...runaway, action }], runawayText, short)
      expect(refusal).to.deep.include({ reason: 'unfinished' })
      expect(trace[0]).to.include({ action, outcome: 'skipped', reason: 'time_limit' })
      expect(unfinished).to.have.length(1)
    }
  })

  it('warns if the pattern of a warning does not finish, and evaluates the rules that follow', async () => {
    const rules = [
      { ...runaway, action: 'warn' as const },
      { pattern: '!', replacement: '.' },
    ]
    const { refusal, warnings, text } = await evaluate(rules, runawayText, short)
    expect(refusal).to.equal(undefined)
    expect(warnings[0]?.message).to.contain('was not evaluated')
    expect(text).to.equal(`${'a'.repeat(60)}.`)
  })

  it('allows the request with a warning if the settings say so', async () => {
    const { refusal, warnings } = await evaluate([{ ...runaway, action: 'block' }], runawayText, {
      ...short,
      onTimeout: 'allow',
    })
    expect(refusal).to.equal(undefined)
    expect(warnings).to.have.length(1)
  })

  it('refuses a mask that would expand a prompt to a gigabyte', async () => {
    const rule = { type: 'regex', pattern: '.', replacement: 'x'.repeat(1000) } as const
    expect((await evaluate([rule], 'a'.repeat(1_000_000))).refusal?.reason).to.equal('unfinished')
  })

  it('evaluates a rule among thousands', async () => {
    const others = Array.from({ length: 2500 }, (_, n) => ({ pattern: `other word ${n};` }))
    const { text, names } = await evaluate([...others, { pattern: 'secret' }], 'a secret, other word 77;')
    expect(text).to.equal('a [redacted], [redacted]')
    expect(names).to.deep.equal(['78 applied', '2501 applied'])
  })
})
