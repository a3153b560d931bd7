import { expect } from 'chai'
import { GatewayError, type JsonObject } from '../../../../core/contract/index.ts'
import {
  parseResponsesBody,
  parseResponsesInput,
  parseResponsesRequest,
} from '../../../../providers/shared/responses-format/parse-request.ts'

/** Returns the canonical request of a body without earlier turns. */
function parse(value: JsonObject) {
  const body = parseResponsesBody(value)
  return parseResponsesRequest(body, [], parseResponsesInput(body))
}

function messages(input: unknown) {
  return parse({ input }).messages
}

function parseError(value: JsonObject): GatewayError {
  try {
    parse(value)
  } catch (error) {
    expect(error).to.be.instanceOf(GatewayError)
    return error as GatewayError
  }
  return expect.fail('the body was accepted')
}

const weather = { type: 'function', name: 'get_weather', parameters: { type: 'object' }, strict: true }
const clock = { type: 'function', name: 'get_time', description: 'The time' }

describe('parsing a Responses request', () => {
  it('converts a text to a user message', () => {
    expect(parse({ input: 'Hello' })).to.deep.equal({ messages: [{ role: 'user', content: 'Hello' }] })
  })

  it('puts instructions first, then earlier turns, then the input', () => {
    const body = parseResponsesBody({ input: 'Now', instructions: 'Be brief' })
    const earlier = [{ role: 'user' as const, content: 'Before' }]
    expect(parseResponsesRequest(body, earlier, parseResponsesInput(body)).messages).to.deep.equal([
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: 'Before' },
      { role: 'user', content: 'Now' },
    ])
  })

  it('omits unset fields', () => {
    const body = { input: 'x', temperature: null, top_p: null, instructions: null, tools: [], text: null }
    expect(Object.keys(parse(body))).to.deep.equal(['messages'])
  })

  it('renames fields that chat completions name differently', () => {
    const request = parse({
      input: 'x',
      model: 'auto:cost',
      max_output_tokens: 50,
      temperature: 0,
      top_p: 0.5,
      stream: true,
      reasoning: { effort: 'low', summary: 'auto' },
      metadata: { task: 'summary' },
      user: 'ada',
    })
    expect(request).to.deep.equal({
      model: 'auto:cost',
      messages: [{ role: 'user', content: 'x' }],
      temperature: 0,
      top_p: 0.5,
      metadata: { task: 'summary' },
      user: 'ada',
      stream: true,
      max_tokens: 50,
      reasoning_effort: 'low',
      extra_content: { openai: { summary: 'auto' } },
    })
  })

  it('drops fields that no provider supports', () => {
    const body = {
      input: 'x',
      store: false,
      include: ['message.output_text.logprobs'],
      truncation: 'auto',
      unheard_of: 1,
    }
    expect(Object.keys(parse(body))).to.deep.equal(['messages'])
  })

  it('keeps the request for encrypted reasoning', () => {
    const include = ['reasoning.encrypted_content']
    expect(parse({ input: 'x', include }).extra_content).to.deep.equal({ openai: { include } })
  })

  describe('text.format', () => {
    const format = (format: JsonObject) => parse({ input: 'x', text: { format } }).response_format

    it('is nested as in chat completions', () => {
      const schema = { type: 'object' }
      expect(format({ type: 'json_schema', name: 'answer', schema, strict: true })).to.deep.equal({
        type: 'json_schema',
        json_schema: { name: 'answer', schema, strict: true },
      })
      expect(format({ type: 'json_object' })).to.deep.equal({ type: 'json_object' })
    })

    it('is omitted for plain text', () => {
      expect(format({ type: 'text' })).to.equal(undefined)
    })
  })

  describe('tools', () => {
    it('are nested as in chat completions', () => {
      const request = parse({
        input: 'x',
        tools: [weather, clock],
        tool_choice: 'auto',
        parallel_tool_calls: false,
      })
      expect(request.tools).to.deep.equal([
        { type: 'function', function: { name: 'get_weather', parameters: { type: 'object' }, strict: true } },
        { type: 'function', function: { name: 'get_time', description: 'The time' } },
      ])
      expect(request).to.include({ tool_choice: 'auto', parallel_tool_calls: false })
    })

    it('can be chosen by name', () => {
      const { tool_choice } = parse({
        input: 'x',
        tools: [weather],
        tool_choice: { type: 'function', name: 'get_weather' },
      })
      expect(tool_choice).to.deep.equal({ type: 'function', function: { name: 'get_weather' } })
    })

    it('are filtered by allowed_tools', () => {
      const allowed = {
        type: 'allowed_tools',
        mode: 'required',
        tools: [{ type: 'function', name: 'get_time' }],
      }
      const request = parse({ input: 'x', tools: [weather, clock], tool_choice: allowed })
      expect(request.tools?.map((tool) => tool.function?.name)).to.deep.equal(['get_time'])
      expect(request.tool_choice).to.equal('required')
    })

    it('omit tool options without tools', () => {
      expect(parse({ input: 'x', tool_choice: 'auto', parallel_tool_calls: true })).not.to.have.any.keys(
        'tool_choice',
        'parallel_tool_calls',
      )
    })

    it('return 400 with the type of a hosted tool, if there is no other', () => {
      const error = parseError({ input: 'x', tools: [{ type: 'web_search' }] })
      expect(error).to.include({ status: 400, code: 'unsupported_parameter' })
      expect(error.details.param).to.equal('tools[0]')
      expect(error.message).to.contain('web_search')
      expect(
        parseError({ input: 'x', tools: [weather], tool_choice: { type: 'mcp' } }).details.param,
      ).to.equal('tool_choice')
    })
  })

  describe('items', () => {
    it('of type message may omit the type', () => {
      const items = [
        { role: 'developer', content: 'Be brief' },
        { type: 'message', role: 'user', content: 'Hi' },
      ]
      expect(messages(items)).to.deep.equal([
        { role: 'developer', content: 'Be brief' },
        { role: 'user', content: 'Hi' },
      ])
    })

    it('support every kind of part', () => {
      const content = [
        { type: 'input_text', text: 'Look' },
        { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'low' },
        { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' },
      ]
      expect(messages([{ role: 'user', content }])[0]?.content).to.deep.equal([
        { type: 'text', text: 'Look' },
        { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
        { type: 'file', file: { file_data: 'data:application/pdf;base64,AA==', filename: 'a.pdf' } },
      ])
    })

    it('of one assistant turn become one message', () => {
      const items = [
        { role: 'user', content: 'Weather?' },
        { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Let me see.' }] },
        {
          type: 'message',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'I look.', annotations: [] }],
        },
        {
          type: 'function_call',
          call_id: 'c1',
          name: 'get_weather',
          arguments: '{}',
          extra_content: { google: 1 },
        },
        { type: 'function_call', call_id: 'c2', name: 'get_time', arguments: '{"a":1}' },
        { type: 'function_call_output', call_id: 'c1', output: 'sunny' },
        { type: 'function_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'noon' }] },
      ]
      expect(messages(items)).to.deep.equal([
        { role: 'user', content: 'Weather?' },
        {
          role: 'assistant',
          content: 'I look.',
          reasoning_content: 'Let me see.',
          tool_calls: [
            {
              id: 'c1',
              type: 'function',
              function: { name: 'get_weather', arguments: '{}' },
              extra_content: { google: 1 },
            },
            { id: 'c2', type: 'function', function: { name: 'get_time', arguments: '{"a":1}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'sunny' },
        { role: 'tool', tool_call_id: 'c2', content: [{ type: 'text', text: 'noon' }] },
      ])
    })

    it('of two assistant turns in a row stay two messages', () => {
      const say = (text: string) => ({ role: 'assistant', content: text })
      const thought = { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] }
      expect(messages([say('One'), say('Two'), thought, say('Three')])).to.deep.equal([
        { role: 'assistant', content: 'One' },
        { role: 'assistant', content: 'Two' },
        { role: 'assistant', content: 'Three', reasoning_content: 'Hm.' },
      ])
    })

    it('of a single call have no content', () => {
      const call = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' }
      expect(messages([call])[0]).to.deep.equal({
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
      })
    })
  })

  describe('returns 400', () => {
    for (const { title, body, param } of [
      { title: 'without input', body: {}, param: 'input' },
      { title: 'for an empty list of items', body: { input: [] }, param: 'input' },
      { title: 'for a number as input', body: { input: 7 }, param: 'input' },
      { title: 'for an item without role', body: { input: [{ content: 'x' }] }, param: 'input[0].role' },
      {
        title: 'for a call without id',
        body: { input: [{ type: 'function_call', name: 'f', arguments: '' }] },
        param: 'input[0].call_id',
      },
      {
        title: 'for an unknown part type',
        body: { input: [{ role: 'user', content: [{ type: 'video' }] }] },
        param: 'input[0].content[0]',
      },
      {
        title: 'for a reference to an unknown item',
        body: { input: [{ type: 'item_reference', id: 'msg_1' }] },
        param: 'input[0]',
      },
      {
        title: 'for an image without URL',
        body: { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] },
        param: 'input[0].content[0]',
      },
      { title: 'for a temperature of 3', body: { input: 'x', temperature: 3 }, param: 'temperature' },
      {
        title: 'for a maximum of 0 output tokens',
        body: { input: 'x', max_output_tokens: 0 },
        param: 'max_output_tokens',
      },
      {
        title: 'for a format without schema',
        body: { input: 'x', text: { format: { type: 'json_schema', name: 'a' } } },
        param: 'text.format.schema',
      },
      { title: 'for a background response', body: { input: 'x', background: true }, param: 'background' },
      { title: 'for a conversation', body: { input: 'x', conversation: 'conv_1' }, param: 'conversation' },
      { title: 'for a stored prompt', body: { input: 'x', prompt: { id: 'p' } }, param: 'prompt' },
    ]) {
      it(title, () => {
        const error = parseError(body)
        expect(error.status).to.equal(400)
        expect(error.details.param).to.equal(param)
      })
    }

    it('accepts unsupported fields that are unset', () => {
      expect(
        parse({ input: 'x', background: false, conversation: null, prompt: null }).messages,
      ).to.have.length(1)
    })
  })
})
