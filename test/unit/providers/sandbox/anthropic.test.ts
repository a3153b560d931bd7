import Anthropic, { APIError } from '@anthropic-ai/sdk'
import type {
  Message,
  MessageCreateParamsNonStreaming,
  RawMessageStreamEvent,
  Tool,
} from '@anthropic-ai/sdk/resources/messages'
import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../../../providers/sandbox/server.ts'

type Options = Partial<MessageCreateParamsNonStreaming>

const weather = defineTool('get_weather', {
  type: 'object',
  required: ['city', 'unit'],
  properties: { city: { type: 'string' }, unit: { enum: ['celsius', 'kelvin'] } },
})
const bell = defineTool('ring_bell', { type: 'object', properties: {} })

describe("sandbox: Anthropic's format", () => {
  let sandbox: Sandbox
  let client: Anthropic

  before(async () => {
    sandbox = await startSandbox({ record: 10 })
    client = connect(sandbox.url)
  })

  after(() => sandbox.close())

  for (const [how, answer] of [
    ['whole', (text: string, options?: Options) => ask(text, options)],
    ['streamed', (text: string, options?: Options) => streamed(text, options)],
  ] as const) {
    describe(`${how} replies`, () => {
      it('quote the last user message and name the model', async () => {
        const message = await answer('Hello, wörld!')
        expect(textOf(message)).to.equal(
          'You said: "Hello, wörld!". This is the sandbox, answering as claude-test.',
        )
        expect(message).to.include({ type: 'message', role: 'assistant', model: 'claude-test' })
        expect(message.stop_reason).to.equal('end_turn')
      })

      it('report token usage with cached tokens separate', async () => {
        const { usage } = await answer('Hello', { system: 'Be brief' })
        expect(usage).to.deep.include({ input_tokens: 4, cache_read_input_tokens: 0 })
        expect(usage.output_tokens).to.be.greaterThan(10)
      })

      it('call a tool', async () => {
        const message = await answer('Hi', { tools: [weather, bell], tool_choice: { type: 'any' } })
        expect(callsOf(message)).to.deep.equal([['get_weather', { city: 'sample city', unit: 'celsius' }]])
        expect(message.stop_reason).to.equal('tool_use')
      })

      it('call a tool with the arguments of a marker', async () => {
        const input = { city: 'Basel [CH]', unit: 'kelvin' }
        const encode = (text: string) => Buffer.from(text).toString('base64url')
        const text = `Use get_weather [[sandbox:arguments=${encode(JSON.stringify(input))}]]`
        expect(callsOf(await answer(text, { tools: [weather] }))).to.deep.equal([['get_weather', input]])
        const invalid = await answer(`Hi [[sandbox:arguments=${encode('{')}]]`).catch((error) => error)
        expect(invalid.status).to.equal(400)
      })

      it('accept the fields of a beta that the request names', async () => {
        const fields = { context_management: { edits: [] } } as Options
        const refused = await answer('Hi', fields).catch((error) => error)
        expect(refused.status).to.equal(400)
        const headers = { 'anthropic-beta': 'effort-2025-11-24,context-management-2025-06-27' }
        const { content } = await client.messages.create(request('Hi', fields), { headers })
        expect(content).to.have.length(1)
      })

      it('call the tool named in tool_choice, with empty input if it has no parameters', async () => {
        const tool_choice = { type: 'tool', name: 'ring_bell' } as const
        expect(callsOf(await answer('Hi', { tools: [weather, bell], tool_choice }))).to.deep.equal([
          ['ring_bell', {}],
        ])
      })

      it('call tools in parallel unless disabled', async () => {
        const tools = [weather, bell]
        const both = await answer('Use tools in parallel', { tools })
        expect(callsOf(both).map(([name]) => name)).to.deep.equal(['get_weather', 'ring_bell'])
        const tool_choice = { type: 'auto', disable_parallel_tool_use: true } as const
        expect(callsOf(await answer('Use tools in parallel', { tools, tool_choice }))).to.have.length(1)
      })

      it('quote a tool result', async () => {
        const message = await answer('Use the tool', {
          tools: [weather],
          messages: [
            { role: 'user', content: 'Use the tool' },
            {
              role: 'assistant',
              content: [{ type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: {} }],
            },
            {
              role: 'user',
              content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'sunny' }],
            },
          ],
        })
        expect(textOf(message)).to.contain('The tool answered: "sunny".')
      })

      it('include thinking if requested', async () => {
        const message = await answer('Hello', { thinking: { type: 'adaptive' } })
        expect(message.content.map(({ type }) => type)).to.deep.equal(['thinking', 'text'])
        expect(message.content[0]).to.include({ thinking: 'The user said: "Hello". I will say so.' })
        expect(message.usage.output_tokens_details!.thinking_tokens).to.be.greaterThan(5)
      })

      it('satisfy the schema of the output format', async () => {
        const schema = { type: 'object', required: ['track'], properties: { track: { type: 'integer' } } }
        const message = await answer('Hi', { output_config: { format: { type: 'json_schema', schema } } })
        expect(JSON.parse(textOf(message))).to.deep.equal({ track: 1 })
      })

      it('stop at max_tokens', async () => {
        const message = await answer('Hello', { max_tokens: 2 })
        expect(message.stop_reason).to.equal('max_tokens')
        expect(textOf(message)).to.equal('You said')
      })

      it('stop before a stop sequence', async () => {
        expect(textOf(await answer('one two', { stop_sequences: [' two'] }))).to.equal('You said: "one')
      })

      it('are refusals on request', async () => {
        const message = await answer('[[sandbox:refuse]]')
        expect(message.stop_reason).to.equal('refusal')
        expect(message.stop_details!.explanation).to.equal('The sandbox was asked to refuse.')
      })
    })
  }

  describe('streams', () => {
    it("send Anthropic's events in order", async () => {
      const events = await collect('Hi', { thinking: { type: 'adaptive' } })
      const names = events.map(({ type }) => type)
      expect(names.filter((name, index) => name !== names[index - 1])).to.deep.equal([
        'message_start',
        ...['content_block_start', 'content_block_delta', 'content_block_stop'],
        ...['content_block_start', 'content_block_delta', 'content_block_stop'],
        ...['message_delta', 'message_stop'],
      ])
    })

    it('name their events and include a ping', async () => {
      const text = await (await post({ stream: true })).text()
      expect(text).to.match(/^event: message_start\ndata: \{"type":"message_start"/)
      expect(text).to.contain('event: ping\ndata: {"type":"ping"}\n\n')
      expect(text).to.match(/\nevent: message_stop\ndata: \{"type":"message_stop"\}\n\n$/)
    })
  })

  describe('request validation', () => {
    const user = { role: 'user', content: 'Hi' }
    const call = { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: {} }
    const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'sunny' }
    const table: [why: string, fields: object, message: string][] = [
      ['an unknown field', { seed: 1 }, 'seed: Extra inputs are not permitted'],
      [
        'an unknown field of a message',
        { messages: [{ ...user, name: 'x' }] },
        'messages.0.name: Extra inputs',
      ],
      ['no max_tokens', { max_tokens: undefined }, 'max_tokens: Field required'],
      ['no messages', { messages: [] }, 'at least one message'],
      ['an unknown role', { messages: [{ ...user, role: 'tool' }] }, 'messages.0.role'],
      ['an empty text', { messages: [{ role: 'user', content: [{ type: 'text', text: '' }] }] }, 'non-empty'],
      ['an empty message', { messages: [{ role: 'user', content: [] }] }, 'non-empty'],
      ['blank stop sequences', { stop_sequences: [' '] }, 'stop_sequences'],
      [
        'a tool whose input schema is not an object schema',
        { tools: [{ name: 'x', input_schema: {} }] },
        "Input should be 'object'",
      ],
      ['a tool choice without tools', { tool_choice: { type: 'auto' } }, 'tool_choice'],
      [
        'a tool call without its result',
        { messages: [user, { role: 'assistant', content: [call] }, user] },
        'toolu_1',
      ],
      [
        'a tool call in the last message',
        { messages: [user, { role: 'assistant', content: [call] }] },
        'toolu_1',
      ],
      ['a tool result without its call', { messages: [{ role: 'user', content: [result] }] }, 'toolu_1'],
      [
        'text before a tool result',
        {
          messages: [
            user,
            { role: 'assistant', content: [call] },
            { role: 'user', content: [{ type: 'text', text: 'x' }, result] },
          ],
        },
        'must come first',
      ],
    ]
    for (const [why, fields, message] of table) {
      it(`rejects ${why}`, async () => {
        const response = await post(fields)
        const body = (await response.json()) as { type: string; error: { type: string; message: string } }
        expect(response.status).to.equal(400)
        expect(body).to.deep.include({ type: 'error' })
        expect(body.error.type).to.equal('invalid_request_error')
        expect(body.error.message).to.contain(message)
      })
    }

    it('requires the anthropic-version header', async () => {
      const response = await post({}, { 'x-api-key': 'test' })
      expect(response.status).to.equal(400)
      expect(await response.text()).to.contain('anthropic-version: header is required')
    })

    it('accepts a key in either header and rejects an invalid one', async () => {
      const version = { 'anthropic-version': '2023-06-01' }
      expect((await post({}, { ...version, authorization: 'Bearer test' })).status).to.equal(200)
      expect((await post({}, version)).status).to.equal(401)
      const error = await errorOf(connect(sandbox.url, 'invalid').messages.create(request('Hi')))
      expect(error).to.be.instanceOf(Anthropic.AuthenticationError)
    })
  })

  describe('fault injection', () => {
    for (const [status, type] of [
      [400, 'invalid_request_error'],
      [402, 'billing_error'],
      [429, 'rate_limit_error'],
      [500, 'api_error'],
      [529, 'overloaded_error'],
    ] as const) {
      it(`responds with ${status} ${type}`, async () => {
        const error = await errorOf(ask(`[[sandbox:status=${status} retry-after=3]]`))
        expect(error).to.include({ status, type })
        expect(error.headers!.get('retry-after')).to.equal('3')
      })
    }

    it('sends the given error code in the details', async () => {
      const error = await errorOf(ask('[[sandbox:status=429 code=enforced_spend_limit_reached]]'))
      expect(error.error).to.have.nested.property('error.details.error_code', 'enforced_spend_limit_reached')
    })

    it('sends an error at the start or in the middle of a stream', async () => {
      for (const fault of ['error-first status=529', 'error-mid=5 status=529']) {
        const error = await errorOf(collect(`[[sandbox:${fault}]]`))
        expect(error).to.include({ type: 'overloaded_error' })
      }
    })

    for (const fault of ['cut=4', 'malformed']) {
      it(`breaks a stream (${fault})`, async () => {
        const error = await collect(`[[sandbox:${fault}]]`).catch((reason: unknown) => reason)
        expect(error).to.be.instanceOf(Error)
      })
    }

    it('ends a stream early', async () => {
      expect((await collect('[[sandbox:eof=4]]')).map(({ type }) => type)).not.to.include('message_stop')
    })

    it('streams with comments and CRLF', async () => {
      expect(textOf(await streamed('Hi [[sandbox:comments crlf]]'))).to.contain('"Hi"')
    })
  })

  it('lists models', async () => {
    const ids: string[] = []
    for await (const { id } of client.models.list()) ids.push(id)
    expect(ids).to.include('claude-opus-5-5')
  })

  function ask(text: string, options: Options = {}): Promise<Message> {
    return client.messages.create(request(text, options))
  }

  function streamed(text: string, options: Options = {}): Promise<Message> {
    return client.messages.stream(request(text, options)).finalMessage()
  }

  async function collect(text: string, options: Options = {}): Promise<RawMessageStreamEvent[]> {
    const events: RawMessageStreamEvent[] = []
    const stream = await client.messages.create({ ...request(text, options), stream: true })
    for await (const event of stream) events.push(event)
    return events
  }

  function post(
    fields: object,
    headers: Record<string, string> = { 'x-api-key': 'test', 'anthropic-version': '2023-06-01' },
  ): Promise<Response> {
    return fetch(`${sandbox.url}/anthropic/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ ...request('Hi'), ...fields }),
    })
  }
})

function connect(url: string, apiKey = 'test'): Anthropic {
  return new Anthropic({ baseURL: `${url}/anthropic`, apiKey, maxRetries: 0, logLevel: 'off' })
}

function request(text: string, options: Options = {}): MessageCreateParamsNonStreaming {
  return {
    model: 'claude-test',
    max_tokens: 1000,
    messages: [{ role: 'user', content: text }],
    ...options,
    stream: false,
  }
}

function defineTool(name: string, input_schema: Tool.InputSchema): Tool {
  return { name, input_schema }
}

function textOf({ content }: Message): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('')
}

function callsOf({ content }: Message): [name: string, input: unknown][] {
  return content.flatMap((block) => (block.type === 'tool_use' ? [[block.name, block.input]] : []))
}

async function errorOf(answer: PromiseLike<unknown>): Promise<APIError> {
  try {
    await answer
  } catch (error) {
    expect(error).to.be.instanceOf(APIError)
    return error as APIError
  }
  throw new Error('The request should have failed.')
}
