// Vercel's AI SDK, with its providers for OpenAI's chat and responses, OpenAI-compatible APIs and Anthropic.
import assert from 'node:assert/strict'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createMCPClient } from '@ai-sdk/mcp'
import { Experimental_StdioMCPTransport as StdioTransport } from '@ai-sdk/mcp/mcp-stdio'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { APICallError, generateObject, generateText, stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'
import {
  API_KEY,
  BASE_URL,
  createCounter,
  LONG_NAME,
  LOOP,
  MCP_SERVER,
  needImages,
  PNG,
  rejects,
  runCases,
} from './cases.mjs'

const options = { baseURL: `${BASE_URL}/v1`, apiKey: API_KEY }
const openai = createOpenAI(options)
const compatible = createOpenAICompatible({
  ...options,
  name: 'signalbox',
  includeUsage: true,
  supportsStructuredOutputs: true,
})

const providers = {
  'ai-sdk/openai chat': (model) => openai.chat(model),
  'ai-sdk/openai responses': (model) => openai.responses(model),
  'ai-sdk/openai-compatible': (model) => compatible(model),
  'ai-sdk/anthropic': createAnthropic(options),
}

const inputSchema = z.object({ city: z.string() })
const weather = tool({
  description: 'The weather in a city',
  inputSchema,
  execute: async () => 'rain in Basel',
})
const time = tool({ description: 'The time', inputSchema })
const tools = { get_weather: weather, get_time: time }
const Answer = z.object({ city: z.string(), degrees: z.number().int() })

/** Reasoning in the words of each provider package. */
const reasoning = {
  openai: { reasoningEffort: 'low', reasoningSummary: 'auto', forceReasoning: true },
  signalbox: { reasoningEffort: 'low' },
  anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } },
}

/** Errors of streams are reported here by default, which would look like output. */
const onError = () => undefined

