import { expect } from 'chai'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { type ChatRequest, type ContentPart, TokenIds } from '../../../../core/contract/index.ts'
import {
  estimateInputTokens,
  maxReplyTokens,
  PromptTokens,
  promptTokensOf,
  readImageSize,
} from '../../../../core/tokens/prompt-tokens.ts'
import { PROSE } from '../../../support/languages.ts'

const model = { context: 100_000, max_output: 8000, quirks: {} }

const ask = (content: string | readonly ContentPart[], more: object = {}): ChatRequest => ({
  messages: [{ role: 'user', content }],
  ...more,
})

const { English = '' } = PROSE

describe('the tokens of a prompt', () => {
  it('include texts, calls, tools and schemas', () => {
    const words = countTokens(English)
    const plain = estimateInputTokens(ask(English))
    expect(plain / (words + 7)).to.be.within(0.85, 1.15)
    expect(estimateInputTokens(ask([{ type: 'text', text: English }]))).to.equal(plain)
    const tools = [{ type: 'function', function: { name: 'pay', description: English, parameters: SCHEMA } }]
    expect(estimateInputTokens(ask(English, { tools }))).to.be.within(2 * plain + 20, 2 * plain + 60)
    const response_format = { type: 'json_schema', json_schema: { name: 'x', schema: SCHEMA } }
    expect(estimateInputTokens(ask(English, { response_format }))).to.be.within(plain + 8, plain + 30)
    const call = { id: 'call_1', function: { name: 'pay', arguments: English } }
    const messages = [
      { role: 'assistant' as const, content: null, tool_calls: [call], reasoning_content: English },
    ]
    expect(estimateInputTokens({ messages })).to.be.within(1.9 * plain, 2.2 * plain)
  })

  it('include everything else that a provider may read', () => {
    const words = countTokens(English)
    const message = (fields: object): ChatRequest => ({ messages: [{ role: 'assistant', ...fields }] })
    const tool = (parameters: object) =>
      ask('Hi', { tools: [{ type: 'function', function: { name: 'f', parameters } }] })
    const numbers = Array.from({ length: words }, (_, index) => index)
    for (const request of [
      message({ content: 'x', refusal: English }),
      message({ content: 'x', reasoning: English }),
      message({ content: 'x', name: English }),
      tool({ properties: {}, data: English }),
      tool({ properties: {}, [English]: true }),
      tool({ properties: {}, $defs: { [English]: {} } }),
      tool({ properties: { a: { enum: numbers } } }),
    ])
      expect(estimateInputTokens(request) / words, JSON.stringify(request)).to.be.within(0.85, 1.6)
  })

  it('are exact for texts that were counted', () => {
    const prompt = new PromptTokens(ask(English))
    expect(prompt.texts).to.deep.equal([English])
    expect(prompt.of('gpt-6-sol', undefined, 1000)).to.equal(1007)
    expect(prompt.of('claude-opus-5', undefined, 1000)).to.be.within(1180, 1230)
  })

  it('include images by their size, never their bytes', () => {
    const image = (url: string) => [{ type: 'image_url', image_url: { url } }]
    const tokens = (url: string, name: string) => estimateInputTokens(ask(image(url)), { model: name })
    const photo = png(1024, 1024, 1_000_000)
    expect(readImageSize(photo)).to.deep.equal({ width: 1024, height: 1024 })
    expect(tokens(photo, 'gpt-4o')).to.equal(765 + 7)
    expect(tokens(photo, 'gpt-6-sol')).to.equal(1024 + 7)
    expect(tokens(photo, 'claude-sonnet-4-6')).to.equal(Math.ceil((1024 * 1024) / 750) + 8)
    expect(tokens(photo, 'gemini-2.5-pro')).to.equal(4 * 258)
    expect(tokens('https://example.com/a.png', 'claude-sonnet-4-6')).to.be.within(1500, 1700)
    const block = {
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: photo.split(',')[1] },
    }
    const part = { type: 'extra_content', extra_content: { anthropic: block } }
    expect(estimateInputTokens(ask([part]), { model: 'claude-sonnet-4-6' })).to.equal(1399 + 8)
  })

  it('reads the size of GIF, WebP and JPEG', () => {
    const url = (bytes: Buffer) =>
      `data:;base64,${Buffer.concat([bytes, Buffer.alloc(64)]).toString('base64')}`
    expect(readImageSize(url(Buffer.from('474946383961' + '8002e001', 'hex')))).to.include({
      width: 640,
      height: 480,
    })
    const webp = Buffer.concat([
      Buffer.from('RIFFxxxxWEBPVP8X'),
      Buffer.from('0a000000' + '00000000' + '7f0200' + 'df0100', 'hex'),
    ])
    expect(readImageSize(url(webp))).to.include({ width: 640, height: 480 })
    const jpeg = Buffer.from('ffd8' + 'ffe00004' + '0000' + 'ffc0000b08' + '01e0' + '0280', 'hex')
    expect(readImageSize(url(jpeg))).to.include({ width: 640, height: 480 })
    expect(readImageSize('data:image/png;base64,AAAA')).to.equal(undefined)
  })

  it('include files as what the caller needs, and never exceed the context', () => {
    const file = { type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA' } }
    const tokens = (request: ChatRequest, unknown?: number) =>
      promptTokensOf(new PromptTokens(request), request, { model: 'gpt-4o', entry: model }, 'chat', unknown)
    expect(tokens(ask([file]))).to.be.within(5000, 5010)
    expect(tokens(ask([file]), Number.POSITIVE_INFINITY)).to.equal(100_000)
    expect(tokens(ask('wordy '.repeat(200_000)))).to.equal(100_000)
  })
})

