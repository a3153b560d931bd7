import { expect } from 'chai'
import type { ChatRequest, ReplyPart } from '../../../../core/contract/index.ts'
import { createAnswerCheck } from '../../../../core/pipeline/answer-check.ts'

const messages = [{ role: 'user', content: 'hello' }] as const
const tools = [{ type: 'function', function: { name: 'look_up' } }]

function issuesOf(request: Partial<ChatRequest>, parts: readonly ReplyPart[]) {
  const check = createAnswerCheck({ messages, ...request })
  for (const part of parts) check?.add(part)
  return check?.issues()
}

const start = (index: number, more = {}): ReplyPart => ({
  ...{ type: 'tool-start', index, id: `call_${index}`, name: 'look_up' },
  ...more,
})
const json = (index: number, text: string): ReplyPart => ({ type: 'tool-json', index, json: text })
const text = (content: string): ReplyPart => ({ type: 'text', text: content })

describe('the check of an answer', () => {
  it('is made for requests with tools or a JSON format only', () => {
    for (const request of [{}, { tools: [] }, { tools: null }, { response_format: { type: 'text' } }])
      expect(createAnswerCheck({ messages, ...request }), JSON.stringify(request)).to.equal(undefined)
  })

  it('reads the arguments of each call, whose pieces may alternate', () => {
    const parts = [start(0), start(1), json(0, '{"a"'), json(1, '{"b":2'), json(0, ':1}')]
    expect(issuesOf({ tools }, [...parts, json(1, '}')])).to.deep.equal([])
    expect(issuesOf({ tools }, parts)).to.deep.equal(['invalid_tool_call'])
    expect(issuesOf({ tools }, [start(0)])).to.deep.equal([])
    expect(issuesOf({ tools }, [start(0), json(0, '[1]')])).to.deep.equal(['invalid_tool_call'])
  })

  it('takes any text as the input of a custom tool', () => {
    expect(issuesOf({ tools }, [start(0, { custom: true }), json(0, 'SELECT 1')])).to.deep.equal([])
  })

  it('expects no JSON of a reply that calls tools', () => {
    const request = { tools, response_format: { type: 'json_object' } }
    expect(issuesOf(request, [text('Wait.'), start(0), json(0, '{}')])).to.deep.equal([])
    expect(issuesOf(request, [text('Wait.')])).to.deep.equal(['schema_mismatch'])
  })

  it('takes any JSON without a schema, and nothing but JSON', () => {
    const request = { response_format: { type: 'json_schema' } }
    expect(issuesOf(request, [text('7')])).to.deep.equal([])
    expect(issuesOf(request, [])).to.deep.equal(['schema_mismatch'])
  })

  it('does not judge a reply that is too long to keep', () => {
    const long = 'x'.repeat(40_000)
    const request = { response_format: { type: 'json_object' } }
    expect(issuesOf(request, [text(long)])).to.deep.equal(['schema_mismatch'])
    expect(issuesOf(request, [text(long), text(long)])).to.deep.equal([])
  })
})
