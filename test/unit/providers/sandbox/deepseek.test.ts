import { expect } from 'chai'
import OpenAI, { APIError } from 'openai'
import type {
  ChatCompletionChunk,
  ChatCompletionCreateParams,
  ChatCompletionMessage,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions'
import { type Sandbox, startSandbox } from '../../../../providers/sandbox/server.ts'

type Options = Partial<Omit<ChatCompletionCreateParams, 'stream'>>

/** A field that DeepSeek adds to OpenAI's requests. */
const THINKING_DISABLED = { thinking: { type: 'disabled' } } as Options

const tool = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: { type: 'object', required: ['city'], properties: { city: { type: 'string' } } },
  },
} as const

describe("sandbox: DeepSeek's format", () => {
  let sandbox: Sandbox
  let client: OpenAI

  before(async () => {
    sandbox = await startSandbox()
    client = connect(sandbox)
  })

  after(() => sandbox.close())

  describe('replies', () => {
    it('have reasoning and quote the last user message', async () => {
      const { choices } = await ask('Hello, wörld!')
      expect(choices[0]!.message.content).to.equal(
        'You said: "Hello, wörld!". This is the sandbox, answering as deepseek-test.',
      )
      expect(reasoningOf(choices[0]!.message)).to.contain('The user said: "Hello, wörld!"')
      expect(choices[0]!.finish_reason).to.equal('stop')
    })

    it('have no reasoning if thinking is disabled', async () => {
      const { choices } = await ask('Hi', THINKING_DISABLED)
      expect(choices[0]!.message).not.to.have.property('reasoning_content')
    })

    it('report cached tokens in DeepSeek fields', async () => {
      const { usage } = await ask('Hi')
      expect(usage).to.include({
        prompt_cache_hit_tokens: 0,
        prompt_cache_miss_tokens: usage!.prompt_tokens,
      })
      expect(usage!.completion_tokens_details!.reasoning_tokens).to.be.greaterThan(0)
    })

    it('start with blank lines', async () => {
      const text = await (await post(buildBody({}))).text()
      expect(text).to.match(/^\n+\{/)
    })

    it('are JSON if requested', async () => {
      const { choices } = await ask('Give me JSON', { response_format: { type: 'json_object' } })
      expect(JSON.parse(choices[0]!.message.content!)).to.include({ you_said: 'Give me JSON' })
    })

    it('are refusals on request', async () => {
      const { choices } = await ask('Hi [[sandbox:refuse]]')
      expect(choices[0]!.finish_reason).to.equal('content_filter')
      expect(choices[0]!.message.content).to.equal('')
    })

    it('lists its models', async () => {
      const { data } = await client.models.list()
      expect(data.map(({ id }) => id)).to.deep.equal(['deepseek-flash', 'deepseek-v4-pro'])
    })
  })

  describe('streams', () => {
    it('send reasoning first', async () => {
      const chunks = await collect('Hi')
      const deltas = chunks.map(({ choices }) => choices[0]!.delta)
      expect(deltas[0]).to.include({ role: 'assistant', content: null, reasoning_content: '' })
      const spoken = deltas.findIndex(({ content }) => content)
      expect(deltas.slice(1, spoken).map(reasoningOf).join('')).to.contain('The user said: "Hi"')
      expect(deltas.slice(spoken).map(reasoningOf).join('')).to.equal('')
      expect(deltas.map(({ content }) => content ?? '').join('')).to.contain('You said: "Hi"')
    })

    it('send the usage in the finish chunk if requested', async () => {
      const chunks = await collect('Hi', { stream_options: { include_usage: true } })
      const last = chunks.pop()!
      expect(last.choices[0]!.finish_reason).to.equal('stop')
      expect(last.usage).to.deep.equal((await ask('Hi')).usage)
      for (const chunk of chunks) expect(chunk.usage).to.equal(null)
    })

    it("work with the SDK's stream helper", async () => {
      const helper = client.chat.completions.stream({
        model: 'deepseek-test',
        messages: [{ role: 'user', content: 'Use the tool in parallel' }],
        tools: [tool],
      })
      const { choices } = await helper.finalChatCompletion()
      expect(choices[0]!.message.tool_calls).to.have.length(2)
      expect(choices[0]!.finish_reason).to.equal('tool_calls')
    })

    it('send keep-alive comments on request', async () => {
      const text = await (await post(buildBody({ stream: true }, 'Hi [[sandbox:comments]]'))).text()
      expect(text).to.match(/^: keep-alive\n\ndata: /)
    })
  })

  describe('tool results', () => {
    const user: ChatCompletionMessageParam = { role: 'user', content: 'Use a tool' }
    let message: ChatCompletionMessage
    let result: ChatCompletionMessageParam

    before(async () => {
      message = (await ask('Use a tool', { tools: [tool] })).choices[0]!.message
      result = { role: 'tool', tool_call_id: message.tool_calls![0]!.id, content: '21 degrees' }
    })

    it('are accepted if the reasoning is passed back', async () => {
      const { choices } = await talk([user, message, result], { tools: [tool] })
      expect(choices[0]!.message.content).to.contain('The tool answered: "21 degrees"')
    })

    it('are rejected if the reasoning is missing', async () => {
      const { role, content, tool_calls = [] } = message
      const error = await errorOf(talk([user, { role, content, tool_calls }, result]))
      expect(error).to.include({ status: 400, param: 'messages[1].reasoning_content' })
    })

    it('need no reasoning if thinking is disabled', async () => {
      const { role, content, tool_calls = [] } = message
      const { choices } = await talk([user, { role, content, tool_calls }, result], THINKING_DISABLED)
      expect(choices[0]!.message.content).to.contain('21 degrees')
    })
  })

  describe('request validation', () => {
    const part = { type: 'text', text: 'x' }
    for (const [body, param] of [
      [{ response_format: { type: 'json_object' } }, 'response_format'],
      [{ response_format: { type: 'json_schema', json_schema: { schema: {} } } }, 'response_format'],
      [{ messages: [{ role: 'developer', content: 'Hi' }] }, 'messages[0].role'],
      [{ messages: [{ role: 'tool', tool_call_id: 'a', content: [part] }] }, 'messages[0].content'],
      [{ tools: [] }, 'tools'],
      [{ user_id: 'ada@example.com' }, 'user_id'],
    ] as const) {
      it(`rejects ${JSON.stringify(body)}`, async () => {
        const response = await post(buildBody(body))
        expect(response.status).to.equal(400)
        expect(await response.json()).to.have.nested.property('error.param', param)
      })
    }

    it('ignores unknown fields', async () => {
      expect((await post(buildBody({ made_up: 1, presence_penalty: 1 }))).status).to.equal(200)
    })

    it('accepts any key except "invalid"', async () => {
      expect(await errorOf(connect(sandbox, 'invalid').models.list())).to.include({ status: 401 })
    })

    it('rejects a body that is not JSON', async () => {
      expect((await post('{"model":')).status).to.equal(400)
    })
  })

  describe('fault injection', () => {
    for (const status of [400, 402, 422, 429, 500, 503]) {
      it(`responds with status ${status} to whole and streamed requests`, async () => {
        const text = `[[sandbox:status=${status} code=busy retry-after=2]]`
        for (const error of [await errorOf(ask(text)), await errorOf(collect(text))]) {
          expect(error).to.include({ status, code: 'busy' })
          expect(error.headers!.get('retry-after')).to.equal('2')
        }
      })
    }

    for (const fault of ['cut=3', 'error-mid=3', 'error-first', 'malformed']) {
      it(`breaks a stream (${fault})`, async () => {
        const broken = await collect(`[[sandbox:${fault}]]`).catch((error: unknown) => error)
        expect(broken).to.be.instanceOf(Error)
      })
    }

    it('ends a stream early but cleanly', async () => {
      const chunks = await collect('[[sandbox:eof=4]]')
      expect(chunks).to.have.length(4)
      expect(chunks.at(-1)!.choices[0]!.finish_reason).to.equal(null)
    })

    it('drops the connection during a whole response, and sends malformed JSON', async () => {
      const cut = await post(buildBody({}, '[[sandbox:cut]]'))
      expect(await cut.text().catch((error: unknown) => error)).to.be.instanceOf(TypeError)
      const malformed = await (await post(buildBody({}, '[[sandbox:malformed]]'))).text()
      expect(() => JSON.parse(malformed)).to.throw(SyntaxError)
    })
  })

  function talk(messages: ChatCompletionMessageParam[], options: Options = {}) {
    return client.chat.completions.create({ model: 'deepseek-test', messages, ...options })
  }

  function ask(text: string, options: Options = {}) {
    return talk([{ role: 'user', content: text }], options)
  }

  async function collect(text: string, options: Options = {}): Promise<ChatCompletionChunk[]> {
    const messages: ChatCompletionMessageParam[] = [{ role: 'user', content: text }]
    const chunks: ChatCompletionChunk[] = []
    const request = { model: 'deepseek-test', messages, ...options, stream: true } as const
    for await (const chunk of await client.chat.completions.create(request)) chunks.push(chunk)
    return chunks
  }

  function post(body: string): Promise<Response> {
    const headers = { authorization: 'Bearer test', 'content-type': 'application/json' }
    return fetch(`${sandbox.url}/deepseek/chat/completions`, { method: 'POST', headers, body })
  }
})

function connect({ url }: Sandbox, apiKey = 'test'): OpenAI {
  return new OpenAI({ baseURL: `${url}/deepseek`, apiKey, maxRetries: 0 })
}

function buildBody(fields: object, text = 'Hi'): string {
  return JSON.stringify({ model: 'deepseek-test', messages: [{ role: 'user', content: text }], ...fields })
}

/** Returns the field that DeepSeek adds to OpenAI's messages and deltas. */
function reasoningOf(message: object): string {
  const { reasoning_content } = message as { reasoning_content?: string | null }
  return reasoning_content ?? ''
}

async function errorOf(request: PromiseLike<unknown>): Promise<APIError> {
  try {
    await request
  } catch (error) {
    expect(error).to.be.instanceOf(APIError)
    return error as APIError
  }
  throw new Error('The request should have failed.')
}