describe('the tokens of texts to embed', () => {
  const texts = (...contents: readonly NonNullable<ChatRequest['messages'][number]['content']>[]) => ({
    messages: contents.map((content) => ({ role: 'user' as const, content })),
  })

  it('are bounded by the context of the model for each text', () => {
    const long = 'wordy '.repeat(400_000)
    const request = texts(long, long, 'x')
    const target = { model: 'text-embedding-3-small', entry: model }
    expect(promptTokensOf(new PromptTokens(request), request, target, 'embeddings')).to.equal(300_000)
  })

  it('include token ids one by one', () => {
    const part = { type: 'token_ids', token_ids: new TokenIds(Array.from({ length: 500 }, () => 1)) }
    expect(estimateInputTokens(texts([part], [part]))).to.be.within(1000, 1020)
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

  it('include a prediction, whose rejected tokens are billed', () => {
    for (const content of [English, [{ type: 'text', text: English }]]) {
      const request = ask('Hi', { max_tokens: 50, prediction: { type: 'content', content } })
      expect((maxReplyTokens(request, model) - 50) / countTokens(English)).to.be.within(0.85, 1.15)
    }
  })

  it('include the thinking that an adapter adds to the limit', () => {
    const thinking = { ...model, max_output: 100_000, quirks: { thinking: 'budget' as const } }
    expect(maxReplyTokens(ask('Hi', { max_tokens: 50, reasoning_effort: 'high' }), thinking)).to.equal(63_050)
    expect(maxReplyTokens(ask('Hi', { max_tokens: 50 }), thinking)).to.equal(50)
  })
})

const SCHEMA = { type: 'object', properties: { amount: { type: 'number' }, note: { type: 'string' } } }

/** A data URL of a PNG with this size in its header, and as many bytes. */
function png(width: number, height: number, bytes: number): string {
  const data = Buffer.alloc(bytes, 7)
  data.write('89504e470d0a1a0a0000000d49484452', 'hex')
  data.writeUInt32BE(width, 16)
  data.writeUInt32BE(height, 20)
  return `data:image/png;base64,${data.toString('base64')}`
}
