import { expect } from 'chai'
import { estimateRequestTokens } from '../../../../core/text/token-estimate.ts'

describe('the estimate of input tokens', () => {
  it('counts four UTF-8 bytes of the messages as a token, in any language', () => {
    const tokensOf = (content: string) => estimateRequestTokens({ messages: [{ role: 'user', content }] })
    expect(tokensOf('a'.repeat(400))).to.equal(100)
    expect(tokensOf('車'.repeat(400))).to.equal(300)
    expect(tokensOf('a')).to.equal(1)
  })

  it('counts parts, calls, tools and the schema of the reply', () => {
    const text = 'x'.repeat(40)
    const call = { id: 'call_1', function: { name: 'pay', arguments: text } }
    const messages = [
      { role: 'user', content: [{ type: 'text', text }] },
      { role: 'assistant', content: null, tool_calls: [call], reasoning_content: text },
    ] as const
    const plain = estimateRequestTokens({ messages })
    expect(plain).to.equal(Math.ceil((3 * 40 + 3) / 4))
    const tools = [{ type: 'function', function: { name: 'pay', description: 'y'.repeat(400) } }]
    expect(estimateRequestTokens({ messages, tools })).to.be.closeTo(plain + 115, 5)
    const response_format = { type: 'json_schema', json_schema: { name: 'z'.repeat(400) } }
    expect(estimateRequestTokens({ messages, response_format })).to.be.closeTo(plain + 115, 5)
  })

  it('counts an image as 1,000 tokens, whatever its size', () => {
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(100_000)}` } }
    expect(estimateRequestTokens({ messages: [{ role: 'user', content: [image] }] })).to.equal(1000)
  })
})
