// OpenAI's Agents SDK, with the Responses API, its default, and with chat completions.
import assert from 'node:assert/strict'
import {
  Agent,
  handoff,
  MCPServerStdio,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  run,
  setTracingDisabled,
  tool,
} from '@openai/agents'
import OpenAI from 'openai'
import { z } from 'zod'
import {
  API_KEY,
  BASE_URL,
  createCounter,
  IMAGE_URL,
  LONG_NAME,
  LOOP,
  MCP_SERVER,
  needImages,
  rejects,
  runCases,
} from './cases.mjs'

setTracingDisabled(true)
const client = new OpenAI({ baseURL: `${BASE_URL}/v1`, apiKey: API_KEY, maxRetries: 0 })

const parameters = z.object({ city: z.string() })
const weather = tool({
  name: 'get_weather',
  description: 'The weather',
  parameters,
  execute: async () => 'rain in Basel',
})
const time = tool({ name: 'get_time', description: 'The time', parameters, execute: async () => 'noon' })
const tools = [weather, time]
const Answer = z.object({ city: z.string(), degrees: z.number().int() })

const models = { 'openai-agents': OpenAIResponsesModel, 'openai-agents, chat': OpenAIChatCompletionsModel }

for (const [name, Model] of Object.entries(models)) {
  const agent = (model, more = {}) => new Agent({ name: 'Helper', model: new Model(client, model), ...more })

  await runCases(name, {
    async text(model) {
      const { finalOutput } = await run(agent(model, { instructions: 'Be brief.' }), 'Hello')
      assert.match(finalOutput, /Hello/)
    },
    async stream(model) {
      const result = await run(agent(model), 'Hello', { stream: true })
      let text = ''
      for await (const piece of result.toTextStream()) text += piece
      await result.completed
      assert.match(text, /Hello/)
    },
    async 'tool result'(model) {
      const { finalOutput } = await run(agent(model, { tools }), 'Use get_weather')
      assert.match(finalOutput, /rain in Basel/)
    },
    async 'tool loop'(model) {
      const modelSettings = { reasoning: { effort: 'low' } }
      for (const stream of [false, true]) {
        const counter = createCounter()
        const counting = tool({ name: 'get_weather', description: 'W', parameters, execute: counter.run })
        const looping = agent(model, { tools: [counting], modelSettings })
        const result = await run(looping, `Use get_weather ${LOOP}`, { stream })
        if (stream) for await (const _ of result.toTextStream());
        await result.completed
        assert.match(result.finalOutput, /call 3/)
        assert.equal(counter.count(), 3)
      }
    },
    async 'tool names'(model) {
      const long = tool({ name: LONG_NAME, description: 'Finds', parameters, execute: () => 'nothing found' })
      const { finalOutput } = await run(agent(model, { tools: [long] }), 'Use the tool')
      assert.match(finalOutput, /nothing found/)
    },
    async 'empty arguments'(model) {
      const bell = tool({
        name: 'ring_bell',
        description: 'Rings',
        parameters: z.object({}),
        execute: (input) => `rang ${JSON.stringify(input)}`,
      })
      const { finalOutput } = await run(agent(model, { tools: [bell] }), 'Use ring_bell')
      assert.match(finalOutput, /rang \{\}/)
    },
    async 'image result'(model) {
      needImages(model)
      const execute = () => [
        { type: 'text', text: 'a picture' },
        { type: 'image', image: IMAGE_URL },
      ]
      const picture = tool({ name: 'get_weather', description: 'W', parameters, execute })
      const { finalOutput } = await run(agent(model, { tools: [picture] }), 'Use get_weather')
      assert.match(finalOutput, /a picture/)
    },
    async mcp(model) {
      const server = new MCPServerStdio({ command: process.execPath, args: [MCP_SERVER] })
      await server.connect()
      try {
        const { finalOutput } = await run(agent(model, { mcpServers: [server] }), 'Use lookup')
        assert.match(finalOutput, /Page .* says hello/)
      } finally {
        await server.close()
      }
    },
    async 'parallel tools'(model) {
      const { finalOutput } = await run(agent(model, { tools }), 'Use a tool, parallel')
      assert.match(finalOutput, /rain in Basel.*noon/s)
    },
    async 'forced tool'(model) {
      const forced = agent(model, { tools, modelSettings: { toolChoice: 'get_time' } })
      assert.match((await run(forced, 'Hello')).finalOutput, /noon/)
    },
    async handoff(model) {
      const expert = new Agent({ name: 'Expert', model: new Model(client, model) })
      const triage = agent(model, { handoffs: [handoff(expert)] })
      const { lastAgent } = await run(triage, 'Use transfer_to_Expert')
      assert.equal(lastAgent.name, 'Expert')
    },
    async 'structured output'(model) {
      const { finalOutput } = await run(agent(model, { outputType: Answer }), 'Basel?')
      Answer.parse(finalOutput)
    },
    async image(model) {
      needImages(model)
      const content = [
        { type: 'input_text', text: 'What is this?' },
        { type: 'input_image', image: IMAGE_URL },
      ]
      const { finalOutput } = await run(agent(model), [{ role: 'user', content }])
      assert.match(finalOutput, /What is this/)
    },
    async errors(model) {
      const blocked = await rejects(run(agent(model), 'forbidden'))
      assert.match(blocked.message, /blocked by firewall rule/)
    },
    async cancel(model) {
      const stop = new AbortController()
      const prompt = 'Hi [[sandbox:token-delay=20]]'
      const result = await run(agent(model), prompt, { stream: true, signal: stop.signal })
      const read = (async () => {
        for await (const _ of result.toTextStream()) stop.abort()
        await result.completed
      })()
      // Some versions reject, others end the stream.
      await read.catch(() => undefined)
      assert.ok(stop.signal.aborted)
    },
    async chain(model) {
      const first = await run(agent(model), 'I am Ada')
      const second = await run(agent(model), [...first.history, { role: 'user', content: 'Who am I?' }])
      assert.match(second.finalOutput, /Who am I/)
      if (Model !== OpenAIResponsesModel) return
      const previousResponseId = first.lastResponseId
      assert.match((await run(agent(model), 'And now?', { previousResponseId })).finalOutput, /And now/)
    },
  })
}
