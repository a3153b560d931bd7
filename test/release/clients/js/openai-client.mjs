// OpenAI's SDK.
import assert from 'node:assert/strict'
import OpenAI from 'openai'
import {
  API_KEY,
  BASE_URL,
  CITY,
  createCounter,
  IMAGE_URL,
  LONG_NAME,
  LOOP,
  needImages,
  rejects,
  runCases,
} from './cases.mjs'

const client = new OpenAI({ baseURL: `${BASE_URL}/v1`, apiKey: API_KEY, maxRetries: 0 })

const tools = ['get_weather', 'get_time'].map((name) => ({
  type: 'function',
  function: { name, description: name, parameters: CITY },
}))
const responsesTools = tools.map((tool) => ({ type: 'function', strict: false, ...tool.function }))
const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, degrees: { type: 'integer' } },
  required: ['city', 'degrees'],
  additionalProperties: false,
}

const chat = (model, content, more = {}) =>
  client.chat.completions.create({ model, messages: [{ role: 'user', content }], ...more })

await runCases('openai', {
  async text(model) {
    const { choices } = await chat(model, 'Hello')
    assert.match(choices[0].message.content, /Hello/)
    assert.equal(choices[0].finish_reason, 'stop')
  },
  async stream(model) {
    const messages = [{ role: 'user', content: 'Hello' }]
    const stream = client.chat.completions.stream({
      model,
      messages,
      stream_options: { include_usage: true },
    })
    const { choices, usage } = await stream.finalChatCompletion()
    assert.match(choices[0].message.content, /Hello/)
    assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)
  },
  async tool(model) {
    const { message, finish_reason } = (await chat(model, 'Use get_weather', { tools })).choices[0]
    assert.equal(finish_reason, 'tool_calls')
    assert.deepEqual(
      message.tool_calls.map((call) => call.function.name),
      ['get_weather'],
    )
    assert.ok('city' in JSON.parse(message.tool_calls[0].function.arguments))
  },
  async 'parallel tools'(model) {
    const { message } = (await chat(model, 'Use a tool, parallel', { tools })).choices[0]
    assert.equal(new Set(message.tool_calls.map(({ id }) => id)).size, 2)
  },
  async 'forced tool'(model) {
    const tool_choice = { type: 'function', function: { name: 'get_time' } }
    const { message } = (await chat(model, 'Hello', { tools, tool_choice })).choices[0]
    assert.equal(message.tool_calls[0].function.name, 'get_time')
  },
  async 'tool result'(model) {
    const runner = client.chat.completions.runTools({
      model,
      messages: [{ role: 'user', content: 'Use get_weather' }],
      tools: [
        { type: 'function', function: { ...tools[0].function, parse: JSON.parse, function: () => 'rain' } },
      ],
    })
    assert.match(await runner.finalContent(), /rain/)
  },
  async 'tool loop'(model) {
    for (const stream of [false, true]) {
      const counter = createCounter()
      const runner = client.chat.completions.runTools({
        model,
        stream,
        messages: [{ role: 'user', content: `Use get_weather ${LOOP}` }],
        tools: [
          {
            type: 'function',
            function: { ...tools[0].function, parse: JSON.parse, function: counter.run },
          },
        ],
      })
      assert.match(await runner.finalContent(), /call 3/)
      assert.equal(counter.count(), 3)
    }
  },
  async 'tool names'(model) {
    const tool = { type: 'function', function: { name: LONG_NAME, description: 'Finds', parameters: CITY } }
    const first = (await chat(model, 'Use the tool', { tools: [tool] })).choices[0].message
    assert.equal(first.tool_calls[0].function.name, LONG_NAME)
    const messages = [
      { role: 'user', content: 'Use the tool' },
      first,
      { role: 'tool', tool_call_id: first.tool_calls[0].id, content: 'nothing found' },
    ]
    const { choices } = await client.chat.completions.create({ model, messages, tools: [tool] })
    assert.match(choices[0].message.content, /nothing found/)
  },
  async 'empty arguments'(model) {
    const bell = { type: 'function', function: { name: 'ring_bell', description: 'Rings' } }
    const stream = client.chat.completions.stream({
      model,
      tools: [bell],
      messages: [{ role: 'user', content: 'Use ring_bell' }],
    })
    const { choices } = await stream.finalChatCompletion()
    assert.deepEqual(JSON.parse(choices[0].message.tool_calls[0].function.arguments), {})
  },
  async comments(model) {
    const messages = [{ role: 'user', content: 'Hello [[sandbox:comments crlf]]' }]
    const stream = client.chat.completions.stream({ model, messages })
    assert.match(await stream.finalContent(), /Hello/)
  },
  async 'structured output'(model) {
    const format = { type: 'json_schema', name: 'answer', strict: true, schema }
    const { choices } = await chat(model, 'Basel?', {
      response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } },
    })
    assert.deepEqual(Object.keys(JSON.parse(choices[0].message.content)).sort(), ['city', 'degrees'])
    const { output_parsed } = await client.responses.parse({ model, input: 'Basel?', text: { format } })
    assert.deepEqual(Object.keys(output_parsed).sort(), ['city', 'degrees'])
  },
  async image(model) {
    needImages(model)
    const { choices } = await chat(model, [
      { type: 'text', text: 'What is this?' },
      { type: 'image_url', image_url: { url: IMAGE_URL } },
    ])
    assert.match(choices[0].message.content, /What is this/)
  },
  async errors(model) {
    const invalid = await rejects(chat(model, 'Hello', { temperature: 7 }), OpenAI.BadRequestError)
    assert.equal(invalid.param, 'temperature')
    const blocked = await rejects(chat(model, 'forbidden'), OpenAI.PermissionDeniedError)
    assert.match(blocked.message, /blocked by firewall rule/)
    await rejects(chat(model, 'Hi [[sandbox:status=429]]'), OpenAI.RateLimitError)
    await rejects(chat('no-such-model', 'Hello'), OpenAI.NotFoundError)
    const long = await rejects(chat(model, 'Hi [[sandbox:error=overflow]]'), OpenAI.BadRequestError)
    assert.equal(long.code, 'context_length_exceeded')
    const stream = client.responses.stream({ model, input: 'Hi [[sandbox:error=overflow]]' })
    const { status, error } = await stream.finalResponse()
    assert.deepEqual([status, error.code], ['failed', 'context_length_exceeded'])
    const broken = await client.responses.stream({ model, input: 'Hi [[sandbox:cut=6]]' }).finalResponse()
    assert.equal(broken.status, 'failed')
    const { id } = await client.responses.create({ model, input: 'Hello' })
    await rejects(client.responses.cancel(id), OpenAI.BadRequestError)
  },
  async cancel(model) {
    const stream = await chat(model, 'Hi [[sandbox:token-delay=20]]', { stream: true })
    for await (const _ of stream) break
    assert.ok(stream.controller.signal.aborted)
    const hanging = client.chat.completions.create(
      { model, messages: [{ role: 'user', content: 'Hi [[sandbox:hang]]' }] },
      { timeout: 300 },
    )
    await rejects(hanging, OpenAI.APIConnectionTimeoutError)
  },
  async responses(model) {
    const response = await client.responses.create({ model, input: 'Hello', instructions: 'Be brief.' })
    assert.match(response.output_text, /Hello/)
  },
  async 'responses stream'(model) {
    const response = await client.responses.stream({ model, input: 'Hello' }).finalResponse()
    assert.match(response.output_text, /Hello/)
  },
  async 'responses tools'(model) {
    const first = await client.responses.create({ model, input: 'Use get_weather', tools: responsesTools })
    const call = first.output.find(({ type }) => type === 'function_call')
    assert.equal(call.name, 'get_weather')
    const second = await client.responses.create({
      model,
      input: [{ type: 'function_call_output', call_id: call.call_id, output: 'rain in Basel' }],
      previous_response_id: first.id,
      tools: responsesTools,
    })
    assert.match(second.output_text, /rain in Basel/)
  },
  async 'responses reasoning'(model) {
    const counter = createCounter()
    let input = [{ role: 'user', content: `Use get_weather ${LOOP}` }]
    for (let turn = 0; turn < 4; turn++) {
      const { output, output_text } = await client.responses
        .stream({
          model,
          input,
          tools: responsesTools,
          store: false,
          reasoning: { effort: 'low', summary: 'auto' },
          include: ['reasoning.encrypted_content'],
        })
        .finalResponse()
      const calls = output.filter(({ type }) => type === 'function_call')
      const results = calls.map(({ call_id }) => ({
        type: 'function_call_output',
        call_id,
        output: counter.run(),
      }))
      if (results.length === 0) assert.match(output_text, /call 3/)
      input = [...input, ...output, ...results]
    }
    assert.equal(counter.count(), 3)
  },
  async 'responses image result'(model) {
    needImages(model)
    const first = await client.responses.create({ model, input: 'Use get_weather', tools: responsesTools })
    const call = first.output.find(({ type }) => type === 'function_call')
    const image = { type: 'input_image', detail: 'auto', image_url: IMAGE_URL }
    const output = [{ type: 'input_text', text: 'a picture' }, image]
    const { output_text } = await client.responses.create({
      model,
      input: [
        { role: 'user', content: 'Use get_weather' },
        ...first.output,
        { type: 'function_call_output', call_id: call.call_id, output },
      ],
      tools: responsesTools,
    })
    assert.match(output_text, /a picture/)
  },
  async metadata(model) {
    const metadata = { provider: 'acme', tenant: 't' }
    const response = await client.responses.create({ model, input: 'Hello', metadata })
    assert.equal(response.metadata.provider, 'acme')
    assert.equal(response.metadata.tenant, 't')
  },
  async chain(model) {
    const { id } = await client.responses.create({ model, input: 'I am Ada' })
    const second = await client.responses.create({ model, input: 'Who am I?', previous_response_id: id })
    assert.equal(second.previous_response_id, id)
    assert.equal((await client.responses.retrieve(second.id)).output_text, second.output_text)
  },
})
