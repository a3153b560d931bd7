import { expect } from 'chai'
import { chooseResponseForm, parseResponseKey } from '../../../../../core/dialects/responses/call.ts'
import { toInputItems } from '../../../../../core/dialects/responses/input-items.ts'
import { parseItems } from '../../../../../core/dialects/responses/parse-items.ts'
import { toResponseForm } from '../../../../../core/dialects/responses/response.ts'

const SEED = 'abcdefghijklmnopqrstuvwx'

describe('the form of a response', () => {
  for (const { what, input = 'Hi', headers = {}, stream = false, form } of [
    { what: 'a text', form: 'interface' },
    { what: 'curl', headers: { 'user-agent': 'curl/8.5.0' }, form: 'interface' },
    { what: 'items', input: [{ role: 'user', content: 'Hi' }], form: 'openai' },
    { what: 'a stream', stream: true, form: 'openai' },
    { what: 'the header openai-beta', headers: { 'openai-beta': 'responses=v1' }, form: 'openai' },
    { what: 'an official SDK', headers: { 'x-stainless-lang': 'python' }, form: 'openai' },
    { what: 'the Python client', headers: { 'user-agent': 'AsyncOpenAI/Python 2.7.1' }, form: 'openai' },
    { what: 'the Vercel AI SDK', headers: { 'user-agent': 'ai/6.0.1 ai-sdk/openai/3.0.0' }, form: 'openai' },
    { what: 'Codex', headers: { 'user-agent': 'codex_cli_rs/0.60.0' }, form: 'openai' },
  ]) {
    it(`is ${form} for ${what}`, () => {
      expect(chooseResponseForm({ input, stream }, headers)).to.equal(form)
    })
  }

  const response = (summary: string | null) => ({
    id: `resp_${SEED}`,
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

  it('interface has parts of the type text, and no thoughts that nobody asked for', () => {
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

  it('openai is how responses are made', () => {
    expect(toResponseForm(response(null), 'openai')).to.deep.equal(response(null))
  })
})

describe('ids', () => {
  it('of a response and of its call share their seed', () => {
    expect(parseResponseKey(`resp_${SEED}`)).to.equal(SEED)
    expect(parseResponseKey(`req_${SEED}`)).to.equal(SEED)
  })

  it('of anything else have none', () => {
    for (const id of [
      '',
      SEED,
      `chatcmpl-${SEED}`,
      'resp_short',
      `resp_${SEED}x`,
      `resp_../${SEED.slice(3)}`,
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

  it('are made from what was stored, and read back as the same', () => {
    const stored = parseItems(items, 'input')
    const listed = toInputItems(stored, SEED)
    expect(listed.map(({ id: _, status: __, ...item }) => item)).to.deep.equal(items)
    expect(parseItems(listed, 'input')).to.deep.equal(stored)
  })

  it('have ids of their own', () => {
    const ids = toInputItems(parseItems(items, 'input'), SEED).map(({ id }) => id)
    expect(new Set(ids).size).to.equal(items.length)
    expect(ids[0]).to.equal(`msg_${SEED}i00`)
  })
})
