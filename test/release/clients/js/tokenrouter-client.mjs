// TokenRouter's own SDK: the examples of its README.
import assert from 'node:assert/strict'
import { API_KEY, BASE_URL, CITY, IMAGE_URL, needImages, PNG, rejects, runCases } from './cases.mjs'

const sdk = await import(process.env.TOKENROUTER_MODULE)
const client = new sdk.default({ apiKey: API_KEY, baseUrl: BASE_URL })

const nested = {
  type: 'function',
  function: { name: 'get_weather', description: 'Get the current weather', parameters: CITY },
}
const flat = { type: 'function', ...nested.function }
const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }

const user = (...content) => [{ type: 'message', role: 'user', content }]
const ask = (model, input, more = {}) => client.responses.create({ model, input, ...more })

async function callTool(model, tool) {
  const { id, output } = await ask(model, 'Use get_weather', { tools: [tool] })
  const call = output.find(({ type }) => type === 'function_call')
  assert.equal(call.name, 'get_weather')
  return { id, output, call }
}

await runCases('tokenrouter', {
  async responses(model) {
    const { output_text } = await ask(model, 'Tell me a three sentence bedtime story about a unicorn.')
    assert.match(output_text, /unicorn/)
    const { output_text: haiku } = await ask(model, 'What is the meaning of life?', {
      instructions: 'You are a helpful assistant that always responds in haiku format.',
      max_output_tokens: 1000,
      text: { format: { type: 'text' } },
      tool_choice: 'auto',
      tools: [],
    })
    assert.match(haiku, /meaning of life/)
    const parts = user({ type: 'input_text', text: "What's the weather like today?" })
    assert.match((await ask(model, parts)).output_text, /weather/)
  },
  async 'responses stream'(model) {
    const kinds = []
    let text = ''
    let completed
    for await (const event of await ask(model, 'Write a poem', { stream: true })) {
      kinds.push(event.type)
      if (event.type === 'response.output_text.delta') text += event.delta
      if (event.type === 'response.completed') completed = event.response
    }
    assert.match(text, /Write a poem/)
    assert.equal(completed.output_text, text)
    assert.equal(kinds[0], 'response.created')
  },
  async tool(model) {
    await callTool(model, nested)
    await callTool(model, flat)
    const tool_choice = { type: 'function', function: { name: 'get_weather' } }
    const { output } = await ask(model, 'Hi', { tools: [nested], tool_choice })
    assert.ok(output.some(({ type }) => type === 'function_call'))
  },
  async 'tool result'(model) {
    const { id, output, call } = await callTool(model, nested)
    for (const type of ['tool_result', 'function_result']) {
      const result = { type, tool_call_id: call.call_id, name: call.name, output: 'rain in Basel' }
      const input = [...user({ type: 'input_text', text: 'Use get_weather' }), ...output, result]
      assert.match((await ask(model, input, { tools: [nested] })).output_text, /rain in Basel/)
      const chained = await ask(model, [result], { tools: [nested], previous_response_id: id })
      assert.match(chained.output_text, /rain in Basel/)
    }
  },
  async 'structured output'(model) {
    for (const json_schema of [{ name: 'count', schema, strict: true }, schema]) {
      const text = { format: { type: 'json_schema', json_schema } }
      assert.deepEqual(JSON.parse((await ask(model, 'Count', { text })).output_text), { n: 1 })
    }
    const { output_text } = await ask(model, 'List three benefits of exercise as JSON', {
      text: { format: { type: 'json_object' } },
    })
    JSON.parse(output_text)
  },
  async image(model) {
    needImages(model)
    const image = { type: 'input_image', image_url: { url: IMAGE_URL, detail: 'low' } }
    const { output_text } = await ask(model, user({ type: 'input_text', text: 'What is this?' }, image))
    assert.match(output_text, /What is this/)
  },
  async audio(model) {
    // The others are refused before they are sent: their APIs take no audio.
    const audio = { type: 'input_audio', audio: { data: PNG, format: 'wav' } }
    const hears = /^(gpt|gemini|mistral)/.test(model)
    const answer = ask(model, user({ type: 'input_text', text: 'What is this?' }, audio))
    if (hears) assert.match((await answer).output_text, /What is this/)
    else await rejects(answer, sdk.InvalidRequestError)
    await rejects(ask(model, user({ type: 'input_audio' })), sdk.InvalidRequestError)
  },
  async cancel(model) {
    const { id } = await ask(model, 'Hello')
    const error = await rejects(client.responses.cancel(id), sdk.TokenRouterError)
    assert.equal(error.statusCode, 400)
    assert.match(error.message, /cannot be cancelled/)
  },
  async errors(model) {
    const { default: TokenRouter } = sdk
    const wrong = new TokenRouter({ apiKey: 'tr_wrong', baseUrl: BASE_URL })
    await rejects(wrong.responses.create({ model, input: 'Hi' }), sdk.AuthenticationError)
    const invalid = await rejects(ask(model, 'Hi', { temperature: 7 }), sdk.InvalidRequestError)
    assert.match(invalid.message, /temperature/)
    const blocked = await rejects(ask(model, 'forbidden'), sdk.TokenRouterError)
    assert.match(blocked.message, /blocked by firewall rule/)
  },
  async chain(model) {
    const first = await ask(model, 'My name is Alice', { store: true })
    const second = await ask(model, "What's my name?", { previous_response_id: first.id })
    assert.match(second.output_text, /name/)
    assert.equal((await client.responses.get(first.id)).output_text, first.output_text)
    assert.equal((await client.responses.listInputItems(first.id)).data.length, 1)
    assert.equal((await client.responses.delete(first.id)).deleted, true)
  },
})
