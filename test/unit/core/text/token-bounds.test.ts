import { expect } from 'chai'
import { type ChatRequest, type ContentPart, TokenIds } from '../../../../core/contract/index.ts'
import {
  ESTIMATE,
  maxReplyTokens,
  measurePrompt,
  type TokenMeasure,
  UPPER_BOUND,
} from '../../../../core/text/token-bounds.ts'

const model = { context: 100_000, max_output: 8000, quirks: {} }

const ask = (content: string | readonly ContentPart[], more: object = {}): ChatRequest => ({
  messages: [{ role: 'user', content }],
  ...more,
})

describe('the tokens of a prompt', () => {
  const promptTokens = (request: ChatRequest, limits: typeof model, measure: TokenMeasure) =>
    measurePrompt(request, measure)(limits)

  it('are bounded by the bytes of all texts, tools and schemas', () => {
    const text = 'é1€'.repeat(100)
    expect(promptTokens(ask(text), model, UPPER_BOUND)).to.be.within(600, 680)
    const tools = [{ type: 'function', function: { name: 'f', description: 'd'.repeat(900) } }]
    expect(promptTokens(ask(text, { tools }), model, UPPER_BOUND)).to.be.within(1500, 1680)
    expect(promptTokens(ask([{ type: 'text', text }]), model, UPPER_BOUND)).to.be.within(600, 700)
  })

  it('are estimated as a third of the bytes', () => {
    expect(promptTokens(ask('x'.repeat(3000)), model, ESTIMATE)).to.be.within(1000, 1040)
  })

  it('include images and files, whatever their bytes, and never exceed the context', () => {
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(90_000)}` } }
    expect(promptTokens(ask([image, image]), model, ESTIMATE)).to.be.within(3000, 3050)
    expect(promptTokens(ask([image]), model, UPPER_BOUND)).to.be.within(50_000, 50_100)
    const file = { type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA' } }
    expect(promptTokens(ask([file]), model, UPPER_BOUND)).to.equal(100_000)
    expect(promptTokens(ask('x'.repeat(200_000)), model, UPPER_BOUND)).to.equal(100_000)
  })
})

describe('the tokens of texts to embed', () => {
  const texts = (...contents: readonly NonNullable<ChatRequest['messages'][number]['content']>[]) => ({
    messages: contents.map((content) => ({ role: 'user' as const, content })),
  })

  it('are bounded by the context of the model for each text', () => {
    const long = 'x'.repeat(200_000)
    expect(measurePrompt(texts(long, long, 'x'), UPPER_BOUND, 'embeddings')(model)).to.equal(300_000)
  })

  it('include token ids one by one', () => {
    const part = { type: 'token_ids', token_ids: new TokenIds(Array.from({ length: 500 }, () => 1)) }
    expect(measurePrompt(texts([part], [part]), ESTIMATE, 'embeddings')(model)).to.be.within(1000, 1060)
  })

  it('have no tokens in the reply', () => {
    expect(maxReplyTokens(ask('Hi'), model, 'embeddings')).to.equal(0)
    expect(maxReplyTokens(ask('Hi'), undefined, 'moderation')).to.equal(0)
  })
})

describe('the tokens of a reply', () => {
  it('are at most the limit of the request, and that of the model', () => {
    expect(maxReplyTokens(ask('Hi', { max_tokens: 50 }), model)).to.equal(50)
    expect(maxReplyTokens(ask('Hi', { max_completion_tokens: 60, max_tokens: 50 }), model)).to.equal(60)
    expect(maxReplyTokens(ask('Hi', { max_tokens: 9000 }), model)).to.equal(8000)
    expect(maxReplyTokens(ask('Hi', { max_tokens: null }), model)).to.equal(8000)
    expect(maxReplyTokens(ask('Hi', { max_tokens: 90_000 }))).to.equal(90_000)
    expect(maxReplyTokens(ask('Hi'))).to.equal(16_384)
  })

  it('include the thinking that an adapter adds to the limit', () => {
    const thinking = { ...model, max_output: 100_000, quirks: { thinking: 'budget' as const } }
    expect(maxReplyTokens(ask('Hi', { max_tokens: 50, reasoning_effort: 'high' }), thinking)).to.equal(63_050)
    expect(maxReplyTokens(ask('Hi', { max_tokens: 50 }), thinking)).to.equal(50)
  })
})
