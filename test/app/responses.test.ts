import { expect } from 'chai'
import OpenAI from 'openai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { MODELS, providersAt } from '../support/providers.ts'
import { waitUntil } from '../support/wait.ts'

// biome-ignore lint/suspicious/noExplicitAny: the SDK's types lack the extension fields
const loose = (value: unknown) => value as any

const model = 'gpt-4o'

const weather: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'get_weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  strict: false,
}

type Event = OpenAI.Responses.ResponseStreamEvent

async function collect(events: AsyncIterable<Event>): Promise<Event[]> {
  const all: Event[] = []
  for await (const event of events) all.push(event)
  return all
}

describe('the Responses API', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway
  let client: OpenAI

  before(async () => {
    sandbox = await startSandbox({ record: 100 })
    gateway = await startGateway(providersAt(sandbox))
    client = gateway.openai()
  })
  after(async () => {
    await gateway?.stop()
    await sandbox.close()
  })

  const post = (body: object, headers = {}) => gateway.call('POST', '/v1/responses', body, headers)

  describe("in the gateway's own form", () => {
    it('responds to a text input with the response object', async () => {
      const { status, body, headers } = await post({ input: 'Hello there' })
      expect(status).to.equal(200)
      expect(body.id).to.match(/^resp_[0-9A-Za-z]{24}$/)
      expect(body).to.include({ object: 'response', status: 'completed', temperature: 1 })
      expect(Number.isInteger(body.created_at)).to.equal(true)
      expect(body.output).to.have.length(1)
      expect(body.output[0]).to.deep.include({ role: 'assistant', type: 'message', status: 'completed' })
      expect(body.output[0].content).to.deep.equal([{ type: 'text', text: body.output[0].content[0].text }])
      expect(body.output[0].content[0].text).to.contain('Hello there')
      expect(body.usage.total_tokens).to.equal(body.usage.input_tokens + body.usage.output_tokens)
      expect(body.metadata).to.include({ provider: headers.get('x-provider'), routing_mode: 'balance' })
      expect(body.model).to.equal(headers.get('x-model'))
      expect(body.x_request_id).to.equal(headers.get('x-request-id'))
      expect(Number.isInteger(body.latency_ms)).to.equal(true)
    })

    it('requires input only', async () => {
      const { status, body } = await post({})
      expect(status).to.equal(400)
      expect(body.error).to.include({ param: 'input', code: 'missing_parameter', http_status: 400 })
    })

    it('has no reasoning items before its text', async () => {
      const { body } = await post({ model: MODELS.deepseek, input: 'Hm', reasoning: { effort: 'high' } })
      expect(body.output.map(({ type }: { type: string }) => type)).to.deep.equal(['message'])
    })

    it('sends a temperature of 1 unless the client gives another one', async () => {
      await post({ model, input: 'x' })
      expect(loose(sandbox.requests.at(-1)?.body).temperature).to.equal(1)
      await post({ model, input: 'x', temperature: 0.5 })
      expect(loose(sandbox.requests.at(-1)?.body).temperature).to.equal(0.5)
    })
  })

  describe("in OpenAI's form", () => {
    it('has output_text for the SDK', async () => {
      const response = await client.responses.create({ model, input: 'Hello there' })
      expect(response.output_text).to.contain('Hello there')
      expect(response.output[0]).to.include({ type: 'message', status: 'completed' })
      expect(response.error).to.equal(null)
    })

    it('is chosen by input items and by the openai-beta header', async () => {
      const type = async (input: unknown, headers = {}) =>
        (await post({ model, input }, headers)).body.output[0].content[0].type
      expect(await type([{ role: 'user', content: 'Hi' }])).to.equal('output_text')
      expect(await type('Hi', { 'openai-beta': 'responses=experimental' })).to.equal('output_text')
      expect(await type('Hi')).to.equal('text')
    })

    it('echoes the parameters of the request', async () => {
      const asked = {
        model,
        input: 'x',
        instructions: 'Be brief',
        temperature: 0.3,
        top_p: 0.9,
        max_output_tokens: 500,
        metadata: { team: 'red' },
        tools: [weather],
        tool_choice: 'auto' as const,
        parallel_tool_calls: false,
        text: { format: { type: 'text' as const } },
        user: 'ada',
      }
      const response = await client.responses.create(asked)
      const { model: _, input: __, metadata, ...echoed } = asked
      expect(response).to.deep.include(echoed)
      expect(response.metadata).to.include({ ...metadata, provider: 'openai', routing_mode: 'balance' })
      expect(response.metadata?.rules_position).to.match(/^\d+$/)
      expect(loose(response).signalbox.rules_position).to.be.a('number')
    })

    it('sends instructions as the first message', async () => {
      await client.responses.create({ model, input: 'x', instructions: 'Be brief' })
      expect(loose(sandbox.requests.at(-1)?.body).messages).to.deep.equal([
        { role: 'system', content: 'Be brief' },
        { role: 'user', content: 'x' },
      ])
    })

    it('returns JSON that fits a schema', async () => {
      const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
      const response = await client.responses.create({
        model,
        input: 'x',
        text: { format: { type: 'json_schema', name: 'place', schema, strict: true } },
      })
      expect(JSON.parse(response.output_text)).to.have.property('city')
    })

    it('is incomplete at the token limit', async () => {
      const response = await client.responses.create({ model, input: 'A long story', max_output_tokens: 3 })
      expect(response).to.deep.include({
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
      })
      expect(response.output[0]).to.include({ status: 'incomplete' })
    })

    it('reports a refusal of the model', async () => {
      const response = await client.responses.create({ model, input: 'Bad [[sandbox:refuse]]' })
      expect(response).to.deep.include({
        status: 'incomplete',
        incomplete_details: { reason: 'content_filter' },
      })
      expect(loose(response.output[0]).content[0].type).to.equal('refusal')
    })
  })

  describe('a stream', () => {
    const stream = (input: string, more: object = {}) =>
      client.responses.create({ model, input, stream: true, ...more })

    it('numbers its events from created to completed', async () => {
      const events = await collect(await stream('Tell me'))
      expect(events.map(({ sequence_number }) => sequence_number)).to.deep.equal(events.map((_, n) => n))
      expect(events[0]?.type).to.equal('response.created')
      const last = loose(events.at(-1))
      expect(last.type).to.equal('response.completed')
      expect(last.response.output[0].content[0].text).to.contain('Tell me')
      expect(last.response.usage.total_tokens).to.be.greaterThan(0)
    })

    it('has the extension fields in the response of its first and last event', async () => {
      const events = (await collect(await stream('Hi'))).map(loose)
      for (const { response } of [events[0], events.at(-1)]) {
        expect(response.metadata).to.include({ provider: 'openai', routing_mode: 'balance' })
        expect(response.x_request_id).to.match(/^req_/)
      }
      expect(events.at(-1).response.latency_ms).to.be.a('number')
    })

    it("works with the SDK's stream helper", async () => {
      const response = await client.responses.stream({ model, input: 'Helper' }).finalResponse()
      expect(response.status).to.equal('completed')
      expect(response.output_text).to.contain('Helper')
    })

    it('ends as incomplete at the token limit', async () => {
      const events = await collect(await stream('A long story', { max_output_tokens: 3 }))
      expect(loose(events.at(-1))).to.deep.nested.include({
        type: 'response.incomplete',
        'response.incomplete_details': { reason: 'max_output_tokens' },
      })
    })

    it('ends with response.failed when the provider fails in mid-stream', async () => {
      const events = await collect(await stream('Go [[sandbox:cut=4 token-delay=20]]'))
      const last = loose(events.at(-1))
      expect(last.type).to.equal('response.failed')
      expect(last.response.status).to.equal('failed')
      expect(last.response.output).to.have.length(1)
      expect(last.response.output[0].status).to.equal('incomplete')
      expect(last.response.error.code).to.equal('server_error')
      expect(last.response.signalbox.error.code).to.equal('provider_unreachable')
      expect(last.sequence_number).to.equal(events.length - 1)
    })

    it('responds with an error status when the first event is an error', async () => {
      const error = await stream('Go [[sandbox:error-first]]').then(
        () => expect.fail(),
        (error) => error,
      )
      expect(error).to.be.instanceOf(OpenAI.InternalServerError)
    })

    it('aborts the upstream call when the client disconnects, and stores the response as cancelled', async () => {
      const arrival = sandbox.next()
      const events = await stream('A long story [[sandbox:token-delay=50]]')
      const received = await arrival
      let id = ''
      for await (const event of events) {
        id = loose(event).response.id
        break
      }
      expect(await received.closed).to.equal('aborted')
      const status = async () => (await gateway.call('GET', `/v1/responses/${id}`)).body.status
      await waitUntil(async () => (await status()) === 'cancelled')
      expect(await client.responses.cancel(id)).to.include({ id, status: 'cancelled' })
    })

    it('cannot be cancelled by another request, and the error says what to do instead', async () => {
      const { id } = await client.responses.create({ model: 'gpt-4o', input: 'Hello' })
      const error = await client.responses.cancel(id).then(
        () => expect.fail(),
        (error) => error,
      )
      expect(error).to.be.instanceOf(OpenAI.BadRequestError)
      expect(error.message).to.contain(`${id} cannot be cancelled`).and.to.contain('close its connection')
    })
  })

  for (const [provider, model] of Object.entries(MODELS)) {
    describe(`with ${provider}`, () => {
      const instructions = 'Use the tools.'

      it('calls tools over three turns linked by previous_response_id', async () => {
        const first = await client.responses.create({
          model,
          instructions,
          input: 'Which tool?',
          tools: [weather],
        })
        const call = first.output.find(
          ({ type }) => type === 'function_call',
        ) as OpenAI.Responses.ResponseFunctionToolCall
        expect(call.name).to.equal('get_weather')
        expect(JSON.parse(call.arguments)).to.have.property('city')
        const second = await client.responses.create({
          model,
          previous_response_id: first.id,
          input: [{ type: 'function_call_output', call_id: call.call_id, output: 'sunny, 21 degrees' }],
          tools: [weather],
        })
        expect(second.output_text).to.contain('sunny, 21 degrees')
        const third = await client.responses.create({
          model,
          previous_response_id: second.id,
          input: 'And tomorrow?',
        })
        expect(third.output_text).to.contain('And tomorrow?')
        expect(third.previous_response_id).to.equal(second.id)
        expect(third.usage?.input_tokens).to.be.greaterThan(second.usage?.input_tokens ?? 0)
        const sent = JSON.stringify(sandbox.requests.at(-1)?.body)
        for (const said of ['Which tool?', 'get_weather', 'sunny, 21 degrees', 'And tomorrow?'])
          expect(sent).to.contain(said)
        expect(sent).not.to.contain(instructions)
      })

      it('calls tools over three turns whose client sends the whole conversation', async () => {
        const input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: 'Which tool?' }]
        for (const turn of ['call', 'answer', 'more']) {
          const response = await client.responses
            .stream({ model, input, tools: [weather], store: false, reasoning: { effort: 'low' } })
            .finalResponse()
          input.push(...(response.output as OpenAI.Responses.ResponseInputItem[]))
          const call = response.output.find(({ type }) => type === 'function_call')
          if (turn === 'call') {
            const { call_id } = call as OpenAI.Responses.ResponseFunctionToolCall
            input.push({ type: 'function_call_output', call_id, output: 'sunny' })
          } else {
            expect(response.output_text).to.contain(turn === 'answer' ? 'sunny' : 'And then?')
            input.push({ role: 'user', content: 'And then?' })
          }
        }
      })

      it('streams its reasoning summary', async () => {
        const events = await collect(
          await client.responses.create({
            model,
            input: 'Hm',
            stream: true,
            reasoning: { effort: 'high', summary: 'auto' },
          }),
        )
        const thoughts = events.filter(({ type }) => type === 'response.reasoning_summary_text.delta')
        const last = loose(events.at(-1)).response
        expect(thoughts).not.to.deep.equal([])
        expect(last.output.map(({ type }: { type: string }) => type)).to.deep.equal(['reasoning', 'message'])
        expect(last.usage.output_tokens_details.reasoning_tokens).to.be.greaterThan(0)
        expect(last.metadata.provider).to.equal(provider)
      })
    })
  }

  describe('conversations', () => {
    it('can refer to single items of stored responses', async () => {
      const first = await client.responses.create({ model, input: 'My name is Ada' })
      const id = first.output[0]?.id ?? ''
      const second = await client.responses.create({
        model,
        input: [
          { type: 'item_reference', id },
          { role: 'user', content: 'And?' },
        ],
      })
      expect(second.output_text).to.contain('And?')
      expect(loose(sandbox.requests.at(-1)?.body).messages[0]).to.deep.equal({
        role: 'assistant',
        content: first.output_text,
      })
    })

    it('cannot continue an unknown response', async () => {
      const unknown = `resp_${'0'.repeat(24)}`
      const error = await client.responses.create({ model, input: 'x', previous_response_id: unknown }).then(
        () => expect.fail(),
        (error) => error,
      )
      expect(error).to.be.instanceOf(OpenAI.BadRequestError)
      expect(error).to.include({ code: 'previous_response_not_found', param: 'previous_response_id' })
    })

    it('cannot continue once an earlier turn is deleted', async () => {
      const first = await client.responses.create({ model, input: 'One' })
      const second = await client.responses.create({ model, input: 'Two', previous_response_id: first.id })
      await client.responses.delete(first.id)
      const { status, body } = await post({ model, input: 'Three', previous_response_id: second.id })
      expect(status).to.equal(400)
      expect(body.error.message).to.contain(first.id)
    })
  })

  describe('rules', () => {
    const rule = firewallRuleBody()
    const text = (item: unknown) => JSON.stringify(item)

    it('mask instructions and items, sent and stored', async () => {
      await gateway.call('POST', '/v1/firewall-rules', { ...rule, pattern: 'hunter2' })
      const first = await client.responses.create({
        model,
        instructions: 'Never say hunter2',
        input: [{ role: 'user', content: [{ type: 'input_text', text: 'It is HUNTER2' }] }],
      })
      expect(text(sandbox.requests.at(-1)?.body)).not.to.match(/hunter2/i)
      expect(first.instructions).to.equal('Never say [redacted]')
      const stored = await gateway.call('GET', `/v1/responses/${first.id}`)
      const items = await gateway.call('GET', `/v1/responses/${first.id}/input_items`)
      expect(text(stored.body) + text(items.body)).not.to.match(/hunter2/i)
      expect(items.body.data[0].content).to.deep.equal([{ type: 'input_text', text: 'It is [redacted]' }])
    })

    it('block, and the text is not stored', async () => {
      await gateway.call('POST', '/v1/firewall-rules', { ...rule, action: 'block', pattern: 'dynamite-403' })
      const { status, body, headers } = await post({
        input: 'Buy dynamite-403',
        instructions: 'dynamite-403',
      })
      expect(status).to.equal(403)
      expect(body.error).to.deep.include({
        type: 'firewall_error',
        code: 'firewall_blocked',
        http_status: 403,
      })
      expect(body.error.meta).to.have.all.keys('rule_id')
      const requestId = headers.get('x-request-id')
      const stored = await gateway.call('GET', `/v1/responses/${requestId}`)
      expect(stored.body).to.deep.include({ status: 'failed', instructions: null, output: [] })
      expect(text(stored.body)).not.to.contain('Buy')
    })

    it('apply to earlier turns', async () => {
      const first = await client.responses.create({ model, input: 'The code is tango-17' })
      await gateway.call('POST', '/v1/firewall-rules', { ...rule, pattern: 'tango-17' })
      await client.responses.create({ model, input: 'Go on', previous_response_id: first.id })
      expect(text(sandbox.requests.at(-1)?.body)).not.to.contain('tango-17')
    })

    it('route by metadata and input text, and warn', async () => {
      const routing = { name: 'Route', is_enabled: true, priority: 0 }
      await gateway.call('POST', '/v1/routing-rules', {
        ...routing,
        match_json: { metadata_equals: { team: 'blue-9' }, contains: 'invoice' },
        action_json: { set_model: 'gpt-6-luna', add_warning: 'careful' },
      })
      const create = (input: string) =>
        post({ model, input, metadata: { team: 'blue-9' } }, { 'x-include-trace': 'true' })
      const { body } = await create('An invoice')
      expect(body.model).to.equal('gpt-6-luna')
      expect(body.metadata).to.deep.include({
        team: 'blue-9',
        warnings: [{ code: 'routing', message: 'careful' }],
      })
      expect(body.metadata.rule_trace).to.have.length(2)
      expect((await create('A letter')).body.model).to.equal(model)
    })
  })

  describe('errors', () => {
    const failing = (body: object) =>
      client.responses.create({ model, ...body } as never).then(
        () => expect.fail(),
        (error) => error,
      )

    it('400 names the parameter', async () => {
      const error = await failing({ input: 'x', tools: [{ type: 'web_search' }] })
      expect(error).to.be.instanceOf(OpenAI.BadRequestError)
      expect(error).to.include({ code: 'unsupported_parameter', param: 'tools[0]' })
    })

    it('401 comes before the body is parsed', async () => {
      const response = await fetch(`${gateway.url}/v1/responses`, { method: 'POST', body: '{' })
      expect(response.status).to.equal(401)
    })

    it('404 is NotFoundError for an unknown model', async () => {
      const error = await failing({ model: 'no-such-model', input: 'x' })
      expect(error).to.be.instanceOf(OpenAI.NotFoundError)
      expect(error).to.include({ code: 'model_not_found', param: 'model' })
    })

    it("429 is RateLimitError for the provider's limit, with retry-after", async () => {
      const error = await failing({ input: 'x [[sandbox:status=429 retry-after=7]]' })
      expect(error).to.be.instanceOf(OpenAI.RateLimitError)
      expect(error.headers?.get('retry-after')).to.equal('7')
    })
  })
})
