import { expect } from 'chai'
import { parseResponseKey } from '../../../../plugins/responses/call.ts'
import { toResponseForm } from '../../../../plugins/responses/response.ts'
import { toInputItems } from '../../../../plugins/responses/to-input-items.ts'
import { parseItems } from '../../../../providers/shared/responses-format/input-items.ts'

const RESPONSE_KEY = 'abcdefghijklmnopqrstuvwx'

describe('the form of a response', () => {
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

  it('openai leaves the output unchanged', () => {
    expect(toResponseForm(response(null), 'openai')).to.deep.equal({ ...response(null), metadata: {} })
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
      content: [{ type: 'output_text', text: 'I look', annotations: [], logprobs: [] }],
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
