import { expect } from 'chai'
import { parseModelPreferences, parseRouteRequest } from '../../../../plugins/dispatch/direct-route.ts'

describe('parsing a direct routing request', () => {
  it('builds a chat request with the documented defaults', () => {
    expect(parseRouteRequest({ prompt: 'Hello' })).to.deep.equal({
      model: 'auto:balance',
      messages: [{ role: 'user', content: 'Hello' }],
      temperature: 0.7,
      max_tokens: 1000,
    })
  })

  it('maps every spelling of cost_priority to a mode', () => {
    const modeOf = (cost_priority: string) => parseRouteRequest({ prompt: 'x', cost_priority }).model
    expect(['cost', 'quality', 'speed', 'balanced'].map(modeOf)).to.deep.equal([
      'auto:cost',
      'auto:quality',
      'auto:latency',
      'auto:balance',
    ])
  })

  it('keeps the values of the caller', () => {
    const tools = [{ type: 'function', function: { name: 'look' } }]
    const request = parseRouteRequest({
      prompt: 'x',
      temperature: 0,
      max_tokens: 5,
      tools,
      tool_choice: 'look',
      response_format: { type: 'json_object' },
      user_id: 'ada',
    })
    expect(request).to.deep.include({
      temperature: 0,
      max_tokens: 5,
      tools,
      tool_choice: { type: 'function', function: { name: 'look' } },
      response_format: { type: 'json_object' },
      user: 'ada',
    })
  })

  it('keeps the order of preferences', () => {
    expect(parseModelPreferences({ prompt: 'x', model_preferences: ['b', 'a'] })).to.deep.equal(['b', 'a'])
    expect(parseModelPreferences({ prompt: 'x' })).to.deep.equal([])
  })
})
