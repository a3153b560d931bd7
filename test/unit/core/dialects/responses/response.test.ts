import { expect } from 'chai'
import { toInputItems } from '../../../../../core/dialects/responses/build-input-items.ts'
import { chooseResponseForm, parseResponseKey } from '../../../../../core/dialects/responses/call.ts'
import { parseItems } from '../../../../../core/dialects/responses/parse-input-items.ts'
import { toResponseForm } from '../../../../../core/dialects/responses/response.ts'

const RESPONSE_KEY = 'abcdefghijklmnopqrstuvwx'

describe('the form of a response', () => {
  for (const { title, input = 'Hi', headers = {}, stream = false, form } of [
    { title: 'a text', form: 'interface' },
    { title: 'curl', headers: { 'user-agent': 'curl/8.5.0' }, form: 'interface' },
    { title: 'items', input: [{ role: 'user', content: 'Hi' }], form: 'openai' },
    { title: 'a stream', stream: true, form: 'openai' },
    { title: 'the header openai-beta', headers: { 'openai-beta': 'responses=v1' }, form: 'openai' },
    { title: 'an official SDK', headers: { 'x-stainless-lang': 'python' }, form: 'openai' },
    { title: 'the Python client', headers: { 'user-agent': 'AsyncOpenAI/Python 2.7.1' }, form: 'openai' },
    { title: 'the Vercel AI SDK', headers: { 'user-agent': 'ai/6.0.1 ai-sdk/openai/3.0.0' }, form: 'openai' },
    { title: 'Codex', headers: { 'user-agent': 'codex_cli_rs/0.60.0' }, form: 'openai' },
  ]) {
    it(`is ${form} for ${title}`, () => {
      expect(chooseResponseForm({ input, stream }, headers)).to.equal(form)
    })
  }

  const response = (summary: string | null) => ({
    id: `resp_${RESPONSE_KEY}`,
    reasoning: { effort: 'low', summary },
    output: [
      { id: 'rs_1', type: 'reasoning', summary: [] },
      {
        id: 'msg_1',
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Hi', annotations: [] }],
      },
    ],
  })

  it('interface has parts of type text, and reasoning only if requested', () => {
    expect(toResponseForm(response(null), 'interface').output).to.deep.equal([
      {
        id: 'msg_1',
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'text', text: 'Hi' }],
      },
    ])
    expect(toResponseForm(response('auto'), 'interface').output).to.have.length(2)
  })

  it('openai leaves the response unchanged', () => {
    expect(toResponseForm(response(null), 'openai')).to.deep.equal(response(null))
  })
})

describe('parsing a response key', () => {
  it('returns the same key for a response id and the request id of its call', () => {
    expect(parseResponseKey(`resp_${RESPONSE_KEY}`)).to.equal(RESPONSE_KEY)
    expect(parseResponseKey(`req_${RESPONSE_KEY}`)).to.equal(RESPONSE_KEY)
  })

  it('returns undefined for anything else', () => {
    for (const id of [
      '',
      RESPONSE_KEY,
      `chatcmpl-${RESPONSE_KEY}`,
      'resp_short',
      `resp_${RESPONSE_KEY}x`,
      `resp_../${RESPONSE_KEY.slice(3)}`,
    ])
      expect(parseResponseKey(id)).to.equal(undefined)
  })
})

describe('input items', () => {
  const items = [
    { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be brief' }] },
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: 'Look' },
        { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'auto' },
      ],
    },
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm' }] },
    {
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'I look', annotations: [] }],
    },
    { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c1', output: 'sunny' },
  ]

  it('are built from stored messages, and parse to the same messages', () => {
    const stored = parseItems(items, 'input')
    const listed = toInputItems(stored, RESPONSE_KEY)
    expect(listed.map(({ id: _, status: __, ...item }) => item)).to.deep.equal(items)
    expect(parseItems(listed, 'input')).to.deep.equal(stored)
  })

  it('have unique ids', () => {
    const ids = toInputItems(parseItems(items, 'input'), RESPONSE_KEY).map(({ id }) => id)
    expect(new Set(ids).size).to.equal(items.length)
    expect(ids[0]).to.equal(`msg_${RESPONSE_KEY}i00`)
  })
})
