import { expect } from 'chai'
import { bodyOf, type Fields, user, write } from './target.ts'

const adaptive = { type: 'adaptive', display: 'summarized' }
const tools = [{ type: 'function', function: { name: 'ring' } }]

describe('converting reasoning_effort for Anthropic', () => {
  it('sends nothing if the request has none', () => {
    for (const model of ['claude-opus-5-5', 'claude-sonnet-4-5', 'claude-next']) {
      expect(bodyOf({ reasoning_effort: null }, model)).not.to.have.any.keys('thinking', 'output_config')
    }
  })

  const efforts: [model: string, requested: string, sent: string][] = [
    ['claude-opus-5-5', 'minimal', 'low'],
    ['claude-opus-5-5', 'low', 'low'],
    ['claude-opus-5-5', 'medium', 'medium'],
    ['claude-opus-5-5', 'xhigh', 'xhigh'],
    ['claude-opus-5-5', 'max', 'max'],
    ['claude-sonnet-4-6', 'high', 'high'],
    ['claude-sonnet-4-6', 'xhigh', 'max'],
    ['claude-opus-4-6', 'max', 'max'],
    ['claude-next', 'high', 'high'],
  ]
  for (const [model, requested, sent] of efforts) {
    it(`sends ${sent} to ${model} for ${requested}`, () => {
      const body = bodyOf({ reasoning_effort: requested }, model)
      expect(body).to.deep.include({ thinking: adaptive, output_config: { effort: sent } })
    })
  }

  const none: [model: string, sent: object][] = [
    ['claude-haiku-5-5', { thinking: { type: 'disabled' } }],
    ['claude-opus-4-6', { thinking: { type: 'disabled' } }],
    ['claude-sonnet-5-5', { thinking: { type: 'between_tools' } }],
    ['claude-opus-5-5', { output_config: { effort: 'low' } }],
    ['claude-fable-5', { output_config: { effort: 'low' } }],
    ['claude-next', { output_config: { effort: 'low' } }],
    ['claude-sonnet-4-5', {}],
  ]
  for (const [model, sent] of none) {
    it(`disables the thinking of ${model} with ${JSON.stringify(sent)}`, () => {
      const { thinking, output_config } = bodyOf({ reasoning_effort: 'none' }, model)
      expect(JSON.parse(JSON.stringify({ thinking, output_config }))).to.deep.equal(sent)
    })
  }

  const budgets: [requested: string, limit: number | null, budget: number, max: number][] = [
    ['low', 100, 2048, 2148],
    ['medium', 100, 8192, 8292],
    ['high', null, 16_384, 64_000],
    ['xhigh', 100, 32_768, 32_868],
    ['max', 100, 63_000, 63_100],
    ['max', null, 63_000, 64_000],
  ]
  for (const [requested, limit, budget_tokens, max_tokens] of budgets) {
    it(`adds a budget of ${budget_tokens} to a limit of ${limit} for ${requested} (sonnet-4-5)`, () => {
      const body = bodyOf({ reasoning_effort: requested, max_tokens: limit }, 'claude-sonnet-4-5')
      expect(body).to.deep.include({ thinking: { type: 'enabled', budget_tokens }, max_tokens })
      expect(body).not.to.have.property('output_config')
    })
  }

  it('omits and reports sampling parameters while thinking', () => {
    for (const model of ['claude-sonnet-4-6', 'claude-sonnet-4-5']) {
      const call = write({ reasoning_effort: 'high', temperature: 0.5, top_p: 0.5 }, model)
      expect(JSON.parse(String(call.body))).not.to.have.any.keys('temperature', 'top_p')
      expect(call.omitted).to.deep.equal(['temperature', 'top_p'])
    }
    expect(bodyOf({ reasoning_effort: 'none', temperature: 0.5 })).to.include({ temperature: 0.5 })
  })

  it('does not think if a tool call is forced', () => {
    const forced = { reasoning_effort: 'high', tools, tool_choice: 'required' }
    const adaptive = write(forced)
    expect(JSON.parse(String(adaptive.body))).to.deep.include({ output_config: { effort: 'high' } })
    expect(JSON.parse(String(adaptive.body))).not.to.have.property('thinking')
    expect(adaptive.omitted).to.deep.equal([])
    const budget = write({ ...forced, max_tokens: 100 }, 'claude-sonnet-4-5')
    expect(JSON.parse(String(budget.body)))
      .to.include({ max_tokens: 100 })
      .and.not.to.have.property('thinking')
    expect(budget.omitted).to.deep.equal(['reasoning_effort'])
  })

  it('sends no budget if the last reply has tool calls', () => {
    const call = { id: 'a', type: 'function', function: { name: 'ring', arguments: '{}' } }
    const history: NonNullable<Fields['messages']> = [
      user,
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'a', content: 'done' },
    ]
    const fields = { reasoning_effort: 'high', tools, messages: history }
    const budget = write(fields, 'claude-haiku-4-5')
    expect(JSON.parse(String(budget.body))).not.to.have.property('thinking')
    expect(budget.omitted).to.deep.equal(['reasoning_effort'])
    expect(bodyOf(fields, 'claude-opus-4-6')).to.deep.include({ thinking: adaptive })
    const later = [...history, { role: 'assistant' as const, content: 'Rung.' }, user]
    expect(bodyOf({ ...fields, messages: later }, 'claude-haiku-4-5')).to.have.property('thinking')
  })

  it('rejects an unknown effort', () => {
    expect(() => bodyOf({ reasoning_effort: 'utmost' }))
      .to.throw('reasoning_effort must be one of: none, minimal, low, medium, high, xhigh, max.')
      .that.deep.includes({ code: 'invalid_value', details: { param: 'reasoning_effort' } })
  })
})
