// Anthropic's SDK.
import assert from 'node:assert/strict'
import Anthropic from '@anthropic-ai/sdk'
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import {
  API_KEY,
  BASE_URL,
  CITY,
  createCounter,
  LONG_NAME,
  LOOP,
  needImages,
  PNG,
  rejects,
  runCases,
} from './cases.mjs'

const client = new Anthropic({ baseURL: BASE_URL, apiKey: API_KEY, maxRetries: 0 })

const tools = ['get_weather', 'get_time'].map((name) => ({ name, description: name, input_schema: CITY }))
const format = {
  type: 'json_schema',
  schema: { ...CITY, properties: { ...CITY.properties, degrees: { type: 'integer' } } },
}

const body = (model, content, more) => ({
  model,
  max_tokens: 2000,
  messages: [{ role: 'user', content }],
  ...more,
})
const ask = (model, content, more = {}) => client.messages.create(body(model, content, more))
const textOf = ({ content }) => content.map(({ text }) => text ?? '').join('')
const callsOf = ({ content }) => content.filter(({ type }) => type === 'tool_use')

await runCases('anthropic', {
  async text(model) {
    const message = await ask(model, 'Hello', { system: 'Be brief.' })
    assert.match(textOf(message), /Hello/)
    assert.equal(message.stop_reason, 'end_turn')
  },
  async stream(model) {
    const message = await client.messages.stream(body(model, 'Hello')).finalMessage()
    assert.match(textOf(message), /Hello/)
    assert.ok(message.usage.output_tokens > 0)
  },
  async tool(model) {
    const message = await ask(model, 'Use get_weather', { tools })
    assert.equal(message.stop_reason, 'tool_use')
    assert.equal(callsOf(message)[0].name, 'get_weather')
  },
  async 'parallel tools'(model) {
    assert.equal(callsOf(await ask(model, 'Use a tool, parallel', { tools })).length, 2)
  },
  async 'forced tool'(model) {
    for (const tool_choice of [{ type: 'tool', name: 'get_time' }, { type: 'any' }])
      assert.equal(callsOf(await ask(model, 'Hello', { tools, tool_choice })).length, 1)
  },
  async 'tool result'(model) {
    const tool = betaTool({
      name: 'get_weather',
      description: 'The weather',
      inputSchema: CITY,
      run: () => 'rain in Basel',
    })
    const message = await client.beta.messages.toolRunner(body(model, 'Use get_weather', { tools: [tool] }))
    assert.match(textOf(message), /rain in Basel/)
  },
  async 'tool loop'(model) {
    for (const stream of [false, true]) {
      const counter = createCounter()
      const tool = betaTool({
        name: 'get_weather',
        description: 'Weather',
        inputSchema: CITY,
        run: counter.run,
      })
      const thinking = { type: 'enabled', budget_tokens: 1024 }
      const request = body(model, `Use get_weather ${LOOP}`, { tools: [tool], thinking, stream })
      const runner = client.beta.messages.toolRunner(request)
      assert.match(textOf(await runner.runUntilDone()), /call 3/)
      assert.equal(counter.count(), 3)
    }
  },
  async 'tool names'(model) {
    const long = [{ name: LONG_NAME, description: 'Finds', input_schema: CITY }]
    const first = await ask(model, 'Use the tool', { tools: long })
    assert.equal(callsOf(first)[0].name, LONG_NAME)
    const result = { type: 'tool_result', tool_use_id: callsOf(first)[0].id, content: 'nothing found' }
    const messages = [
      { role: 'user', content: 'Use the tool' },
      { role: 'assistant', content: first.content },
      { role: 'user', content: [result] },
    ]
    const second = await client.messages.create({ model, max_tokens: 2000, messages, tools: long })
    assert.match(textOf(second), /nothing found/)
  },
  async 'empty arguments'(model) {
    const bell = [{ name: 'ring_bell', description: 'Rings', input_schema: { type: 'object' } }]
    const stream = client.messages.stream(body(model, 'Use ring_bell', { tools: bell }))
    assert.deepEqual(callsOf(await stream.finalMessage())[0].input, {})
  },
  async comments(model) {
    const stream = client.messages.stream(body(model, 'Hello [[sandbox:comments crlf]]'))
    assert.match(await stream.finalText(), /Hello/)
  },
  async 'image result'(model) {
    needImages(model)
    const source = { type: 'base64', media_type: 'image/png', data: PNG }
    const run = () => [
      { type: 'text', text: 'a picture' },
      { type: 'image', source },
    ]
    const tool = betaTool({ name: 'get_weather', description: 'Weather', inputSchema: CITY, run })
    const message = await client.beta.messages.toolRunner(body(model, 'Use get_weather', { tools: [tool] }))
    assert.match(textOf(message), /a picture/)
  },
  async 'count tokens'(model) {
    const messages = [{ role: 'user', content: 'Hello, how are you today?' }]
    const { input_tokens } = await client.messages.countTokens({ model, messages, tools })
    assert.ok(input_tokens > 10, `${input_tokens}`)
  },
  async 'structured output'(model) {
    const message = await ask(model, 'Basel?', { output_config: { format } })
    assert.ok('city' in JSON.parse(textOf(message)))
  },
  async image(model) {
    needImages(model)
    const source = { type: 'base64', media_type: 'image/png', data: PNG }
    const parts = [
      { type: 'image', source },
      { type: 'text', text: 'What is this?' },
    ]
    assert.match(textOf(await ask(model, parts)), /What is this/)
  },
  async errors(model) {
    const blocked = await rejects(ask(model, 'forbidden'), Anthropic.PermissionDeniedError)
    assert.match(blocked.message, /blocked by firewall rule/)
    await rejects(ask(model, 'Hi [[sandbox:status=429]]'), Anthropic.RateLimitError)
    await rejects(ask('no-such-model', 'Hi'), Anthropic.NotFoundError)
    const long = await rejects(ask(model, 'Hi [[sandbox:error=overflow]]'), Anthropic.BadRequestError)
    assert.match(long.message, /prompt is too long|exceed context limit/)
    const busy = await rejects(ask(model, 'Hi [[sandbox:error=overloaded]]'), Anthropic.APIError)
    assert.deepEqual([busy.status, busy.type], [529, 'overloaded_error'])
    const broken = client.messages.stream(body(model, 'Hi [[sandbox:cut=6]]'))
    assert.equal((await rejects(broken.finalMessage(), Anthropic.APIError)).type, 'api_error')
  },
  async cancel(model) {
    const stream = client.messages.stream(body(model, 'Hi [[sandbox:token-delay=20]]'))
    stream.once('text', () => stream.abort())
    await rejects(stream.finalMessage(), Anthropic.APIUserAbortError)
  },
})
