import { expect } from 'chai'
import type {
  Account,
  ChatRequest,
  Condition,
  OperatorRegistry,
  RoutingRule,
} from '../../../../core/contract/index.ts'
import { compileRouting, evaluateRouting } from '../../../../plugins/routing/compile.ts'
import { builtInConditions, createBuiltInActions } from '../../../../plugins/routing/operators.ts'
import { buildRoutingInput } from '../../../../plugins/routing/requested-model.ts'
import { routingRule, ruleSet } from '../../../support/rules.ts'

const account: Account = { userId: 1, name: 'Ada', plan: 'paid', keyId: 'key_1', position: 1 }

function vocabulary(more: readonly Condition[] = []): OperatorRegistry {
  const byName = <Word extends { name: string }>(words: readonly Word[]) =>
    new Map(words.map((word) => [word.name, word]))
  return {
    conditions: byName([...builtInConditions, ...more]),
    actions: byName(createBuiltInActions(new Set(['openai', 'gemini']))),
  }
}

/** Given these rules (in evaluation order), when this is asked, then … */
async function given(
  rules: readonly Partial<RoutingRule>[],
  asked: string | Partial<ChatRequest>,
  words = vocabulary(),
) {
  const compiled = await compileRouting(ruleSet([], rules.map(routingRule)), words)
  const request: ChatRequest = {
    messages: [{ role: 'user', content: typeof asked === 'string' ? asked : 'hello' }],
    ...(typeof asked === 'object' && asked),
  }
  const { draft, trace } = await evaluateRouting(compiled, buildRoutingInput(account, request, 'balance'))
  return { draft, trace, matched: trace.map(({ rule_id }) => rule_id) }
}

const note = { action_json: { add_warning: 'seen' } }

describe('conditions of routing rules', () => {
  it('match every request when there are none', async () => {
    expect((await given([note], 'x')).matched).to.deep.equal([1])
  })

  it('must all hold', async () => {
    const rule = { ...note, match_json: { contains: 'red', task: 'paint', mode: 'balance' } }
    expect((await given([rule], { metadata: { task: 'paint' } })).matched).to.deep.equal([])
    const both = { metadata: { task: 'paint' }, messages: [{ role: 'user' as const, content: 'RED' }] }
    expect((await given([rule], both)).matched).to.deep.equal([1])
  })

  it('contains: any entry, any case, empty ones ignored', async () => {
    const rule = { ...note, match_json: { contains: ['', 'größe', 'two'] } }
    expect((await given([rule], 'die GRÖSSE')).matched).to.deep.equal([])
    expect((await given([rule], 'die GRÖẞE')).matched).to.deep.equal([1])
    expect((await given([{ ...note, match_json: { contains: [''] } }], 'x')).matched).to.deep.equal([])
  })

  it('contains: looks at user messages only', async () => {
    const messages = [
      { role: 'system' as const, content: 'magic' },
      { role: 'user' as const, content: 'plain' },
    ]
    expect(
      (await given([{ ...note, match_json: { contains: 'magic' } }], { messages })).matched,
    ).to.deep.equal([])
  })

  it('metadata_equals: compares with type, except for the text form of a number or boolean', async () => {
    const rule = { ...note, match_json: { metadata_equals: { n: 3, yes: true, word: '3' } } }
    const matched = async (metadata: object) =>
      (await given([rule], { metadata: { ...metadata } })).matched.length
    expect(await matched({ n: 3, yes: true, word: '3' })).to.equal(1)
    expect(await matched({ n: '3', yes: 'true', word: '3' })).to.equal(1)
    expect(await matched({ n: 3, yes: true, word: 3 })).to.equal(0)
    expect(await matched({ n: 3, yes: true })).to.equal(0)
  })

  it('metadata_equals: knows no inherited fields', async () => {
    const rule = { ...note, match_json: { metadata_equals: { toString: 'x' } } }
    expect((await given([rule], 'x')).matched).to.deep.equal([])
  })

  it('metadata: is the JSON object in user when there is none of its own', async () => {
    const rule = { ...note, match_json: { task: 'sum' } }
    expect((await given([rule], { user: ' {"task":"sum"}' })).matched).to.deep.equal([1])
    expect((await given([rule], { user: '{"task":"sum"' })).matched).to.deep.equal([])
    expect(
      (await given([rule], { user: '{"task":"sum"}', metadata: { task: 'other' } })).matched,
    ).to.deep.equal([])
  })

  it('rest when their plugin is gone', async () => {
    expect((await given([{ ...note, match_json: { moon: 'full' } }], 'x')).matched).to.deep.equal([])
  })

  it('of plugins that search texts are searched with the rest', async () => {
    const mentions: Condition = {
      name: 'mentions',
      schema: { type: 'string' },
      description: 'a text',
      literals: (value) => [String(value)],
    }
    const rule = { ...note, match_json: { mentions: 'alpha', contains: 'beta' } }
    expect((await given([rule], 'alpha', vocabulary([mentions]))).matched).to.deep.equal([])
    expect((await given([rule], 'Beta Alpha', vocabulary([mentions]))).matched).to.deep.equal([1])
  })
})

describe('actions of routing rules', () => {
  it('the first matching rule to set a thing wins, warnings add up', async () => {
    const { draft, trace } = await given(
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

  it('that no plugin knows any more are skipped, and the trace says so', async () => {
    const { trace } = await given([{ action_json: { launch: true } }], 'x')
    expect(trace[0]).to.include({ action: 'launch', outcome: 'skipped', reason: 'unknown_action' })
  })

  it('are the same with thousands of rules', async () => {
    const others = Array.from({ length: 3000 }, (_, n) => ({
      ...note,
      match_json: { contains: `word ${n}!` },
    }))
    const { matched } = await given(
      [...others, { ...note, match_json: { contains: 'needle' } }],
      'word 7! needle',
    )
    expect(matched).to.deep.equal([8, 3001])
  })
})
