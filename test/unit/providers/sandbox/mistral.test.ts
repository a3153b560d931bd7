import { Mistral } from '@mistralai/mistralai'
import type {
  AssistantMessage,
  ChatCompletionRequest,
  CompletionChunk,
  ContentChunk,
  ToolCall,
} from '@mistralai/mistralai/models/components'
import { HTTPValidationError, MistralError } from '@mistralai/mistralai/models/errors'
import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../../../providers/sandbox/server.ts'

type Options = Partial<ChatCompletionRequest>

const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: { type: 'object', required: ['city'], properties: { city: { type: 'string' } } },
  },
} as const
const clock = { type: 'function', function: { name: 'get_time', parameters: {} } } as const

describe("sandbox: Mistral's format", () => {
  let sandbox: Sandbox
  let client: Mistral

  before(async () => {
    sandbox = await startSandbox({ record: 10 })
    client = connect(sandbox)
  })

  after(() => sandbox.close())

  describe('replies', () => {
    it('quote the last user message and report usage', async () => {
      const { choices, usage, model } = await ask('Hello, wörld!')
      expect(choices[0]!.message!.content).to.equal(
        'You said: "Hello, wörld!". This is the sandbox, answering as mistral-test.',
      )
      expect(choices[0]!.finishReason).to.equal('stop')
      expect(model).to.equal('mistral-test')
      expect(usage.totalTokens).to.equal(usage.promptTokens! + usage.completionTokens!)
    })

    it('are truncated at maxTokens', async () => {
      const { choices } = await ask('Hi', { maxTokens: 3 })
      expect(choices[0]!.finishReason).to.equal('length')
    })

    it('are JSON if requested', async () => {
      const { choices } = await ask('Hi', { responseFormat: { type: 'json_object' } })
      expect(JSON.parse(textOf(choices[0]!.message!))).to.include({ you_said: 'Hi' })
    })

    it('accept images', async () => {
      const content: ContentChunk[] = [
        { type: 'text', text: 'Look' },
        { type: 'image_url', imageUrl: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
      ]
      const { choices } = await talk([{ role: 'user', content }])
      expect(choices[0]!.message!.content).to.contain('"Look"')
    })

    for (const options of [{ reasoningEffort: 'high' }, { promptMode: 'reasoning' }] as Options[]) {
      it(`have thinking chunks with ${JSON.stringify(options)}`, async () => {
        const { choices } = await ask('Hi', options)
        const content = choices[0]!.message!.content as ContentChunk[]
        expect(content.map((chunk) => chunk.type)).to.deep.equal(['thinking', 'text'])
        expect(reasoningOf(content)).to.contain('The user said: "Hi"')
      })
    }

    it('have no thinking chunks with effort none', async () => {
      const { choices } = await ask('Hi', { reasoningEffort: 'none' })
      expect(choices[0]!.message!.content).to.be.a('string')
    })

    it('are refusals on request, with an empty content', async () => {
      const { choices } = await ask('Hi [[sandbox:refuse]]')
      expect(choices[0]!.finishReason).to.equal('content_filter')
      expect(choices[0]!.message!.content).to.equal('')
    })

    it('lists its models', async () => {
      const { data } = await client.models.list()
      const ids = data!.map((model) => (model.type === 'base' ? model.id : ''))
      expect(ids).to.include('mistral-medium-3.5')
    })
  })

  describe('streams', () => {
    it('send the same text in pieces', async () => {
      const chunks = await collect('Hi')
      expect(chunks[0]!.choices[0]!.delta.role).to.equal('assistant')
      expect(chunks.length).to.be.greaterThan(4)
      const text = chunks.map(({ choices }) => choices[0]!.delta.content).join('')
      expect(text).to.equal((await ask('Hi')).choices[0]!.message!.content)
    })

    it('send the usage in the finish chunk', async () => {
      const chunks = await collect('Hi')
      const last = chunks.pop()!
      expect(last.choices[0]!.finishReason).to.equal('stop')
      expect(last.usage).to.deep.equal((await ask('Hi')).usage)
      for (const chunk of chunks) {
        expect(chunk.usage).to.equal(undefined)
        expect(chunk.choices[0]!.finishReason).to.equal(null)
      }
    })

    it('send thinking as content arrays, then text as strings', async () => {
      const contents = (await collect('Hi', { reasoningEffort: 'high' })).map(
        ({ choices }) => choices[0]!.delta.content,
      )
      expect(reasoningOf(contents.filter(Array.isArray).flat())).to.contain('The user said: "Hi"')
      expect(contents.filter((content) => typeof content === 'string').join('')).to.contain('You said: "Hi"')
    })

    it('end with [DONE]', async () => {
      const body = buildBody({ stream: true })
      expect(await (await post(body)).text()).to.match(/\n\ndata: \[DONE\]\n\n$/)
    })
  })

  describe('tool calls', () => {
    const tools = [weather, clock]

    for (const toolChoice of ['any', 'required'] as const) {
      it(`have an id of 9 characters with tool choice ${toolChoice}`, async () => {
        const { choices } = await ask('Hi', { tools, toolChoice })
        const [call] = choices[0]!.message!.toolCalls!
        expect(choices[0]!.finishReason).to.equal('tool_calls')
        expect(call!.function).to.deep.equal({ name: 'get_weather', arguments: '{"city":"sample city"}' })
        expect(call!.id).to.match(/^[A-Za-z0-9]{9}$/)
      })
    }

    it('have different ids when parallel', async () => {
      const calls = await callTools('Use tools in parallel')
      expect(calls.map(({ index }) => index)).to.deep.equal([0, 1])
      expect(calls[0]!.id).not.to.equal(calls[1]!.id)
    })

    it('are streamed whole, in one chunk with finish reason and usage', async () => {
      const chunks = await collect('Use tools in parallel', { tools })
      const last = chunks.pop()!
      expect(last.choices[0]!.delta.toolCalls).to.have.length(2)
      expect(last.choices[0]!.finishReason).to.equal('tool_calls')
      expect(last.usage!.promptTokens).to.be.greaterThan(0)
      expect(chunks.every(({ choices }) => !choices[0]!.delta.toolCalls?.length)).to.equal(true)
    })

    it('have their results quoted in the next reply', async () => {
      const toolCalls = await callTools('Use a tool')
      const { choices } = await talk([
        { role: 'user', content: 'Use a tool' },
        { role: 'assistant', content: '', toolCalls },
        { role: 'tool', toolCallId: toolCalls[0]!.id!, name: 'get_weather', content: '21 degrees' },
      ])
      expect(choices[0]!.message!.content).to.contain('The tool answered: "21 degrees"')
    })

    async function callTools(text: string): Promise<ToolCall[]> {
      const { choices } = await ask(text, { tools })
      return choices[0]!.message!.toolCalls!
    }
  })

  describe('request validation', () => {
    const user = { role: 'user', content: 'Hi' }
    const call = { id: 'call_abcdef', type: 'function', function: { name: 'f', arguments: '{}' } }
    for (const [body, param] of [
      [{ max_completion_tokens: 3 }, 'max_completion_tokens'],
      [{ user: 'ada' }, 'user'],
      [{ seed: 7 }, 'seed'],
      [{ stream_options: {} }, 'stream_options'],
      [{ messages: [{ ...user, name: 'ada' }] }, 'messages.0.name'],
      [{ messages: [user, { role: 'assistant', reasoning_content: '' }] }, 'messages.1.reasoning_content'],
      [{ messages: [{ role: 'developer', content: 'Hi' }] }, 'messages.0.role'],
      [{ tools: [] }, 'tools'],
      [{ tools: [{ type: 'function', function: { name: 'f' } }] }, 'tools.0.function.parameters'],
      [{ model: undefined }, 'model'],
      [{ messages: [] }, 'messages'],
    ] as const) {
      it(`rejects ${param} in ${JSON.stringify(body)}`, async () => {
        const response = await post(buildBody(body))
        expect(response.status).to.equal(422)
        const { detail } = (await response.json()) as { detail: { loc: (string | number)[] }[] }
        expect(detail[0]!.loc.join('.')).to.equal(`body.${param}`)
      })
    }

    for (const [messages, code] of [
      [[user, { role: 'assistant', content: '', tool_calls: [call] }, user], '3280'],
      [[user, { role: 'tool', content: '', tool_call_id: 'call_abcdef' }], '3280'],
      [[user, { role: 'assistant', content: 'Hm' }], '3230'],
    ] as const) {
      it(`responds with 400 and code ${code} to ${JSON.stringify(messages)}`, async () => {
        const response = await post(buildBody({ messages }))
        expect(response.status).to.equal(400)
        expect(await response.json()).to.include({ object: 'error', code })
      })
    }

    it('accepts a last assistant message with prefix', async () => {
      const messages = [user, { role: 'assistant', content: 'Hm', prefix: true }]
      expect((await post(buildBody({ messages }))).status).to.equal(200)
    })

    it('accepts any key except "invalid"', async () => {
      const error = await errorOf(
        connect(sandbox, 'invalid').chat.complete({
          model: 'm',
          messages: [{ role: 'user', content: 'Hi' }],
        }),
      )
      expect(error.statusCode).to.equal(401)
      expect(JSON.parse(error.body)).to.deep.equal({ detail: 'Unauthorized' })
    })

    it('rejects a body that is not JSON, and unknown paths', async () => {
      expect((await post('{"model":')).status).to.equal(422)
      expect((await fetch(`${sandbox.url}/mistral/v1/agents`)).status).to.equal(404)
    })
  })

  describe('fault injection', () => {
    for (const status of [400, 429, 500, 503]) {
      it(`responds with status ${status} to whole and streamed requests`, async () => {
        const text = `[[sandbox:status=${status} code=1300 retry-after=2]]`
        for (const error of [await errorOf(ask(text)), await errorOf(collect(text))]) {
          expect(error.statusCode).to.equal(status)
          expect(JSON.parse(error.body)).to.include({ object: 'error', code: '1300' })
          expect(error.headers.get('retry-after')).to.equal('2')
        }
      })
    }

    it('responds with 422 in the shape of a validation error', async () => {
      const error = await errorOf(ask('[[sandbox:status=422]]'))
      expect(error).to.be.instanceOf(HTTPValidationError)
      expect((error as HTTPValidationError).detail![0]!.type).to.equal('value_error')
    })

    it('ends a stream early but cleanly', async () => {
      const chunks = await collect('[[sandbox:eof=4]]')
      expect(chunks).to.have.length(4)
      expect(chunks.at(-1)!.choices[0]!.finishReason).to.equal(null)
    })

    for (const fault of ['cut=3', 'error-mid=3', 'error-first', 'malformed']) {
      it(`breaks a stream (${fault})`, async () => {
        const broken = await collect(`[[sandbox:${fault}]]`).catch((error: unknown) => error)
        expect(broken).to.be.instanceOf(Error)
      })
    }

    it("sends an error event in Mistral's shape", async () => {
      const text = await (await post(buildBody({ stream: true }, '[[sandbox:error-mid=2]]'))).text()
      const records = text.trim().split('\n\n')
      expect(records).to.have.length(3)
      expect(JSON.parse(records[2]!.slice('data: '.length))).to.include({
        object: 'error',
        type: 'server_error',
      })
    })

    it('sends comments and \\r\\n, which clients accept', async () => {
      const chunks = await collect('Hi [[sandbox:comments crlf]]')
      expect(chunks.at(-1)!.choices[0]!.finishReason).to.equal('stop')
    })
  })

  function talk(messages: ChatCompletionRequest['messages'], options: Options = {}) {
    return client.chat.complete({ model: 'mistral-test', messages, ...options })
  }

  function ask(text: string, options: Options = {}) {
    return talk([{ role: 'user', content: text }], options)
  }

  async function collect(text: string, options: Options = {}): Promise<CompletionChunk[]> {
    const messages: ChatCompletionRequest['messages'] = [{ role: 'user', content: text }]
    const chunks: CompletionChunk[] = []
    const stream = await client.chat.stream({ model: 'mistral-test', messages, ...options })
    for await (const { data } of stream) chunks.push(data)
    return chunks
  }

  function post(body: string): Promise<Response> {
    const headers = { authorization: 'Bearer test', 'content-type': 'application/json' }
    return fetch(`${sandbox.url}/mistral/v1/chat/completions`, { method: 'POST', headers, body })
  }
})

function connect({ url }: Sandbox, apiKey = 'test'): Mistral {
  return new Mistral({ serverURL: `${url}/mistral`, apiKey, retryConfig: { strategy: 'none' } })
}

function buildBody(fields: object, text = 'Hi'): string {
  return JSON.stringify({ model: 'mistral-test', messages: [{ role: 'user', content: text }], ...fields })
}

function textOf({ content }: AssistantMessage): string {
  return String(content)
}

function reasoningOf(content: readonly ContentChunk[]): string {
  return content
    .flatMap((chunk) => (chunk.type === 'thinking' ? chunk.thinking : []))
    .map((thought) => (thought.type === 'text' ? thought.text : ''))
    .join('')
}

async function errorOf(request: Promise<unknown>): Promise<MistralError> {
  const error = await request.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).to.be.instanceOf(MistralError)
  return error as MistralError
}