for (const [name, toModel] of Object.entries(providers)) {
  const ask = (model, more) => generateText({ model: toModel(model), maxRetries: 0, ...more })

  await runCases(name, {
    async text(model) {
      const { text, finishReason, usage } = await ask(model, { prompt: 'Hello', system: 'Be brief.' })
      assert.match(text, /Hello/)
      assert.equal(finishReason, 'stop')
      assert.ok(usage.outputTokens > 0)
    },
    async stream(model) {
      const result = streamText({ model: toModel(model), prompt: 'Hello', maxRetries: 0 })
      assert.match(await result.text, /Hello/)
      assert.ok((await result.usage).outputTokens > 0)
    },
    async tool(model) {
      const { toolCalls } = await ask(model, { prompt: 'Use get_time', tools })
      assert.equal(toolCalls[0].toolName, 'get_time')
      assert.ok('city' in toolCalls[0].input)
    },
    async 'parallel tools'(model) {
      const { toolCalls } = await ask(model, { prompt: 'Use a tool, parallel', tools })
      assert.equal(new Set(toolCalls.map(({ toolCallId }) => toolCallId)).size, 2)
    },
    async 'forced tool'(model) {
      const toolChoice = { type: 'tool', toolName: 'get_time' }
      const { toolCalls } = await ask(model, { prompt: 'Hello', tools, toolChoice })
      assert.equal(toolCalls[0].toolName, 'get_time')
    },
    async 'tool result'(model) {
      const more = { prompt: 'Use get_weather', tools, stopWhen: stepCountIs(3) }
      assert.match((await ask(model, more)).text, /rain in Basel/)
      const result = streamText({ model: toModel(model), maxRetries: 0, ...more })
      assert.match(await result.text, /rain in Basel/)
    },
    async 'tool loop'(model) {
      for (const generate of [generateText, streamText]) {
        const counter = createCounter()
        const result = await generate({
          model: toModel(model),
          maxRetries: 0,
          prompt: `Use get_weather ${LOOP}`,
          tools: { get_weather: { ...weather, execute: counter.run } },
          stopWhen: stepCountIs(6),
          providerOptions: reasoning,
        })
        assert.match(await result.text, /call 3/)
        assert.equal((await result.steps).length, 4)
      }
    },
    async 'tool names'(model) {
      const long = {
        [LONG_NAME]: tool({ description: 'Finds', inputSchema, execute: () => 'nothing found' }),
      }
      const { text } = await ask(model, { prompt: 'Use the tool', tools: long, stopWhen: stepCountIs(3) })
      assert.match(text, /nothing found/)
    },
    async 'empty arguments'(model) {
      const bell = tool({ description: 'Rings', inputSchema: z.object({}) })
      const result = streamText({
        model: toModel(model),
        prompt: 'Use ring_bell',
        tools: { ring_bell: bell },
        maxRetries: 0,
      })
      assert.deepEqual((await result.toolCalls)[0].input, {})
    },
    async comments(model) {
      const prompt = 'Hello [[sandbox:comments crlf]]'
      assert.match(await streamText({ model: toModel(model), prompt, maxRetries: 0 }).text, /Hello/)
    },
    async 'image result'(model) {
      needImages(model)
      const toModelOutput = () => ({
        type: 'content',
        value: [
          { type: 'text', text: 'a picture' },
          { type: 'image-data', data: PNG, mediaType: 'image/png' },
        ],
      })
      const picture = tool({ description: 'Weather', inputSchema, execute: () => 'x', toModelOutput })
      const more = { tools: { get_weather: picture }, stopWhen: stepCountIs(3) }
      assert.match((await ask(model, { prompt: 'Use get_weather', ...more })).text, /a picture/)
    },
    async mcp(model) {
      const transport = new StdioTransport({ command: process.execPath, args: [MCP_SERVER] })
      const server = await createMCPClient({ transport })
      try {
        const more = { tools: await server.tools(), stopWhen: stepCountIs(3) }
        assert.match((await ask(model, { prompt: 'Use lookup', ...more })).text, /Page .* says hello/)
      } finally {
        await server.close()
      }
    },
    async 'structured output'(model) {
      const { object } = await generateObject({
        model: toModel(model),
        schema: Answer,
        prompt: 'Basel?',
        maxRetries: 0,
      })
      Answer.parse(object)
    },
    async image(model) {
      needImages(model)
      const content = [
        { type: 'text', text: 'What is this?' },
        { type: 'image', image: Buffer.from(PNG, 'base64'), mediaType: 'image/png' },
      ]
      assert.match((await ask(model, { messages: [{ role: 'user', content }] })).text, /What is this/)
    },
    async errors(model) {
      const blocked = await rejects(ask(model, { prompt: 'forbidden' }), APICallError)
      assert.equal(blocked.statusCode, 403)
      assert.match(blocked.message, /blocked by firewall rule/)
      const limited = await rejects(ask(model, { prompt: 'Hi [[sandbox:status=429]]' }), APICallError)
      assert.equal(limited.statusCode, 429)
      const unknown = await rejects(ask('no-such-model', { prompt: 'Hi' }), APICallError)
      assert.equal(unknown.statusCode, 404)
      const prompt = 'Hi [[sandbox:error-mid=3]]'
      const broken = streamText({ model: toModel(model), prompt, maxRetries: 0, onError })
      const parts = []
      for await (const part of broken.fullStream) parts.push(part.type)
      assert.ok(parts.includes('error'), parts.join())
    },
    async cancel(model) {
      const stop = new AbortController()
      const prompt = 'Hi [[sandbox:token-delay=20]]'
      const abortSignal = stop.signal
      const result = streamText({ model: toModel(model), prompt, abortSignal, maxRetries: 0, onError })
      const parts = []
      for await (const part of result.fullStream) {
        parts.push(part.type)
        if (part.type === 'text-delta') stop.abort()
      }
      assert.equal(parts.at(-1), 'abort')
    },
  })
}
