import { expect } from 'chai'
import { bodyOf, type Fields, user, write } from './target.ts'

const parameters = { type: 'object', properties: { to: { type: 'string', minLength: 1 } }, required: ['to'] }
const tools = [
  { type: 'function', function: { name: 'switch', description: 'Throws a switch', parameters } },
  { type: 'function', function: { name: 'ring' } },
]
const named = { type: 'function', function: { name: 'ring' } }

describe('writing tools to Anthropic', () => {
  it('gives name, description and schema', () => {
    expect(bodyOf({ tools }).tools).to.deep.equal([
      { name: 'switch', description: 'Throws a switch', input_schema: parameters },
      { name: 'ring', input_schema: { type: 'object', properties: {} } },
    ])
  })

  it('sees to it that the schema is an object', () => {
    const tool = { type: 'function', function: { name: 'x', parameters: { required: [] } } }
    expect(bodyOf({ tools: [tool] }).tools![0]!.input_schema).to.deep.equal({
      type: 'object',
      properties: {},
      required: [],
    })
  })

  it('keeps strict, with a schema that can be enforced', () => {
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

  it('keeps a cache mark', () => {
    const cache_control = { type: 'ephemeral' }
    expect(bodyOf({ tools: [{ ...tools[0]!, cache_control }] }).tools![0]).to.deep.include({ cache_control })
  })

  it('refuses tools that are no functions', () => {
    expect(() => bodyOf({ tools: [...tools, { type: 'web_search' }] }))
      .to.throw()
      .that.deep.includes({ code: 'unsupported_parameter', details: { param: 'tools[2]' } })
  })

  const choices: [choice: Fields['tool_choice'], written: object][] = [
    ['auto', { type: 'auto' }],
    ['none', { type: 'none' }],
    ['required', { type: 'any' }],
    [named, { type: 'tool', name: 'ring' }],
  ]
  for (const [tool_choice, written] of choices) {
    it(`writes the choice ${JSON.stringify(tool_choice)} as ${JSON.stringify(written)}`, () => {
      const call = write({ tools, tool_choice: tool_choice! })
      expect(JSON.parse(call.body)).to.deep.include({ tool_choice: written })
      expect(call.omitted).to.deep.equal([])
    })
  }

  for (const model of ['claude-opus-5-5', 'claude-sonnet-5-5', 'claude-fable-5-1', 'claude-next']) {
    it(`lets ${model} choose, which refuses to be forced (13.7)`, () => {
      const call = write({ tools, tool_choice: 'required' }, model)
      expect(JSON.parse(call.body)).to.deep.include({ tool_choice: { type: 'auto' } })
      expect(call.omitted).to.deep.equal(['tool_choice'])
    })

    it(`offers ${model} only the tool that is named (13.7)`, () => {
      const body = bodyOf({ tools, tool_choice: named }, model)
      expect(body.tools!.map(({ name }) => name)).to.deep.equal(['ring'])
      expect(body.tool_choice).to.deep.equal({ type: 'auto' })
    })
  }

  it('offers only the tools that are allowed', () => {
    const allowed_tools = { mode: 'required', tools: [named] }
    const body = bodyOf({ tools, tool_choice: { type: 'allowed_tools', allowed_tools } })
    expect(body.tools!.map(({ name }) => name)).to.deep.equal(['ring'])
    expect(body.tool_choice).to.deep.equal({ type: 'any' })
  })

  it('switches parallel calls off', () => {
    const off = { disable_parallel_tool_use: true }
    const fields = { tools, parallel_tool_calls: false }
    expect(bodyOf(fields).tool_choice).to.deep.equal({ type: 'auto', ...off })
    expect(bodyOf({ ...fields, tool_choice: 'required' }).tool_choice).to.deep.equal({ type: 'any', ...off })
    expect(bodyOf({ ...fields, tool_choice: 'none' }).tool_choice).to.deep.equal({ type: 'none' })
  })

  it('writes no choice without tools', () => {
    const body = bodyOf({ tool_choice: 'required', parallel_tool_calls: false, tools: [] })
    expect(body).not.to.have.any.keys('tool_choice', 'tools')
  })

  it('refuses a choice that does not exist, or that no tool matches', () => {
    for (const tool_choice of ['any', { type: 'function', function: { name: 'wave' } }, { type: 'custom' }]) {
      expect(() => bodyOf({ tools, tool_choice }))
        .to.throw()
        .that.deep.includes({ code: 'invalid_value', details: { param: 'tool_choice' } })
    }
  })

  it('names the tools of the history where the request has none, and lets none be called', () => {
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
