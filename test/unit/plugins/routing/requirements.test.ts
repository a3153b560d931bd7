import { expect } from 'chai'
import { findMissingCapability, requirementsOf } from '../../../../plugins/routing/requirements.ts'
import { buildChatRequest } from '../../../support/market.ts'
import { model } from '../../../support/models.ts'

const everything = { json: 'schema', logit_bias: true, seed: true } as const
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
const tool = { type: 'function', function: { name: 'look' } }

describe('the requirements of a request', () => {
  it('estimate the tokens of all messages', () => {
    const { inputTokens } = requirementsOf({
      messages: [
        { role: 'system', content: 'hello '.repeat(20) },
        { role: 'user', content: [{ type: 'text', text: 'hello '.repeat(20) }] },
      ],
    })
    expect(inputTokens).to.be.within(40, 60)
  })

  it('do not count image data as text', () => {
    const tokensOf = (data: string) => {
      const url = `data:image/png;base64,${data}`
      const content = [{ type: 'image_url', image_url: { url } }]
      return requirementsOf({ messages: [{ role: 'user', content }] }).inputTokens
    }
    expect(tokensOf('A'.repeat(400_000))).to.equal(tokensOf('AAAA'))
  })

  it('expect 500 output tokens, or fewer if the request limits them', () => {
    expect(requirementsOf(buildChatRequest()).outputTokens).to.equal(500)
    expect(requirementsOf(buildChatRequest({ max_tokens: 50 })).outputTokens).to.equal(50)
    expect(
      requirementsOf(buildChatRequest({ max_completion_tokens: 60, max_tokens: null })).outputTokens,
    ).to.equal(60)
    expect(requirementsOf(buildChatRequest({ max_tokens: 9000 })).outputTokens).to.equal(500)
  })

  it('include tools, images and JSON', () => {
    expect(requirementsOf(buildChatRequest())).to.include({ tools: false, images: false, json: 0 })
    expect(requirementsOf(buildChatRequest({ tools: [] })).tools).to.equal(false)
    expect(requirementsOf(buildChatRequest({ tools: [tool] })).tools).to.equal(true)
    expect(
      requirementsOf(buildChatRequest({ messages: [{ role: 'user', content: [image] }] })).images,
    ).to.equal(true)
    expect(requirementsOf(buildChatRequest({ response_format: { type: 'text' } })).json).to.equal(0)
    expect(requirementsOf(buildChatRequest({ response_format: { type: 'json_object' } })).json).to.equal(1)
    expect(requirementsOf(buildChatRequest({ response_format: { type: 'json_schema' } })).json).to.equal(2)
  })
})

describe('the missing capability of a model', () => {
  const able = { tools: true, images: true, json: 'schema' } as const

  it('is undefined if the model supports the request', () => {
    const needs = requirementsOf(
      buildChatRequest({ tools: [tool], response_format: { type: 'json_schema' } }),
    )
    expect(findMissingCapability(model('loco', 'acme'), everything, needs)).to.equal(undefined)
  })

  for (const [missing, request, capabilities] of [
    ['tools', buildChatRequest({ tools: [tool] }), { ...able, tools: false }],
    [
      'images',
      buildChatRequest({ messages: [{ role: 'user', content: [image] }] }),
      { ...able, images: false },
    ],
    [
      'response_format',
      buildChatRequest({ response_format: { type: 'json_object' } }),
      { ...able, json: 'none' },
    ],
    [
      'response_format',
      buildChatRequest({ response_format: { type: 'json_schema' } }),
      { ...able, json: 'object' },
    ],
  ] as const) {
    it(`is ${missing} for a model with ${JSON.stringify(capabilities)}`, () => {
      const entry = model('loco', 'acme', { capabilities })
      expect(findMissingCapability(entry, everything, requirementsOf(request))).to.equal(missing)
    })
  }

  it('is response_format if the provider does not support it', () => {
    const needs = requirementsOf(buildChatRequest({ response_format: { type: 'json_schema' } }))
    const provider = { ...everything, json: 'object' } as const
    expect(findMissingCapability(model('loco', 'acme'), provider, needs)).to.equal('response_format')
    expect(findMissingCapability(undefined, provider, needs)).to.equal('response_format')
  })

  it('is context if the input and the expected output do not fit', () => {
    const needs = requirementsOf({ messages: [{ role: 'user', content: 'x'.repeat(4000) }] })
    const missingWith = (context: number) =>
      findMissingCapability(model('loco', 'acme', { context }), everything, needs)
    expect(missingWith(needs.inputTokens + 500)).to.equal(undefined)
    expect(missingWith(needs.inputTokens + 499)).to.equal('context')
  })
})
