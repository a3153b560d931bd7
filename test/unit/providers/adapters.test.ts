import { expect } from 'chai'
import { ADAPTERS } from '../../../providers/adapters.ts'

describe('the built-in adapters', () => {
  it('authenticate as their providers require', () => {
    const headers = ADAPTERS.map(({ format, buildAuthHeaders }) => [format, buildAuthHeaders('sk-key')])
    expect(Object.fromEntries(headers)).to.deep.equal({
      openai: { authorization: 'Bearer sk-key' },
      anthropic: { 'x-api-key': 'sk-key' },
      gemini: { 'x-goog-api-key': 'sk-key' },
      mistral: { authorization: 'Bearer sk-key' },
      deepseek: { authorization: 'Bearer sk-key' },
    })
  })
})
