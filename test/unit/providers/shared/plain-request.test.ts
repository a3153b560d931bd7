import { expect } from 'chai'
import type { ChatRequest } from '../../../../core/contract/index.ts'
import { parseMessagesRequest } from '../../../../plugins/messages/parse-request.ts'
import { toPlainRequest } from '../../../../providers/shared/plain-request.ts'

const weather = { name: 'get_weather', input_schema: { type: 'object' } }

/** The request for a provider of another format, and what was left out. */
function convert(fields: object, ...messages: readonly object[]) {
  const body = {
    model: 'gpt-4o',
    max_tokens: 10,
    messages: [{ role: 'user', content: 'Hi' }, ...messages],
    ...fields,
  }
  return toPlainRequest(parseMessagesRequest(body, { 'anthropic-beta': 'files-api-2025-04-14' }))
}

describe('converting content of Anthropic for other providers', () => {
  it('returns a request without such content as it is', () => {
    const request: ChatRequest = { messages: [{ role: 'user', content: 'Hi' }] }
    expect(toPlainRequest(request).request).to.equal(request)
  })

  it('leaves nothing of it in the request', () => {
    const { request, omitted } = convert(
      {
        metadata: { user_id: 'u' },
        tools: [{ ...weather, defer_loading: true }],
        system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'c', name: 'get_weather', input: {}, caller: { type: 'direct' } }],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'Rain', is_error: true }] },
    )
    expect(JSON.stringify(request)).not.to.match(/extra_content|cache_control|anthropic/)
    expect(omitted).to.deep.equal([])
    expect(request.messages.at(-1)).to.include({ content: '[tool error] Rain' })
    expect(request.tools).to.deep.equal([
      { type: 'function', function: { name: 'get_weather', parameters: weather.input_schema } },
    ])
  })

  it('turns thinking into reasoning, and keeps what a provider wants back with a call', () => {
    const google = { thought_signature: 'abc' }
    const { request } = convert(
      {},
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: 's' },
          { type: 'redacted_thinking', data: 'x' },
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 'c', name: 'look', input: { a: 1 }, extra_content: { google } },
        ],
      },
    )
    expect(request.messages[1]).to.deep.equal({
      role: 'assistant',
      content: 'I look.',
      reasoning_content: 'Hm.',
      tool_calls: [
        {
          id: 'c',
          type: 'function',
          function: { name: 'look', arguments: '{"a":1}' },
          extra_content: { google },
        },
      ],
    })
  })

  it('turns documents and search results that are text into text', () => {
    const text = (text: string) => ({ type: 'text', text })
    const content = [
      {
        type: 'document',
        source: { type: 'text', media_type: 'text/plain', data: 'Trains.' },
        title: 'Plan',
      },
      { type: 'document', source: { type: 'content', content: [text('One.'), text('Two.')] } },
      { type: 'search_result', source: 'a', title: 'Found', content: [text('It.')] },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } },
      { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } },
    ]
    const { request, omitted } = convert({}, { role: 'user', content })
    expect(request.messages[1]?.content).to.deep.equal([
      text('Plan\nTrains.'),
      text('One.\nTwo.'),
      text('Found\nIt.'),
      { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0=', filename: 'document.pdf' } },
      { type: 'file', file: { file_url: 'https://example.com/a.pdf' } },
    ])
    expect(omitted).to.deep.equal([])
  })

  it('leaves out tools of Anthropic, with a choice of them', () => {
    const search = { type: 'web_search_20250305', name: 'web_search' }
    const choice = { tool_choice: { type: 'tool', name: 'web_search' } }
    const only = convert({ tools: [search], ...choice })
    expect(only.omitted).to.deep.equal(['tool web_search'])
    expect(only.request.tools ?? only.request.tool_choice).to.equal(undefined)
    const both = convert({ tools: [search, weather], ...choice })
    expect(both.request.tools).to.have.length(1)
    expect(both.request.tool_choice).to.equal(undefined)
  })

  it('converts effort and format, and names fields without a counterpart', () => {
    const format = { type: 'json_schema', schema: { type: 'object' } }
    const { request, omitted } = convert({
      ...{ thinking: { type: 'adaptive' }, output_config: { effort: 'max', format } },
      ...{ top_k: 5, context_management: {}, container: null },
    })
    expect(request.reasoning_effort).to.equal('high')
    expect(request.response_format).to.deep.include({ type: 'json_schema' })
    expect(omitted).to.deep.equal(['top_k', 'context_management'])
  })
})
