import { expect } from 'chai'
import type {
  Account,
  Action,
  ChatRequest,
  Condition,
  OperatorRegistry,
  RoutingRule,
} from '../../../../core/contract/index.ts'
import { compileRouting } from '../../../../plugins/routing/compile.ts'
import { evaluateRouting } from '../../../../plugins/routing/evaluate.ts'
import { builtInConditions, createBuiltInActions } from '../../../../plugins/routing/operators.ts'
import { buildRoutingInput } from '../../../../plugins/routing/requested-model.ts'
import { patternRun } from '../../../support/pattern-run.ts'
import { routingRule, ruleSet } from '../../../support/rules.ts'

const account: Account = { userId: 1, name: 'Ada', plan: 'paid', keyId: 'key_1', position: 1 }

function createOperators(more: readonly Condition[] = [], actions: readonly Action[] = []): OperatorRegistry {
  const byName = <Operator extends { name: string }>(operators: readonly Operator[]) =>
    new Map(operators.map((operator) => [operator.name, operator]))
  return {
    conditions: byName([...builtInConditions, ...more]),
    actions: byName([...createBuiltInActions(new Set(['openai', 'gemini'])), ...actions]),
  }
}

/** Evaluates the rules, given in evaluation order, for a request or the text of a user message. */
async function evaluate(
  rules: readonly Partial<RoutingRule>[],
  input: string | Partial<ChatRequest>,
  operators = createOperators(),
) {
  const compiled = await compileRouting(ruleSet([], rules.map(routingRule)), operators)
  const request: ChatRequest = {
    messages: [{ role: 'user', content: typeof input === 'string' ? input : 'hello' }],
    ...(typeof input === 'object' && input),
  }
  const { draft, trace } = await evaluateRouting(
    compiled,
    buildRoutingInput(account, request, 'balance', 'req_1'),
    patternRun,
  )
  return { draft, trace, matched: trace.map(({ rule_id }) => rule_id) }
}

const note = { action_json: { add_warning: 'seen' } }

describe('conditions of routing rules', () => {
  it('match every request if there are none', async () => {
    expect((await evaluate([note], 'x')).matched).to.deep.equal([1])
  })

  it('must all hold', async () => {
    const rule = { ...note, match_json: { contains: 'red', task: 'paint', mode: 'balance' } }
    expect((await evaluate([rule], { metadata: { task: 'paint' } })).matched).to.deep.equal([])
    const both = { metadata: { task: 'paint' }, messages: [{ role: 'user' as const, content: 'RED' }] }
    expect((await evaluate([rule], both)).matched).to.deep.equal([1])
  })

  it('contains: matches any entry in any case and ignores empty entries', async () => {
    const rule = { ...note, match_json: { contains: ['', 'größe', 'two'] } }
    expect((await evaluate([rule], 'die GRÖSSE')).matched).to.deep.equal([])
    expect((await evaluate([rule], 'die GRÖẞE')).matched).to.deep.equal([1])
    expect((await evaluate([{ ...note, match_json: { contains: [''] } }], 'x')).matched).to.deep.equal([])
  })

  it('contains: searches only user messages', async () => {
    const messages = [
      { role: 'system' as const, content: 'magic' },
      { role: 'user' as const, content: 'plain' },
    ]
    expect(
      (await evaluate([{ ...note, match_json: { contains: 'magic' } }], { messages })).matched,
    ).to.deep.equal([])
  })

  it('metadata_equals: compares types, but accepts the string form of a number or boolean', async () => {
    const rule = { ...note, match_json: { metadata_equals: { n: 3, yes: true, word: '3' } } }
    const matched = async (metadata: object) =>
      (await evaluate([rule], { metadata: { ...metadata } })).matched.length
    expect(await matched({ n: 3, yes: true, word: '3' })).to.equal(1)
    expect(await matched({ n: '3', yes: 'true', word: '3' })).to.equal(1)
    expect(await matched({ n: 3, yes: true, word: 3 })).to.equal(0)
    expect(await matched({ n: 3, yes: true })).to.equal(0)
  })

  it('metadata_equals: ignores inherited properties', async () => {
    const rule = { ...note, match_json: { metadata_equals: { toString: 'x' } } }
    expect((await evaluate([rule], 'x')).matched).to.deep.equal([])
  })

  it('metadata: defaults to the JSON object in user', async () => {
    const rule = { ...note, match_json: { task: 'sum' } }
    expect((await evaluate([rule], { user: ' {"task":"sum"}' })).matched).to.deep.equal([1])
    expect((await evaluate([rule], { user: '{"task":"sum"' })).matched).to.deep.equal([])
    expect(
      (await evaluate([rule], { user: '{"task":"sum"}', metadata: { task: 'other' } })).matched,
    ).to.deep.equal([])
  })

  it('never match if their plugin is not loaded', async () => {
    expect((await evaluate([{ ...note, match_json: { moon: 'full' } }], 'x')).matched).to.deep.equal([])
  })

  it('of plugins can search for literals', async () => {
    const mentions: Condition = {
      name: 'mentions',
      schema: { type: 'string' },
      description: 'a string',
      literals: (value) => [String(value)],
    }
    const rule = { ...note, match_json: { mentions: 'alpha', contains: 'beta' } }
    expect((await evaluate([rule], 'alpha', createOperators([mentions]))).matched).to.deep.equal([])
    expect((await evaluate([rule], 'Beta Alpha', createOperators([mentions]))).matched).to.deep.equal([1])
  })
})

describe('actions of routing rules', () => {
  it('take setters from the first matching rule and accumulate warnings', async () => {
    const { draft, trace } = await evaluate(
      [
        { action_json: { set_provider: 'gemini', add_warning: 'one' } },
        { action_json: { set_provider: 'openai', set_mode: 'cost', add_warning: { message: 'two' } } },
      ],
      'x',
    )
    expect(draft).to.deep.include({ provider: 'gemini', mode: 'cost' })
    expect(draft.warnings).to.deep.equal([
      { code: 'routing', message: 'one' },
      { code: 'routing', message: 'two' },
    ])
    expect(trace[2]).to.include({
      rule_id: 2,
      action: 'set_provider',
      outcome: 'skipped',
      reason: 'already_set_by_rule',
    })
  })

  it('that choose the same exclude each other', async () => {
    const cheapest: Action = {
      ...{ name: 'set_cheapest', description: 'true', schema: {}, combine: 'first', chooses: 'model' },
      apply(_, draft) {
        draft.model = 'cheap'
      },
    }
    const rules = [{ action_json: { set_cheapest: true } }, { action_json: { set_model: 'gpt-4o' } }]
    const { draft, trace } = await evaluate(rules, 'x', createOperators([], [cheapest]))
    expect(draft.model).to.equal('cheap')
    expect(trace.map(({ action, reason }) => [action, reason])).to.deep.equal([
      ['set_cheapest', undefined],
      ['set_model', 'already_set_by_rule'],
    ])
  })

  it('that are not registered are skipped in the trace', async () => {
    const { trace } = await evaluate([{ action_json: { launch: true } }], 'x')
    expect(trace[0]).to.include({ action: 'launch', outcome: 'skipped', reason: 'unknown_action' })
  })

  it('are the same among thousands of rules', async () => {
    const others = Array.from({ length: 3000 }, (_, n) => ({
      ...note,
      match_json: { contains: `word ${n}!` },
    }))
    const { matched } = await evaluate(
      [...others, { ...note, match_json: { contains: 'needle' } }],
      'word 7! needle',
    )
    expect(matched).to.deep.equal([8, 3001])
  })
})
