import { expect } from 'chai'
import { bodyOf, type Fields, user, write } from './target.ts'

const parameters = { type: 'object', properties: { to: { type: 'string', minLength: 1 } }, required: ['to'] }
const tools = [
  { type: 'function', function: { name: 'switch', description: 'Throws a switch', parameters } },
  { type: 'function', function: { name: 'ring' } },
]
const named = { type: 'function', function: { name: 'ring' } }

describe('converting tools for Anthropic', () => {
  it('sends name, description and schema', () => {
    expect(bodyOf({ tools }).tools).to.deep.equal([
      { name: 'switch', description: 'Throws a switch', input_schema: parameters },
      { name: 'ring', input_schema: { type: 'object', properties: {} } },
    ])
  })

  it('ensures an object schema', () => {
    const tool = { type: 'function', function: { name: 'x', parameters: { required: [] } } }
    expect(bodyOf({ tools: [tool] }).tools![0]!.input_schema).to.deep.equal({
      type: 'object',
      properties: {},
      required: [],
    })
  })

  it('keeps strict, and converts the schema', () => {
    const strict = { ...tools[0]!.function, strict: true }
    const [tool] = bodyOf({ tools: [{ type: 'function', function: strict }] }).tools!
    expect(tool).to.include({ strict: true })
    expect(tool!.input_schema).to.deep.equal({
      type: 'object',
      properties: { to: { type: 'string', description: '{minLength: 1}' } },
      required: ['to'],
      additionalProperties: false,
    })
  })

  it('keeps the cache control', () => {
    const cache_control = { type: 'ephemeral' }
    expect(bodyOf({ tools: [{ ...tools[0]!, cache_control }] }).tools![0]).to.deep.include({ cache_control })
  })

  it('rejects tools that are not functions', () => {
    expect(() => bodyOf({ tools: [...tools, { type: 'web_search' }] }))
      .to.throw()
      .that.deep.includes({ code: 'unsupported_parameter', details: { param: 'tools[2]' } })
  })

  const choices: [choice: Fields['tool_choice'], sent: object][] = [
    ['auto', { type: 'auto' }],
    ['none', { type: 'none' }],
    ['required', { type: 'any' }],
    [named, { type: 'tool', name: 'ring' }],
  ]
  for (const [tool_choice, sent] of choices) {
    it(`converts the choice ${JSON.stringify(tool_choice)} to ${JSON.stringify(sent)}`, () => {
      const call = write({ tools, tool_choice: tool_choice! })
      expect(JSON.parse(String(call.body))).to.deep.include({ tool_choice: sent })
      expect(call.omitted).to.deep.equal([])
    })
  }

  it('sends a forced choice to a model that is not catalogued', () => {
    expect(bodyOf({ tools, tool_choice: 'required' }, 'claude-next').tool_choice).to.deep.equal({
      type: 'any',
    })
  })

  it('sends only the allowed tools', () => {
    const allowed_tools = { mode: 'required', tools: [named] }
    const body = bodyOf({ tools, tool_choice: { type: 'allowed_tools', allowed_tools } })
    expect(body.tools!.map(({ name }) => name)).to.deep.equal(['ring'])
    expect(body.tool_choice).to.deep.equal({ type: 'any' })
  })

  it('disables parallel calls', () => {
    const off = { disable_parallel_tool_use: true }
    const fields = { tools, parallel_tool_calls: false }
    expect(bodyOf(fields).tool_choice).to.deep.equal({ type: 'auto', ...off })
    expect(bodyOf({ ...fields, tool_choice: 'required' }).tool_choice).to.deep.equal({ type: 'any', ...off })
    expect(bodyOf({ ...fields, tool_choice: 'none' }).tool_choice).to.deep.equal({ type: 'none' })
  })

  it('sends no choice without tools', () => {
    const body = bodyOf({ tool_choice: 'required', parallel_tool_calls: false, tools: [] })
    expect(body).not.to.have.any.keys('tool_choice', 'tools')
  })

  it('rejects an unknown choice, and one without a matching tool', () => {
    for (const tool_choice of ['any', { type: 'function', function: { name: 'wave' } }, { type: 'custom' }]) {
      expect(() => bodyOf({ tools, tool_choice }))
        .to.throw()
        .that.deep.includes({ code: 'invalid_value', details: { param: 'tool_choice' } })
    }
  })

  it('declares the tools of the history if the request has none, and forbids calls', () => {
    const call = { id: 'a', type: 'function', function: { name: 'ring', arguments: '{}' } }
    const messages = [
      user,
      { role: 'assistant' as const, tool_calls: [call] },
      { role: 'tool' as const, tool_call_id: 'a', content: 'done' },
    ]
    expect(bodyOf({ messages })).to.deep.include({
      tools: [{ name: 'ring', input_schema: { type: 'object', properties: {} } }],
      tool_choice: { type: 'none' },
    })
  })
})
