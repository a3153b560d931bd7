import { expect } from 'chai'
import { GatewayError, type JsonObject } from '../../../../../core/contract/index.ts'
import {
  parseResponsesBody,
  parseResponsesInput,
  parseResponsesRequest,
} from '../../../../../core/dialects/responses/parse-request.ts'

/** The canonical request of a body, without earlier turns. */
function read(given: JsonObject) {
  const body = parseResponsesBody(given)
  return parseResponsesRequest(body, [], parseResponsesInput(body))
}

function messages(input: unknown) {
  return read({ input }).messages
}

function refusal(given: JsonObject): GatewayError {
  try {
    read(given)
  } catch (error) {
    expect(error).to.be.instanceOf(GatewayError)
    return error as GatewayError
  }
  return expect.fail('the body was read')
}

const weather = { type: 'function', name: 'get_weather', parameters: { type: 'object' }, strict: true }
const clock = { type: 'function', name: 'get_time', description: 'The time' }

describe('reading a Responses request', () => {
  it('takes a text as the user speaking', () => {
    expect(read({ input: 'Hello' })).to.deep.equal({ messages: [{ role: 'user', content: 'Hello' }] })
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

  it('sends only what the caller gave', () => {
    const given = { input: 'x', temperature: null, top_p: null, instructions: null, tools: [], text: null }
    expect(Object.keys(read(given))).to.deep.equal(['messages'])
  })

  it('renames what chat completions call otherwise', () => {
    const request = read({
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
    })
  })

  it('keeps fields to itself that say nothing to a provider', () => {
    const given = {
      input: 'x',
      store: false,
      include: ['reasoning.encrypted_content'],
      truncation: 'auto',
      unheard_of: 1,
    }
    expect(Object.keys(read(given))).to.deep.equal(['messages'])
  })

  describe('text.format', () => {
    const format = (format: JsonObject) => read({ input: 'x', text: { format } }).response_format

    it('is nested', () => {
      const schema = { type: 'object' }
      expect(format({ type: 'json_schema', name: 'answer', schema, strict: true })).to.deep.equal({
        type: 'json_schema',
        json_schema: { name: 'answer', schema, strict: true },
      })
      expect(format({ type: 'json_object' })).to.deep.equal({ type: 'json_object' })
    })

    it('text is no format at all', () => {
      expect(format({ type: 'text' })).to.equal(undefined)
    })
  })

  describe('tools', () => {
    it('are nested', () => {
      const request = read({
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
      const { tool_choice } = read({
        input: 'x',
        tools: [weather],
        tool_choice: { type: 'function', name: 'get_weather' },
      })
      expect(tool_choice).to.deep.equal({ type: 'function', function: { name: 'get_weather' } })
    })

    it('are limited to the allowed ones', () => {
      const allowed = {
        type: 'allowed_tools',
        mode: 'required',
        tools: [{ type: 'function', name: 'get_time' }],
      }
      const request = read({ input: 'x', tools: [weather, clock], tool_choice: allowed })
      expect(request.tools?.map((tool) => tool.function?.name)).to.deep.equal(['get_time'])
      expect(request.tool_choice).to.equal('required')
    })

    it('leave their choice out where there are none', () => {
      expect(read({ input: 'x', tool_choice: 'auto', parallel_tool_calls: true })).not.to.have.any.keys(
        'tool_choice',
        'parallel_tool_calls',
      )
    })

    it('that are hosted are refused by name', () => {
      const error = refusal({ input: 'x', tools: [weather, { type: 'web_search' }] })
      expect(error).to.include({ status: 400, code: 'unsupported_parameter' })
      expect(error.details.param).to.equal('tools[1]')
      expect(error.message).to.contain('web_search')
      expect(refusal({ input: 'x', tools: [weather], tool_choice: { type: 'mcp' } }).details.param).to.equal(
        'tool_choice',
      )
    })
  })

  describe('items', () => {
    it('of type message may leave the type out', () => {
      const items = [
        { role: 'developer', content: 'Be brief' },
        { type: 'message', role: 'user', content: 'Hi' },
      ]
      expect(messages(items)).to.deep.equal([
        { role: 'developer', content: 'Be brief' },
        { role: 'user', content: 'Hi' },
      ])
    })

    it('hold parts of every kind', () => {
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

    it('of a call alone have no content', () => {
      const call = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' }
      expect(messages([call])[0]).to.deep.equal({
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
      })
    })
  })

  describe('is refused with 400', () => {
    for (const { what, given, param } of [
      { what: 'without input', given: {}, param: 'input' },
      { what: 'with no items', given: { input: [] }, param: 'input' },
      { what: 'with a number as input', given: { input: 7 }, param: 'input' },
      { what: 'with an item without role', given: { input: [{ content: 'x' }] }, param: 'input[0].role' },
      {
        what: 'with a call without id',
        given: { input: [{ type: 'function_call', name: 'f', arguments: '' }] },
        param: 'input[0].call_id',
      },
      {
        what: 'with an unknown item',
        given: { input: ['a', { type: 'computer_call' }].slice(1) },
        param: 'input[0]',
      },
      {
        what: 'with an unknown part',
        given: { input: [{ role: 'user', content: [{ type: 'video' }] }] },
        param: 'input[0].content[0]',
      },
      {
        what: 'with a reference to nothing',
        given: { input: [{ type: 'item_reference', id: 'msg_1' }] },
        param: 'input[0]',
      },
      {
        what: 'with an image without address',
        given: { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] },
        param: 'input[0].content[0]',
      },
      { what: 'at temperature 3', given: { input: 'x', temperature: 3 }, param: 'temperature' },
      {
        what: 'with no room to answer',
        given: { input: 'x', max_output_tokens: 0 },
        param: 'max_output_tokens',
      },
      {
        what: 'with a format without schema',
        given: { input: 'x', text: { format: { type: 'json_schema', name: 'a' } } },
        param: 'text.format.schema',
      },
      { what: 'in the background', given: { input: 'x', background: true }, param: 'background' },
      { what: 'in a conversation', given: { input: 'x', conversation: 'conv_1' }, param: 'conversation' },
      { what: 'from a stored prompt', given: { input: 'x', prompt: { id: 'p' } }, param: 'prompt' },
    ]) {
      it(what, () => {
        const error = refusal(given)
        expect(error.status).to.equal(400)
        expect(error.details.param).to.equal(param)
      })
    }

    it('not for what is unset', () => {
      expect(
        read({ input: 'x', background: false, conversation: null, prompt: null }).messages,
      ).to.have.length(1)
    })
  })
})
