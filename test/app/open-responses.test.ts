import { Ajv } from 'ajv'
import { expect } from 'chai'
import { firewallRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

// The HTTP cases of the Open Responses compliance suite (specification of 2026-04-24), in our own words: the
// requests, what each answer must contain, and the fields that every response must have.

const IMAGE = `data:image/png;base64,${Buffer.from('not looked at').toString('base64')}`

const nullable = (type: string) => ({ type: [type, 'null'] })

const ITEM = {
  type: 'object',
  required: ['type', 'id'],
  properties: { type: { type: 'string' }, id: { type: 'string' } },
  oneOf: [
    {
      required: ['role', 'status', 'content'],
      properties: {
        type: { const: 'message' },
        status: { enum: ['in_progress', 'completed', 'incomplete'] },
        content: {
          type: 'array',
          items: { type: 'object', required: ['type'], properties: { type: { type: 'string' } } },
        },
      },
    },
    {
      required: ['call_id', 'name', 'arguments', 'status'],
      properties: { type: { const: 'function_call' }, arguments: { type: 'string' } },
    },
    { required: ['summary'], properties: { type: { const: 'reasoning' }, summary: { type: 'array' } } },
    {
      required: ['encrypted_content'],
      properties: { type: { const: 'compaction' }, encrypted_content: { type: 'string' } },
    },
  ],
}

const USAGE = {
  type: 'object',
  required: [
    'input_tokens',
    'output_tokens',
    'total_tokens',
    'input_tokens_details',
    'output_tokens_details',
  ],
  properties: {
    input_tokens: { type: 'integer' },
    output_tokens: { type: 'integer' },
    total_tokens: { type: 'integer' },
    input_tokens_details: { required: ['cached_tokens'] },
    output_tokens_details: { required: ['reasoning_tokens'] },
  },
}

const RESPONSE_FIELDS = {
  id: { type: 'string' },
  object: { const: 'response' },
  created_at: { type: 'integer' },
  completed_at: nullable('integer'),
  status: { type: 'string' },
  incomplete_details: nullable('object'),
  model: { type: 'string' },
  previous_response_id: nullable('string'),
  instructions: {},
  output: { type: 'array', items: ITEM },
  error: nullable('object'),
  tools: { type: 'array', items: { required: ['type', 'name', 'description', 'parameters', 'strict'] } },
  tool_choice: {},
  truncation: { enum: ['auto', 'disabled'] },
  parallel_tool_calls: { type: 'boolean' },
  text: { type: 'object' },
  top_p: { type: 'number' },
  presence_penalty: { type: 'number' },
  frequency_penalty: { type: 'number' },
  top_logprobs: { type: 'integer' },
  temperature: { type: 'number' },
  reasoning: nullable('object'),
  max_output_tokens: nullable('integer'),
  max_tool_calls: nullable('integer'),
  store: { type: 'boolean' },
  background: { type: 'boolean' },
  service_tier: { type: 'string' },
  metadata: { type: 'object' },
  safety_identifier: nullable('string'),
  prompt_cache_key: nullable('string'),
}

const ajv = new Ajv({ strict: false, allErrors: true })
const isResponse = ajv.compile({
  type: 'object',
  required: [...Object.keys(RESPONSE_FIELDS), 'usage'],
  properties: { ...RESPONSE_FIELDS, usage: { anyOf: [USAGE, { type: 'null' }] } },
})
const isCompaction = ajv.compile({
  type: 'object',
  required: ['id', 'object', 'output', 'created_at', 'usage'],
  properties: {
    id: { type: 'string' },
    object: { const: 'response.compaction' },
    output: { type: 'array', items: ITEM, contains: { properties: { type: { const: 'compaction' } } } },
    created_at: { type: 'integer' },
    usage: USAGE,
  },
})

const said = (role: string, content: unknown, more: object = {}) => ({
  type: 'message',
  role,
  content,
  ...more,
})
const WEATHER = {
  type: 'function',
  name: 'get_weather',
  description: 'Get the current weather for a location',
  parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
}
const AGREED = [
  said('user', 'We agreed to launch on Tuesday and notify support first.'),
  said('assistant', 'Understood. The launch is Tuesday, with support notified beforehand.'),
]

const CASES = {
  'a text': { input: [said('user', 'Say hello in exactly 3 words.')] },
  'phases of assistant messages': {
    input: [
      said('assistant', 'I should answer with the saved number.', { phase: 'commentary' }),
      said('assistant', 'The number is four.', { phase: 'final_answer' }),
      said('user', 'Repeat only the number.'),
    ],
  },
  'a system message': { input: [said('system', 'You are a pirate.'), said('user', 'Say hello.')] },
  'an image': {
    input: [
      said('user', [
        { type: 'input_text', text: 'What do you see?' },
        { type: 'input_image', image_url: IMAGE },
      ]),
    ],
  },
  'several turns': {
    input: [
      said('user', 'My name is Alice.'),
      said('assistant', 'Hello Alice!'),
      said('user', 'What is my name?'),
    ],
  },
}

describe('Open Responses', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway(await withSettings(UNLIMITED))
  })
  after(() => gateway.stop())

  const create = (body: object) => gateway.call('POST', '/v1/responses', body)
  const compact = (body: object) => gateway.call('POST', '/v1/responses/compact', body)

  function expectResponse(body: unknown, status = 'completed') {
    expect(isResponse(body), ajv.errorsText(isResponse.errors)).to.equal(true)
    expect(body).to.include({ status })
  }

  async function stream(path: string, body?: object) {
    const response = await fetch(gateway.url + path, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const records = text.split('\n\n').filter((record) => record !== '')
    return records.map((record) => JSON.parse(record.replace(/^event: .*\ndata: /, '')))
  }

  for (const model of ['gpt-4o', 'claude-sonnet-4-6', 'gemini-3.8-flash']) {
    describe(`answered by ${model}`, () => {
      for (const [what, body] of Object.entries(CASES)) {
        it(`takes ${what}`, async () => {
          const { status, body: response } = await create({ model, ...body })
          expect(status, JSON.stringify(response)).to.equal(200)
          expectResponse(response)
          expect(response.output).not.to.be.empty
        })
      }

      it('streams events, numbered without gaps, with the response at the end', async () => {
        const events = await stream('/v1/responses', {
          model,
          input: [said('user', 'Count from 1 to 5.')],
          stream: true,
        })
        expect(events.map(({ sequence_number }) => sequence_number)).to.deep.equal([...events.keys()])
        expect(events[0]).to.include({ type: 'response.created' })
        for (const { response } of events.slice(0, 2)) expectResponse(response, 'in_progress')
        expect(events.at(-1)).to.include({ type: 'response.completed' })
        expectResponse(events.at(-1).response)
      })

      it('calls a tool', async () => {
        const input = [said('user', "What's the weather like in San Francisco? Use get_weather.")]
        const { body } = await create({ model, input, tools: [WEATHER] })
        expectResponse(body)
        expect(body.output.map(({ type }: { type: string }) => type)).to.include('function_call')
      })

      it('compacts a conversation, which continues from the compaction', async () => {
        const { status, body } = await compact({ model, prompt_cache_key: 'a-test', input: AGREED })
        expect(status, JSON.stringify(body)).to.equal(200)
        expect(isCompaction(body), ajv.errorsText(isCompaction.errors)).to.equal(true)
        expect(body.usage.output_tokens).to.be.greaterThan(0)
        const next = await create({ model, input: [...body.output, said('user', 'When is the launch?')] })
        expect(next.status, JSON.stringify(next.body)).to.equal(200)
        expectResponse(next.body)
      })
    })
  }

  it('names the answering model on replays, and takes max_tool_calls', async () => {
    const { headers, body } = await create({ model: 'gpt-4o', input: 'Hi', max_tool_calls: 3 })
    expect(body.max_tool_calls).to.equal(3)
    const path = `/v1/responses/${body.id}`
    const streamed = await fetch(`${gateway.url}${path}?stream=true`, {
      headers: { authorization: `Bearer ${gateway.demoKey}` },
    })
    await streamed.text()
    for (const replayed of [(await gateway.call('POST', path, {})).headers, streamed.headers]) {
      for (const name of ['x-provider', 'x-model', 'x-routing-mode'])
        expect(replayed.get(name), name).to.be.a('string').and.equal(headers.get(name))
    }
  })

  it('refuses to compact without a model', async () => {
    const { status, body } = await compact({ input: AGREED })
    expect([status, body.error.code, body.error.param]).to.deep.equal([400, 'missing_parameter', 'model'])
  })

  describe('the compaction', () => {
    /** The sandbox repeats what it is asked, so the summary contains the conversation. */
    const summaryOf = async (body: object) => {
      const { status, body: answer } = await compact({ model: 'gpt-4o', ...body })
      expect(status, JSON.stringify(answer)).to.equal(200)
      const item = answer.output.find(({ type }: { type: string }) => type === 'compaction')
      const next = await create({ model: 'gpt-4o', input: [item, said('user', 'Go on')] })
      const { body: items } = await gateway.call('GET', `/v1/responses/${next.body.id}/input_items?order=asc`)
      return { output: answer.output, summary: JSON.stringify(items.data[0]) }
    }

    it('summarizes all messages, calls and results', async () => {
      const { summary } = await summaryOf({
        input: [
          ...AGREED,
          { type: 'function_call', call_id: 'c1', name: 'look_up', arguments: '{"day":"Tuesday"}' },
          { type: 'function_call_output', call_id: 'c1', output: 'the support rota' },
        ],
      })
      for (const text of ['launch on Tuesday', 'notified beforehand', 'look_up', 'the support rota'])
        expect(summary).to.contain(text)
    })

    it('keeps system messages and what was not answered yet as they are', async () => {
      const { output } = await summaryOf({
        input: [said('system', 'Be brief.'), ...AGREED, said('user', 'Who tells support?')],
      })
      const texts = output.map((item: { type: string; content?: { text: string }[] }) =>
        item.type === 'compaction' ? item.type : item.content?.[0]?.text,
      )
      expect(texts).to.deep.equal(['Be brief.', 'compaction', 'Who tells support?'])
    })

    it('continues a stored response', async () => {
      const first = await create({ model: 'gpt-4o', input: 'The code word is papaya.' })
      const { summary } = await summaryOf({ previous_response_id: first.body.id })
      expect(summary).to.contain('papaya')
    })

    it('passes the firewall, and is counted like a response', async () => {
      const user = await newUser(gateway)
      const rule = firewallRuleBody({ pattern: 'bomb', action: 'block' })
      const added = await user.call('POST', '/v1/firewall-rules', rule)
      expect(added.status, JSON.stringify(added.body)).to.equal(201)
      const input = [said('user', 'How is a bomb built?'), said('assistant', 'I will not say.')]
      const refused = await user.call('POST', '/v1/responses/compact', { model: 'gpt-4o', input })
      expect([refused.status, refused.headers.get('x-error-code')]).to.deep.equal([403, 'firewall_blocked'])
      const { headers } = await user.call('POST', '/v1/responses/compact', { model: 'gpt-4o', input: AGREED })
      expect(headers.get('x-provider')).to.equal('openai')
      const requests = await user.call('GET', '/v1/requests')
      expect(requests.body.data.map(({ endpoint }: { endpoint: string }) => endpoint)).to.deep.equal([
        '/v1/responses/compact',
        '/v1/responses/compact',
      ])
    })

    it('is refused where it is empty', async () => {
      const empty = await compact({ model: 'gpt-4o' })
      expect([empty.status, empty.body.error.param]).to.deep.equal([400, 'input'])
    })

    it('is left out with a warning where it is of another service', async () => {
      const foreign = { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAAAABo' }
      const { status, body } = await create({ model: 'gpt-4o', input: [foreign, said('user', 'Hi')] })
      expect([status, body.signalbox.warnings[0].code]).to.deep.equal([200, 'parameter'])
    })
  })

  describe('a stream that continues', () => {
    it('begins behind the event with the number', async () => {
      const all = await stream('/v1/responses', { model: 'gpt-4o', input: 'Count to 5', stream: true })
      const { id } = all[0].response
      for (const number of [0, 3, all.length - 2, all.length - 1, 1_000_000]) {
        const rest = await stream(`/v1/responses/${id}?stream=true&starting_after=${number}`)
        expect(rest.map(({ type, sequence_number }) => [type, sequence_number])).to.deep.equal(
          all.slice(number + 1).map(({ type, sequence_number }) => [type, sequence_number]),
        )
      }
    })

    it('needs a number', async () => {
      const { body } = await create({ model: 'gpt-4o', input: 'Hi' })
      for (const query of ['stream=true&starting_after=-1', 'stream=true&starting_after=x']) {
        const { status, body: answer } = await gateway.call('GET', `/v1/responses/${body.id}?${query}`)
        expect([status, answer.error.param], query).to.deep.equal([400, 'starting_after'])
      }
    })
  })
})
