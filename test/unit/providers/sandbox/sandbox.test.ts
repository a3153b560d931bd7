import { expect } from 'chai'
import OpenAI, { APIError } from 'openai'
import type {
  ChatCompletionChunk,
  ChatCompletionCreateParams,
  ChatCompletionMessageParam,
  ChatCompletionTool,
} from 'openai/resources/chat/completions'
import { type Sandbox, startSandbox } from '../../../../providers/sandbox/server.ts'

type Options = Partial<Omit<ChatCompletionCreateParams, 'stream'>>

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

describe('the sandbox', () => {
  let sandbox: Sandbox
  let client: OpenAI

  before(async () => {
    sandbox = await startSandbox({ record: 100 })
    client = connect(sandbox)
  })

  after(() => sandbox.close())

  describe('answering in text', () => {
    it('quotes the last user message and names the model', async () => {
      const { choices } = await ask('Hello, wörld!')
      expect(choices[0]!.message).to.include({ role: 'assistant', refusal: null })
      expect(choices[0]!.message.content).to.equal(
        'You said: "Hello, wörld!". This is the sandbox, answering as gpt-test.',
      )
      expect(choices[0]!.finish_reason).to.equal('stop')
    })

    it('joins the text parts of a message and passes over others', async () => {
      const image = { type: 'image_url', image_url: { url: 'data:,' } } as const
      const content = [
        { type: 'text', text: 'first' } as const,
        image,
        { type: 'text', text: 'second' } as const,
      ]
      const { choices } = await talk([{ role: 'user', content }])
      expect(choices[0]!.message.content).to.contain('"first\nsecond"')
    })

    it('thinks before it answers, when it is asked to', async () => {
      const { choices, usage } = await ask('Hello', { reasoning_effort: 'low' })
      expect(choices[0]!.message).to.include({ reasoning_content: 'The user said: "Hello". I will say so.' })
      expect(choices[0]!.message.content).to.contain('"Hello"')
      expect(usage!.completion_tokens_details!.reasoning_tokens).to.be.greaterThan(5)
      const chunks = await collect(await stream('Hello', { reasoning_effort: 'low' }))
      expect(JSON.stringify(chunks[1]!.choices[0]!.delta)).to.match(/^\{"reasoning_content":"The"/)
      expect((await ask('Hello', { reasoning_effort: 'none' })).choices[0]!.message).not.to.have.property(
        'reasoning_content',
      )
    })

    it('gives thoughts their share of the token limit', async () => {
      const { choices, usage } = await ask('Hello', { reasoning_effort: 'low', max_completion_tokens: 5 })
      expect(choices[0]).to.have.nested.property('message.content', '')
      expect(choices[0]).to.have.property('finish_reason', 'length')
      expect(usage!.completion_tokens).to.equal(usage!.completion_tokens_details!.reasoning_tokens)
    })

    it('gives the same answer to the same request', async () => {
      const [first, second] = await Promise.all([ask('same'), ask('same')])
      expect({ ...first, created: 0 }).to.deep.equal({ ...second, created: 0 })
      expect((await ask('other')).id).not.to.equal(first.id)
    })

    it('counts a token for every four bytes', async () => {
      const { usage, choices } = await talk([
        { role: 'system', content: 'Be brief' },
        { role: 'user', content: 'Hällo' },
      ])
      const output = Math.ceil(Buffer.byteLength(choices[0]!.message.content!) / 4)
      expect(usage).to.deep.include({ prompt_tokens: 4, completion_tokens: output, total_tokens: 4 + output })
      expect(usage!.prompt_tokens_details).to.deep.include({ cached_tokens: 0 })
      expect(usage!.completion_tokens_details).to.deep.include({ reasoning_tokens: 0 })
    })

    for (const limit of ['max_tokens', 'max_completion_tokens']) {
      it(`cuts the answer at ${limit}`, async () => {
        const { choices, usage } = await ask('ääääää', { [limit]: 3 })
        expect(choices[0]!.finish_reason).to.equal('length')
        expect(choices[0]!.message.content).to.equal('You said: "')
        expect(usage!.completion_tokens).to.equal(3)
      })
    }

    it('ends before a stop sequence', async () => {
      const { choices } = await ask('one two three', { stop: ['three', ' two'] })
      expect(choices[0]!.message.content).to.equal('You said: "one')
      expect(choices[0]!.finish_reason).to.equal('stop')
    })

    it('sends fields that no type knows, and names those it received', async () => {
      const completion = await ask('Hi', { made_up: 1, another: 2 } as Options)
      expect(completion).to.deep.include({ service_tier: 'default', system_fingerprint: 'fp_sandbox' })
      expect(completion).to.deep.include({ x_sandbox: { unknown_fields: ['another', 'made_up'] } })
    })

    it('carries messages of many megabytes', async () => {
      const text = 'word '.repeat(1_000_000).trim()
      const { choices } = await ask(text)
      expect(choices[0]!.message.content!.length).to.be.greaterThan(text.length)
      expect(readText(await collect(await stream(text)))).to.equal(choices[0]!.message.content)
    })
  })

  describe('streaming', () => {
    it('sends the role, at least three pieces, the finish, and nothing after it', async () => {
      const chunks = await collect(await stream('Hi'))
      expect(chunks[0]!.choices[0]!.delta).to.deep.include({ role: 'assistant', content: '' })
      expect(chunks.length).to.be.greaterThan(4)
      expect(readText(chunks)).to.equal((await ask('Hi')).choices[0]!.message.content)
      expect(chunks.map(({ choices }) => choices[0]!.finish_reason).filter(Boolean)).to.deep.equal(['stop'])
      expect(chunks.at(-1)!.choices[0]!).to.deep.include({ delta: {}, finish_reason: 'stop' })
    })

    it('repeats the identity and the extra fields on every chunk', async () => {
      const chunks = await collect(await stream('Hi', { made_up: 1 } as Options))
      for (const chunk of chunks) {
        expect(chunk).to.include({ id: chunks[0]!.id, model: 'gpt-test', object: 'chat.completion.chunk' })
        expect(chunk).to.deep.include({ service_tier: 'default', x_sandbox: { unknown_fields: ['made_up'] } })
        expect(chunk).not.to.have.property('usage')
      }
    })

    it('adds a usage chunk when asked, and null usage on the chunks before', async () => {
      const chunks = await collect(await stream('Hi', { stream_options: { include_usage: true } }))
      const last = chunks.pop()!
      expect(last.choices).to.deep.equal([])
      expect(last.usage).to.deep.equal((await ask('Hi')).usage)
      for (const chunk of chunks) expect(chunk.usage).to.equal(null)
    })

    it('ends with [DONE]', async () => {
      expect(await fetchText('Hi', { stream: true })).to.match(/\n\ndata: \[DONE\]\n\n$/)
    })

    it("satisfies the SDK's stream helper", async () => {
      const helper = client.chat.completions.stream({
        model: 'gpt-test',
        messages: [{ role: 'user', content: 'Hello' }],
        stream_options: { include_usage: true },
      })
      const completion = await helper.finalChatCompletion()
      expect(completion.choices[0]!.message.content).to.contain('You said: "Hello"')
      expect(completion.usage!.prompt_tokens).to.equal(2)
    })

    it('splits an answer of a few characters', async () => {
      const chunks = await collect(await stream('Hi', { max_tokens: 1 }))
      expect(readText(chunks)).to.equal('You ')
      expect(chunks.at(-1)!.choices[0]!.finish_reason).to.equal('length')
    })
  })

  describe('calling tools', () => {
    const tools = [weather, clock]

    it('calls the first tool when one is required', async () => {
      const { choices } = await ask('Hi', { tools, tool_choice: 'required' })
      expect(choices[0]!.finish_reason).to.equal('tool_calls')
      expect(choices[0]!.message.content).to.equal(null)
      expect(readCalls(choices[0]!.message)).to.deep.equal([
        ['get_weather', { city: 'sample city', days: 1, unit: 'celsius' }],
      ])
    })

    it('calls the function that the choice names', async () => {
      const tool_choice = { type: 'function', function: { name: 'get_time' } } as const
      const { choices } = await ask('Hi', { tools, tool_choice })
      expect(readCalls(choices[0]!.message)).to.deep.equal([['get_time', { zone: 'UTC' }]])
    })

    it('keeps to the allowed tools', async () => {
      const allowed = [{ type: 'function', function: { name: 'get_time' } }]
      const tool_choice = {
        type: 'allowed_tools',
        allowed_tools: { mode: 'required', tools: allowed },
      } as const
      const { choices } = await ask('Hi', { tools, tool_choice })
      expect(readCalls(choices[0]!.message)).to.deep.equal([['get_time', { zone: 'UTC' }]])
    })

    it('calls a tool when the user asks for one', async () => {
      const { choices } = await ask('Please use a tool', { tools })
      expect(readCalls(choices[0]!.message)).to.have.nested.property('[0][0]', 'get_weather')
    })

    it('calls the tool that the user names', async () => {
      const { choices } = await ask('Try get_time', { tools, tool_choice: 'auto' })
      expect(readCalls(choices[0]!.message)).to.have.nested.property('[0][0]', 'get_time')
    })

    it('answers in text when the user asks for none', async () => {
      const { choices } = await ask('Hi', { tools })
      expect(choices[0]!.message.content).to.contain('"Hi"')
    })

    it('never calls a tool when the choice is none', async () => {
      const { choices } = await ask('Use a tool', { tools, tool_choice: 'none' })
      expect(choices[0]!.message.tool_calls).to.equal(undefined)
    })

    it('calls the first two tools in parallel', async () => {
      const { choices } = await ask('Use tools in parallel', { tools })
      const calls = choices[0]!.message.tool_calls!
      expect(readCalls(choices[0]!.message).map(([name]) => name)).to.deep.equal(['get_weather', 'get_time'])
      expect(calls[0]!.id).not.to.equal(calls[1]!.id)
    })

    it('calls a lone tool twice in parallel', async () => {
      const { choices } = await ask('Use the tool in parallel', { tools: [clock] })
      expect(readCalls(choices[0]!.message).map(([name]) => name)).to.deep.equal(['get_time', 'get_time'])
    })

    it('makes one call when parallel calls are off', async () => {
      const { choices } = await ask('Use tools in parallel', { tools, parallel_tool_calls: false })
      expect(choices[0]!.message.tool_calls).to.have.length(1)
    })

    it('streams a call as its name and then its arguments in pieces', async () => {
      const chunks = await collect(await stream('Hi', { tools, tool_choice: 'required' }))
      const deltas = chunks.flatMap(({ choices }) => choices[0]!.delta.tool_calls ?? [])
      expect(deltas[0]).to.deep.include({ index: 0, type: 'function' })
      expect(deltas[0]!.function).to.deep.equal({ name: 'get_weather', arguments: '' })
      expect(deltas.length).to.be.greaterThan(2)
      expect(chunks.at(-1)!.choices[0]!.finish_reason).to.equal('tool_calls')
    })

    it("streams parallel calls that the SDK's helper puts together", async () => {
      const helper = client.chat.completions.stream({
        model: 'gpt-test',
        messages: [{ role: 'user', content: 'Use tools in parallel' }],
        tools: [weather, defineTool('ping', { type: 'object', properties: {} })],
      })
      const completion = await helper.finalChatCompletion()
      expect(readCalls(completion.choices[0]!.message)).to.deep.equal([
        ['get_weather', { city: 'sample city', days: 1, unit: 'celsius' }],
        ['ping', {}],
      ])
    })

    it('answers a tool result by quoting it', async () => {
      const first = await ask('Use a tool', { tools })
      const { message } = first.choices[0]!
      const result = {
        role: 'tool',
        tool_call_id: message.tool_calls![0]!.id,
        content: '21 degrees',
      } as const
      const { choices } = await talk([{ role: 'user', content: 'Use a tool' }, message, result], { tools })
      expect(choices[0]!.finish_reason).to.equal('stop')
      expect(choices[0]!.message.content).to.match(
        /^The tool answered: "21 degrees"\. You said: "Use a tool"\./,
      )
    })

    it('refuses a choice that is not offered', async () => {
      const tool_choice = { type: 'function', function: { name: 'unheard_of' } } as const
      const error = await fail(ask('Hi', { tools, tool_choice }))
      expect(error).to.include({ status: 400, param: 'tool_choice' })
    })
  })

  describe('answering in JSON', () => {
    it("puts the user's text into a JSON object", async () => {
      const { choices } = await ask('Say "hi"', { response_format: { type: 'json_object' } })
      expect(JSON.parse(choices[0]!.message.content!)).to.deep.equal({
        you_said: 'Say "hi"',
        model: 'gpt-test',
      })
    })

    it('gives an object that satisfies the schema', async () => {
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

    it('ends schemas that refer to themselves', async () => {
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

    it('streams JSON in pieces', async () => {
      const chunks = await collect(await stream('Hi', { response_format: { type: 'json_object' } }))
      expect(chunks.length).to.be.greaterThan(4)
      expect(JSON.parse(readText(chunks))).to.include({ you_said: 'Hi' })
    })

    async function askForSchema(schema: Record<string, unknown>): Promise<unknown> {
      const response_format = { type: 'json_schema', json_schema: { name: 'test', schema } } as const
      const { choices } = await ask('Hi', { response_format })
      return JSON.parse(choices[0]!.message.content!)
    }
  })

  describe('refusing', () => {
    it('lists its models', async () => {
      const { data } = await client.models.list()
      expect(data.map(({ id }) => id)).to.include('gpt-4o-mini')
    })

    it('takes any key but "invalid"', async () => {
      const error = await fail(connect(sandbox, 'invalid').models.list())
      expect(error).to.be.instanceOf(OpenAI.AuthenticationError)
      expect(error).to.include({ status: 401, code: 'invalid_api_key' })
    })

    for (const authorization of ['', 'Bearer ', 'Basic abc']) {
      it(`wants a bearer where it finds "${authorization}"`, async () => {
        const response = await fetch(`${sandbox.url}/openai/v1/models`, { headers: { authorization } })
        expect(response.status).to.equal(401)
      })
    }

    it('has no other paths', async () => {
      const error = await fail(client.post('/no/such/path'))
      expect(error).to.be.instanceOf(OpenAI.NotFoundError)
      expect(error).to.include({ status: 404, type: 'invalid_request_error', code: 'unknown_url' })
      expect((await fetch(`${sandbox.url}/`)).status).to.equal(404)
    })

    it('wants a body in JSON', async () => {
      const response = await post('{"model":')
      expect(response.status).to.equal(400)
      expect(await response.json()).to.have.nested.property('error.type', 'invalid_request_error')
    })

    for (const field of ['model', 'messages']) {
      it(`wants ${field}`, async () => {
        const error = await fail(ask('Hi', { [field]: undefined } as Options))
        expect(error).to.include({ status: 400, param: field, code: 'missing_required_parameter' })
      })
    }

    it('wants messages with a role', async () => {
      const error = await fail(talk([{ content: 'Hi' } as ChatCompletionMessageParam]))
      expect(error).to.include({ status: 400, param: 'messages[0]' })
    })

    it('takes no body over 32 MB', async () => {
      const response = await post(' '.repeat(32 * 1024 * 1024 + 1))
      expect(response.status).to.equal(413)
    })
  })

  describe('failing on request', () => {
    it('leaves the marker out of the answer', async () => {
      const { choices } = await ask('Hi [[sandbox:first-byte=1]]')
      expect(choices[0]!.message.content).to.contain('You said: "Hi".')
    })

    it('names the faults when it is asked for one it does not know', async () => {
      const error = await fail(ask('[[sandbox:explode]]'))
      expect(error.status).to.equal(400)
      expect(error.message).to.contain('no fault "explode", only: status,')
    })

    it('says what a fault takes', async () => {
      const error = await fail(ask('[[sandbox:status=200]]'))
      expect(error.message).to.contain('"status" takes a whole number from 400 to 599')
    })

    for (const [status, type, code] of [
      [400, 'invalid_request_error', null],
      [401, 'authentication_error', 'invalid_api_key'],
      [404, 'invalid_request_error', 'model_not_found'],
      [429, 'rate_limit_error', 'rate_limit_exceeded'],
      [500, 'server_error', null],
      [503, 'service_unavailable_error', 'server_is_overloaded'],
      [529, 'server_error', null],
    ] as const) {
      it(`answers with status ${status}, whole and streamed`, async () => {
        const text = `[[sandbox:status=${status}]]`
        expect(await fail(ask(text))).to.include({ status, type, code })
        expect(await fail(stream(text))).to.include({ status, type, code })
      })
    }

    it('sends retry-after and the code it is told', async () => {
      const error = await fail(ask('[[sandbox:status=429 retry-after=2 code=insufficient_quota]]'))
      expect(error.code).to.equal('insufficient_quota')
      expect(error.headers!.get('retry-after')).to.equal('2')
    })

    it('delays the first byte', async () => {
      const start = performance.now()
      await ask('[[sandbox:first-byte=60]]')
      expect(performance.now() - start).to.be.greaterThan(55)
    })

    it('delays every token', async () => {
      const start = performance.now()
      const chunks = await collect(await stream('[[sandbox:token-delay=5]]'))
      expect(performance.now() - start).to.be.greaterThan((chunks.length - 1) * 4)
    })

    it('sends comments that clients pass over', async () => {
      const text = 'Hi [[sandbox:comments]]'
      expect(await fetchText(text, { stream: true })).to.match(/^: keep-alive\n\ndata: /)
      expect(readText(await collect(await stream(text)))).to.contain('"Hi"')
    })

    it('ends lines in \\r\\n', async () => {
      const text = await fetchText('[[sandbox:crlf]]', { stream: true })
      expect(text).to.match(/\r\n\r\ndata: \[DONE\]\r\n\r\n$/)
      expect(text.replaceAll('\r\n', '')).not.to.contain('\n')
    })

    it('cuts a stream after some records', async () => {
      const { chunks, error } = await collectUntilError(await stream('[[sandbox:cut=3]]'))
      expect(chunks).to.have.length(3)
      expect(error).to.be.instanceOf(TypeError)
    })

    it('cuts a stream before its first record', async () => {
      const { chunks, error } = await collectUntilError(await stream('[[sandbox:cut=0]]'))
      expect(chunks).to.have.length(0)
      expect(error).to.be.instanceOf(TypeError)
    })

    it('cuts a whole answer in the middle', async () => {
      const response = await post(writeBody('[[sandbox:cut]]'))
      expect(response.status).to.equal(200)
      expect(await response.text().catch((error: unknown) => error)).to.be.instanceOf(TypeError)
    })

    it('counts an answer that it cuts itself as finished', async () => {
      const arrival = sandbox.next()
      await collectUntilError(await stream('[[sandbox:cut]]'))
      expect(await (await arrival).closed).to.equal('finished')
    })

    it('ends a stream early but cleanly', async () => {
      const chunks = await collect(await stream('[[sandbox:eof=4]]'))
      expect(chunks).to.have.length(4)
      expect(chunks.at(-1)!.choices[0]!.finish_reason).to.equal(null)
    })

    it('leaves out the end of a stream however late it stops', async () => {
      const chunks = await collect(await stream('Hi [[sandbox:eof=999]]'))
      expect(readText(chunks)).to.contain('"Hi"')
      expect(chunks.at(-1)!.choices[0]!.finish_reason).to.equal(null)
    })

    it('sends a body that is not JSON', async () => {
      const response = await post(writeBody('[[sandbox:malformed]]'))
      const text = await response.text()
      expect(response.headers.get('content-type')).to.equal('application/json')
      expect(() => JSON.parse(text)).to.throw(SyntaxError)
    })

    it('sends a record that is not JSON in the middle of a stream', async () => {
      const records = (await fetchText('[[sandbox:malformed]]', { stream: true })).split('\n\n').slice(0, -1)
      const broken = records.map((record) => record.slice('data: '.length)).filter((data) => !isJson(data))
      expect(broken).to.have.length(2)
      expect(broken[1]).to.equal('[DONE]')
    })

    it('begins a stream with an error', async () => {
      const opened = await stream('[[sandbox:error-first status=529 code=busy]]')
      const { chunks, error } = await collectUntilError(opened)
      expect(chunks).to.have.length(0)
      expect(error).to.be.instanceOf(APIError)
      expect(error).to.include({ type: 'server_error', code: 'busy' })
    })

    it('sends an error in the middle of a stream, and nothing more', async () => {
      const { chunks, error } = await collectUntilError(await stream('[[sandbox:error-mid=2]]'))
      expect(chunks).to.have.length(2)
      expect(error).to.be.instanceOf(APIError)
      expect(await fetchText('[[sandbox:error-mid=2]]', { stream: true })).not.to.contain('[DONE]')
    })

    it('refuses to answer', async () => {
      const [{ choices }, chunks] = [
        await ask('[[sandbox:refuse]]'),
        await collect(await stream('[[sandbox:refuse]]')),
      ]
      expect(choices[0]!.message).to.include({ content: null, refusal: 'The sandbox was asked to refuse.' })
      expect(choices[0]!.finish_reason).to.equal('content_filter')
      const pieces = chunks.map((chunk) => chunk.choices[0]!.delta.refusal ?? '')
      expect(pieces.join('')).to.equal('The sandbox was asked to refuse.')
      expect(chunks.at(-1)!.choices[0]!.finish_reason).to.equal('content_filter')
    })

    it('may befall every request that has no marker of its own', async () => {
      const other = await startSandbox()
      const say = (content: string) =>
        connect(other).chat.completions.create({ model: 'gpt-test', messages: [{ role: 'user', content }] })
      const statusOf = (content: string) =>
        say(content).then(
          () => 200,
          (error) => error.status,
        )
      other.setFault('status=503')
      expect(await statusOf('Hello')).to.equal(503)
      expect(await statusOf('[[sandbox:status=429]]')).to.equal(429)
      other.setFault('')
      expect(await statusOf('Hello')).to.equal(200)
      expect(() => other.setFault('explode')).to.throw('explode')
      await other.close()
    })

    it('fails as many times as it is told', async () => {
      const text = '[[sandbox:status=500 times=2]]'
      expect(await fail(ask(text))).to.include({ status: 500 })
      expect(await fail(ask(text))).to.include({ status: 500 })
      expect((await ask(text)).choices[0]!.finish_reason).to.equal('stop')
    })

    it('fails for the named model only', async () => {
      const text = '[[sandbox:status=500 times=1 model=gpt-bad]]'
      await ask(text)
      expect(await fail(ask(text, { model: 'gpt-bad' }))).to.include({ status: 500 })
    })

    it('takes the next marker when one is used up', async () => {
      const text = '[[sandbox:status=503 times=1]] [[sandbox:status=429 times=1]]'
      expect(await fail(ask(text))).to.include({ status: 503 })
      expect(await fail(ask(text))).to.include({ status: 429 })
      expect((await ask(text)).choices[0]!.finish_reason).to.equal('stop')
    })
  })

  describe('a client that leaves', () => {
    for (const fault of ['hang', 'first-byte=600000']) {
      it(`is noticed before the first byte (${fault})`, async () => {
        const leaving = new AbortController()
        const arrival = sandbox.next()
        const answer = fail(ask(`[[sandbox:${fault}]]`, {}, leaving.signal))
        const request = await arrival
        expect(request.isAborted).to.equal(false)
        leaving.abort()
        expect(await request.closed).to.equal('aborted')
        expect(request.isAborted).to.equal(true)
        expect(await answer).to.be.instanceOf(OpenAI.APIUserAbortError)
      })
    }

    it('is noticed in the middle of a stream', async () => {
      const arrival = sandbox.next()
      for await (const _ of await stream('[[sandbox:token-delay=600000]]')) break
      expect(await (await arrival).closed).to.equal('aborted')
    })

    it('is noticed while a large answer waits for it to read', async () => {
      const arrival = sandbox.next()
      const response = await post(writeBody('x'.repeat(20_000_000)))
      await response.body!.cancel()
      expect(await (await arrival).closed).to.equal('aborted')
    })
  })

  describe('recording', () => {
    it('keeps method, path, headers and body', async () => {
      await ask('remember me')
      const request = sandbox.requests.at(-1)!
      expect(request).to.include({ method: 'POST', path: '/openai/v1/chat/completions', isAborted: false })
      expect(request.headers).to.include({ authorization: 'Bearer test' })
      expect(request.body).to.deep.equal(JSON.parse(writeBody('remember me')))
      expect(await request.closed).to.equal('finished')
    })

    it('waits for the request that satisfies a predicate', async () => {
      const arrival = sandbox.next(({ body }) => JSON.stringify(body).includes('second'))
      await ask('first')
      await ask('second')
      expect((await arrival).body).to.have.nested.property('messages[0].content', 'second')
    })

    it('keeps no more than it is told, and nothing by default', async () => {
      const [two, none] = await Promise.all([startSandbox({ record: 2 }), startSandbox()])
      for (const model of ['a', 'b', 'c']) {
        await ask('Hi', { model }, undefined, connect(two))
        await ask('Hi', { model }, undefined, connect(none))
      }
      expect(two.requests.map(({ body }) => (body as { model: string }).model)).to.deep.equal(['b', 'c'])
      expect(none.requests).to.deep.equal([])
      await Promise.all([two.close(), none.close()])
    })
  })

  describe('closing', () => {
    it('ends connections that are still open', async () => {
      const own = await startSandbox()
      const arrival = own.next()
      const answer = fail(ask('[[sandbox:hang]]', {}, undefined, connect(own)))
      await arrival
      await own.close()
      expect(await answer).to.be.instanceOf(OpenAI.APIConnectionError)
    })

    it('may happen twice', async () => {
      const own = await startSandbox()
      await own.close()
      await own.close()
    })

    it('frees the port, and a port in use is told', async () => {
      const own = await startSandbox()
      const port = Number(new URL(own.url).port)
      const refused = await startSandbox({ port }).catch((error: unknown) => error)
      expect(refused).to.have.property('code', 'EADDRINUSE')
      await own.close()
      await (await startSandbox({ port })).close()
    })
  })

  function talk(messages: ChatCompletionMessageParam[], options: Options = {}) {
    return client.chat.completions.create({ model: 'gpt-test', messages, ...options })
  }

  function ask(text: string, options: Options = {}, signal?: AbortSignal, by = client) {
    const messages = [{ role: 'user' as const, content: text }]
    return by.chat.completions.create({ model: 'gpt-test', messages, ...options }, signal && { signal })
  }

  function stream(text: string, options: Options = {}) {
    const messages = [{ role: 'user' as const, content: text }]
    return client.chat.completions.create({ model: 'gpt-test', messages, ...options, stream: true })
  }

  function post(body: string): Promise<Response> {
    const headers = { authorization: 'Bearer test', 'content-type': 'application/json' }
    return fetch(`${sandbox.url}/openai/v1/chat/completions`, { method: 'POST', headers, body })
  }

  async function fetchText(text: string, options: object): Promise<string> {
    return (await post(writeBody(text, options))).text()
  }
})

function connect({ url }: Sandbox, apiKey = 'test'): OpenAI {
  return new OpenAI({ baseURL: `${url}/openai/v1`, apiKey, maxRetries: 0 })
}

function defineTool(name: string, parameters: Record<string, unknown>): ChatCompletionTool {
  return { type: 'function', function: { name, parameters } }
}

function writeBody(text: string, options: object = {}): string {
  return JSON.stringify({ model: 'gpt-test', messages: [{ role: 'user', content: text }], ...options })
}

async function fail(request: PromiseLike<unknown>): Promise<APIError> {
  try {
    await request
  } catch (error) {
    expect(error).to.be.instanceOf(APIError)
    return error as APIError
  }
  throw new Error('The request should have failed.')
}

async function collect(stream: AsyncIterable<ChatCompletionChunk>): Promise<ChatCompletionChunk[]> {
  const { chunks, error } = await collectUntilError(stream)
  if (error) throw error
  return chunks
}

async function collectUntilError(stream: AsyncIterable<ChatCompletionChunk>) {
  const chunks: ChatCompletionChunk[] = []
  try {
    for await (const chunk of stream) chunks.push(chunk)
  } catch (error) {
    return { chunks, error }
  }
  return { chunks, error: undefined }
}

function readText(chunks: readonly ChatCompletionChunk[]): string {
  return chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
}

function readCalls({ tool_calls = [] }: OpenAI.ChatCompletionMessage): [string, unknown][] {
  return tool_calls.map((call) => {
    if (call.type !== 'function') throw new Error(`Not a function call: ${call.type}`)
    return [call.function.name, JSON.parse(call.function.arguments)]
  })
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
