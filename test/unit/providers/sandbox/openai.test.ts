import { expect } from 'chai'
import OpenAI from 'openai'
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import { type Sandbox, startSandbox } from '../../../../providers/sandbox/server.ts'
import { itInFull } from '../../../support/rounds.ts'
import {
  collect,
  createOpenAiClient,
  defineTool,
  errorOf,
  type OpenAiClient,
  type Options,
  textOf,
  toolCallsOf,
} from './openai-client.ts'

const weather = defineTool('get_weather', {
  type: 'object',
  required: ['city', 'days', 'unit'],
  properties: {
    city: { type: 'string' },
    days: { type: 'integer' },
    unit: { enum: ['celsius', 'kelvin'] },
    note: { type: 'string' },
  },
})
const clock = defineTool('get_time', {
  type: 'object',
  required: ['zone'],
  properties: { zone: { const: 'UTC' } },
})

describe("sandbox: OpenAI's format", () => {
  let sandbox: Sandbox
  let client: OpenAiClient

  before(async () => {
    sandbox = await startSandbox({ record: 100 })
    client = createOpenAiClient(sandbox)
  })

  after(() => sandbox.close())

  describe('text replies', () => {
    it('quotes the last user message and names the model', async () => {
      const { choices } = await client.ask('Hello, wörld!')
      expect(choices[0]!.message).to.include({ role: 'assistant', refusal: null })
      expect(choices[0]!.message.content).to.equal(
        'You said: "Hello, wörld!". This is the sandbox, answering as gpt-test.',
      )
      expect(choices[0]!.finish_reason).to.equal('stop')
    })

    it('joins the text parts of a message and ignores other parts', async () => {
      const image = { type: 'image_url', image_url: { url: 'data:,' } } as const
      const content = [
        { type: 'text', text: 'first' } as const,
        image,
        { type: 'text', text: 'second' } as const,
      ]
      const { choices } = await client.complete([{ role: 'user', content }])
      expect(choices[0]!.message.content).to.contain('"first\nsecond"')
    })

    it('sends reasoning before the text if requested', async () => {
      const { choices, usage } = await client.ask('Hello', { reasoning_effort: 'low' })
      expect(choices[0]!.message).to.include({ reasoning_content: 'The user said: "Hello". I will say so.' })
      expect(choices[0]!.message.content).to.contain('"Hello"')
      expect(usage!.completion_tokens_details!.reasoning_tokens).to.be.greaterThan(5)
      const chunks = await collect(await client.stream('Hello', { reasoning_effort: 'low' }))
      expect(JSON.stringify(chunks[1]!.choices[0]!.delta)).to.match(/^\{"reasoning_content":"The"/)
      expect(
        (await client.ask('Hello', { reasoning_effort: 'none' })).choices[0]!.message,
      ).not.to.have.property('reasoning_content')
    })

    it('counts reasoning against the token limit', async () => {
      const { choices, usage } = await client.ask('Hello', {
        reasoning_effort: 'low',
        max_completion_tokens: 5,
      })
      expect(choices[0]).to.have.nested.property('message.content', '')
      expect(choices[0]).to.have.property('finish_reason', 'length')
      expect(usage!.completion_tokens).to.equal(usage!.completion_tokens_details!.reasoning_tokens)
    })

    it('sends the same reply for the same request', async () => {
      const [first, second] = await Promise.all([client.ask('same'), client.ask('same')])
      expect({ ...first, created: 0 }).to.deep.equal({ ...second, created: 0 })
      expect((await client.ask('other')).id).not.to.equal(first.id)
    })

    it('counts one token per four bytes', async () => {
      const { usage, choices } = await client.complete([
        { role: 'system', content: 'Be brief' },
        { role: 'user', content: 'Hällo' },
      ])
      const output = Math.ceil(Buffer.byteLength(choices[0]!.message.content!) / 4)
      expect(usage).to.deep.include({ prompt_tokens: 4, completion_tokens: output, total_tokens: 4 + output })
      expect(usage!.prompt_tokens_details).to.deep.include({ cached_tokens: 0 })
      expect(usage!.completion_tokens_details).to.deep.include({ reasoning_tokens: 0 })
    })

    for (const limit of ['max_tokens', 'max_completion_tokens']) {
      it(`truncates the reply at ${limit}`, async () => {
        const { choices, usage } = await client.ask('ääääää', { [limit]: 3 })
        expect(choices[0]!.finish_reason).to.equal('length')
        expect(choices[0]!.message.content).to.equal('You said: "')
        expect(usage!.completion_tokens).to.equal(3)
      })
    }

    it('stops before a stop sequence', async () => {
      const { choices } = await client.ask('one two three', { stop: ['three', ' two'] })
      expect(choices[0]!.message.content).to.equal('You said: "one')
      expect(choices[0]!.finish_reason).to.equal('stop')
    })

    it('sends undocumented fields and reports the unknown fields of the request', async () => {
      const completion = await client.ask('Hi', { made_up: 1, another: 2 } as Options)
      expect(completion).to.deep.include({ service_tier: 'default', system_fingerprint: 'fp_sandbox' })
      expect(completion).to.deep.include({ x_sandbox: { unknown_fields: ['another', 'made_up'] } })
    })

    it('handles messages of several megabytes, and repeats their beginning', async () => {
      const text = 'word '.repeat(1_000_000).trim()
      const { choices } = await client.ask(text)
      expect(choices[0]!.message.content!.length).to.equal(4 * 131_072)
      expect(textOf(await collect(await client.stream(text)))).to.equal(choices[0]!.message.content)
    })
  })

  describe('streams', () => {
    it('send the role, at least three pieces and the finish reason, in this order', async () => {
      const chunks = await collect(await client.stream('Hi'))
      expect(chunks[0]!.choices[0]!.delta).to.deep.include({ role: 'assistant', content: '' })
      expect(chunks.length).to.be.greaterThan(4)
      expect(textOf(chunks)).to.equal((await client.ask('Hi')).choices[0]!.message.content)
      expect(chunks.map(({ choices }) => choices[0]!.finish_reason).filter(Boolean)).to.deep.equal(['stop'])
      expect(chunks.at(-1)!.choices[0]!).to.deep.include({ delta: {}, finish_reason: 'stop' })
    })

    it('repeat the id, the model and the extra fields in every chunk', async () => {
      const chunks = await collect(await client.stream('Hi', { made_up: 1 } as Options))
      for (const chunk of chunks) {
        expect(chunk).to.include({ id: chunks[0]!.id, model: 'gpt-test', object: 'chat.completion.chunk' })
        expect(chunk).to.deep.include({ service_tier: 'default', x_sandbox: { unknown_fields: ['made_up'] } })
        expect(chunk).not.to.have.property('usage')
      }
    })

    it('end with a usage chunk if requested; usage is null in all other chunks', async () => {
      const chunks = await collect(await client.stream('Hi', { stream_options: { include_usage: true } }))
      const last = chunks.pop()!
      expect(last.choices).to.deep.equal([])
      expect(last.usage).to.deep.equal((await client.ask('Hi')).usage)
      for (const chunk of chunks) expect(chunk.usage).to.equal(null)
    })

    it('end with [DONE]', async () => {
      expect(await client.fetchText('Hi', { stream: true })).to.match(/\n\ndata: \[DONE\]\n\n$/)
    })

    it("work with the SDK's stream helper", async () => {
      const helper = client.sdk.chat.completions.stream({
        model: 'gpt-test',
        messages: [{ role: 'user', content: 'Hello' }],
        stream_options: { include_usage: true },
      })
      const completion = await helper.finalChatCompletion()
      expect(completion.choices[0]!.message.content).to.contain('You said: "Hello"')
      expect(completion.usage!.prompt_tokens).to.equal(2)
    })

    it('split a reply of a few characters', async () => {
      const chunks = await collect(await client.stream('Hi', { max_tokens: 1 }))
      expect(textOf(chunks)).to.equal('You ')
      expect(chunks.at(-1)!.choices[0]!.finish_reason).to.equal('length')
    })
  })

  describe('tool calls', () => {
    const tools = [weather, clock]

    it('calls the first tool if a call is required', async () => {
      const { choices } = await client.ask('Hi', { tools, tool_choice: 'required' })
      expect(choices[0]!.finish_reason).to.equal('tool_calls')
      expect(choices[0]!.message.content).to.equal(null)
      expect(toolCallsOf(choices[0]!.message)).to.deep.equal([
        ['get_weather', { city: 'sample city', days: 1, unit: 'celsius' }],
      ])
    })

    it('calls the function named in tool_choice', async () => {
      const tool_choice = { type: 'function', function: { name: 'get_time' } } as const
      const { choices } = await client.ask('Hi', { tools, tool_choice })
      expect(toolCallsOf(choices[0]!.message)).to.deep.equal([['get_time', { zone: 'UTC' }]])
    })

    it('calls only allowed tools', async () => {
      const allowed = [{ type: 'function', function: { name: 'get_time' } }]
      const tool_choice = {
        type: 'allowed_tools',
        allowed_tools: { mode: 'required', tools: allowed },
      } as const
      const { choices } = await client.ask('Hi', { tools, tool_choice })
      expect(toolCallsOf(choices[0]!.message)).to.deep.equal([['get_time', { zone: 'UTC' }]])
    })

    it('calls a tool if the user message mentions tools', async () => {
      const { choices } = await client.ask('Please use a tool', { tools })
      expect(toolCallsOf(choices[0]!.message)).to.have.nested.property('[0][0]', 'get_weather')
    })

    it('calls the tool that the user message names', async () => {
      const { choices } = await client.ask('Try get_time', { tools, tool_choice: 'auto' })
      expect(toolCallsOf(choices[0]!.message)).to.have.nested.property('[0][0]', 'get_time')
    })

    it('replies with text if the user message mentions no tool', async () => {
      const { choices } = await client.ask('Hi', { tools })
      expect(choices[0]!.message.content).to.contain('"Hi"')
    })

    it('never calls a tool if tool_choice is none', async () => {
      const { choices } = await client.ask('Use a tool', { tools, tool_choice: 'none' })
      expect(choices[0]!.message.tool_calls).to.equal(undefined)
    })

    it('calls the first two tools in parallel', async () => {
      const { choices } = await client.ask('Use tools in parallel', { tools })
      const calls = choices[0]!.message.tool_calls!
      expect(toolCallsOf(choices[0]!.message).map(([name]) => name)).to.deep.equal([
        'get_weather',
        'get_time',
      ])
      expect(calls[0]!.id).not.to.equal(calls[1]!.id)
    })

    it('calls a single tool twice in parallel', async () => {
      const { choices } = await client.ask('Use the tool in parallel', { tools: [clock] })
      expect(toolCallsOf(choices[0]!.message).map(([name]) => name)).to.deep.equal(['get_time', 'get_time'])
    })

    it('makes one call if parallel calls are disabled', async () => {
      const { choices } = await client.ask('Use tools in parallel', { tools, parallel_tool_calls: false })
      expect(choices[0]!.message.tool_calls).to.have.length(1)
    })

    it('streams a call as its name followed by pieces of its arguments', async () => {
      const chunks = await collect(await client.stream('Hi', { tools, tool_choice: 'required' }))
      const deltas = chunks.flatMap(({ choices }) => choices[0]!.delta.tool_calls ?? [])
      expect(deltas[0]).to.deep.include({ index: 0, type: 'function' })
      expect(deltas[0]!.function).to.deep.equal({ name: 'get_weather', arguments: '' })
      expect(deltas.length).to.be.greaterThan(2)
      expect(chunks.at(-1)!.choices[0]!.finish_reason).to.equal('tool_calls')
    })

    it("streams parallel calls that the SDK's stream helper can assemble", async () => {
      const helper = client.sdk.chat.completions.stream({
        model: 'gpt-test',
        messages: [{ role: 'user', content: 'Use tools in parallel' }],
        tools: [weather, defineTool('ping', { type: 'object', properties: {} })],
      })
      const completion = await helper.finalChatCompletion()
      expect(toolCallsOf(completion.choices[0]!.message)).to.deep.equal([
        ['get_weather', { city: 'sample city', days: 1, unit: 'celsius' }],
        ['ping', {}],
      ])
    })

    it('quotes a tool result', async () => {
      const first = await client.ask('Use a tool', { tools })
      const { message } = first.choices[0]!
      const result = {
        role: 'tool',
        tool_call_id: message.tool_calls![0]!.id,
        content: '21 degrees',
      } as const
      const { choices } = await client.complete([{ role: 'user', content: 'Use a tool' }, message, result], {
        tools,
      })
      expect(choices[0]!.finish_reason).to.equal('stop')
      expect(choices[0]!.message.content).to.match(
        /^The tool answered: "21 degrees"\. You said: "Use a tool"\./,
      )
    })

    it('rejects a tool_choice that names an unknown function', async () => {
      const tool_choice = { type: 'function', function: { name: 'unheard_of' } } as const
      const error = await errorOf(client.ask('Hi', { tools, tool_choice }))
      expect(error).to.include({ status: 400, param: 'tool_choice' })
    })
  })

  describe('JSON replies', () => {
    it('quote the user message in a JSON object', async () => {
      const { choices } = await client.ask('Say "hi"', { response_format: { type: 'json_object' } })
      expect(JSON.parse(choices[0]!.message.content!)).to.deep.equal({
        you_said: 'Say "hi"',
        model: 'gpt-test',
      })
    })

    it('satisfy the schema', async () => {
      const value = await askForSchema({
        type: 'object',
        required: ['name', 'when', 'scores', 'parent', 'size', 'done'],
        properties: {
          name: { type: ['string', 'null'], maxLength: 8 },
          when: { type: 'string', format: 'date' },
          scores: { type: 'array', minItems: 2, items: { type: 'number', minimum: 5 } },
          parent: { allOf: [{ $ref: '#/$defs/parent' }] },
          size: { oneOf: [{ const: 'small' }, { const: 'big' }] },
          done: { type: 'boolean' },
          optional: { type: 'string' },
        },
        $defs: {
          parent: { type: 'object', required: ['id'], properties: { id: { type: 'integer', maximum: 0 } } },
        },
      })
      expect(value).to.deep.equal({
        name: 'sample n',
        when: '2026-01-01',
        scores: [5, 5],
        parent: { id: 0 },
        size: 'small',
        done: true,
      })
    })

    it('terminate for recursive schemas', async () => {
      const value = await askForSchema({
        $ref: '#/$defs/node',
        $defs: {
          node: {
            type: 'object',
            properties: {
              next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] },
              children: { type: 'array', items: { $ref: '#/$defs/node' } },
            },
          },
        },
      })
      expect(value).to.deep.equal({ next: null, children: [] })
    })

    it('are streamed in pieces', async () => {
      const chunks = await collect(await client.stream('Hi', { response_format: { type: 'json_object' } }))
      expect(chunks.length).to.be.greaterThan(4)
      expect(JSON.parse(textOf(chunks))).to.include({ you_said: 'Hi' })
    })

    async function askForSchema(schema: Record<string, unknown>): Promise<unknown> {
      const response_format = { type: 'json_schema', json_schema: { name: 'test', schema } } as const
      const { choices } = await client.ask('Hi', { response_format })
      return JSON.parse(choices[0]!.message.content!)
    }
  })

  describe('request validation', () => {
    it('lists its models', async () => {
      const { data } = await client.sdk.models.list()
      expect(data.map(({ id }) => id)).to.include('gpt-4o-mini')
    })

    it('accepts any key except "invalid"', async () => {
      const error = await errorOf(createOpenAiClient(sandbox, 'invalid').sdk.models.list())
      expect(error).to.be.instanceOf(OpenAI.AuthenticationError)
      expect(error).to.include({ status: 401, code: 'invalid_api_key' })
    })

    for (const authorization of ['', 'Bearer ', 'Basic abc']) {
      it(`rejects the authorization header "${authorization}"`, async () => {
        const response = await fetch(`${sandbox.url}/openai/v1/models`, { headers: { authorization } })
        expect(response.status).to.equal(401)
      })
    }

    it('returns 404 for unknown paths', async () => {
      const error = await errorOf(client.sdk.post('/no/such/path'))
      expect(error).to.be.instanceOf(OpenAI.NotFoundError)
      expect(error).to.include({ status: 404, type: 'invalid_request_error', code: 'unknown_url' })
      expect((await fetch(`${sandbox.url}/`)).status).to.equal(404)
    })

    it('rejects a body that is not JSON', async () => {
      const response = await client.post('{"model":')
      expect(response.status).to.equal(400)
      expect(await response.json()).to.have.nested.property('error.type', 'invalid_request_error')
    })

    for (const field of ['model', 'messages']) {
      it(`requires ${field}`, async () => {
        const error = await errorOf(client.ask('Hi', { [field]: undefined } as Options))
        expect(error).to.include({ status: 400, param: field, code: 'missing_required_parameter' })
      })
    }

    it('requires a role in messages', async () => {
      const error = await errorOf(client.complete([{ content: 'Hi' } as ChatCompletionMessageParam]))
      expect(error).to.include({ status: 400, param: 'messages[0]' })
    })

    itInFull('rejects a body over 32 MB', async () => {
      const response = await client.post(' '.repeat(32 * 1024 * 1024 + 1))
      expect(response.status).to.equal(413)
    })
  })
})
