// LangChain and LangGraph, with chat completions, the Responses API and Anthropic's messages.
import assert from 'node:assert/strict'
import { ChatAnthropic } from '@langchain/anthropic'
import { HumanMessage, ToolMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { Annotation, messagesStateReducer, StateGraph } from '@langchain/langgraph'
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt'
import { ChatOpenAI } from '@langchain/openai'
import { createAgent } from 'langchain'
import { z } from 'zod'
import {
  API_KEY,
  BASE_URL,
  createCounter,
  IMAGE_URL,
  LONG_NAME,
  LOOP,
  needImages,
  PNG,
  rejects,
  runCases,
} from './cases.mjs'

const schema = z.object({ city: z.string() })
const weather = tool(() => 'rain in Basel', { name: 'get_weather', description: 'The weather', schema })
const time = tool(() => 'noon', { name: 'get_time', description: 'The time', schema })
const tools = [weather, time]
const Answer = z.object({ city: z.string(), degrees: z.number().int() })

const openai = (useResponsesApi) => (model) =>
  new ChatOpenAI({
    model,
    apiKey: API_KEY,
    maxRetries: 0,
    useResponsesApi,
    configuration: { baseURL: `${BASE_URL}/v1` },
  })

const clients = {
  langchain: openai(false),
  'langchain, responses': openai(true),
  'langchain, anthropic': (model) =>
    new ChatAnthropic({ model, apiKey: API_KEY, maxRetries: 0, maxTokens: 2000, anthropicApiUrl: BASE_URL }),
}

for (const [name, chat] of Object.entries(clients)) {
  await runCases(name, {
    async text(model) {
      const { text, usage_metadata } = await chat(model).invoke('Hello')
      assert.match(text, /Hello/)
      assert.ok(usage_metadata.output_tokens > 0)
    },
    async stream(model) {
      let all
      for await (const chunk of await chat(model).stream('Hello')) all = all?.concat(chunk) ?? chunk
      assert.match(all.text, /Hello/)
      assert.ok(all.usage_metadata.output_tokens > 0)
    },
    async tool(model) {
      const { tool_calls } = await chat(model).bindTools(tools).invoke('Use get_weather')
      assert.deepEqual(
        tool_calls.map(({ name }) => name),
        ['get_weather'],
      )
    },
    async 'parallel tools'(model) {
      const { tool_calls } = await chat(model).bindTools(tools).invoke('Use a tool, parallel')
      assert.equal(new Set(tool_calls.map(({ id }) => id)).size, 2)
    },
    async 'forced tool'(model) {
      // LangChain sends no "any" to the Responses API.
      for (const tool_choice of name.endsWith('responses') ? ['get_time'] : ['get_time', 'any']) {
        const { tool_calls } = await chat(model).bindTools(tools, { tool_choice }).invoke('Hello')
        assert.equal(tool_calls.length, 1)
      }
    },
    async 'tool result'(model) {
      const bound = chat(model).bindTools(tools)
      const question = new HumanMessage('Use get_weather')
      const first = await bound.invoke([question])
      const { id } = first.tool_calls[0]
      const result = new ToolMessage({ content: 'rain in Basel', tool_call_id: id })
      assert.match((await bound.invoke([question, first, result])).text, /rain in Basel/)
    },
    async 'tool loop'(model) {
      const counter = createCounter()
      const count = tool(counter.run, { name: 'get_weather', description: 'The weather', schema })
      const agent = createAgent({ model: chat(model), tools: [count] })
      const { messages } = await agent.invoke({ messages: [new HumanMessage(`Use get_weather ${LOOP}`)] })
      assert.match(messages.at(-1).text, /call 3/)
      assert.equal(counter.count(), 3)
    },
    async 'tool names'(model) {
      const find = tool(() => 'nothing found', { name: LONG_NAME, description: 'Finds', schema })
      const agent = createAgent({ model: chat(model), tools: [find] })
      const { messages } = await agent.invoke({ messages: [new HumanMessage('Use the tool')] })
      assert.match(messages.at(-1).text, /nothing found/)
    },
    async 'image result'(model) {
      needImages(model)
      const bound = chat(model).bindTools(tools)
      const question = new HumanMessage('Use get_weather')
      const first = await bound.invoke([question])
      const picture = { type: 'image', source_type: 'base64', data: PNG, mime_type: 'image/png' }
      const content = [{ type: 'text', text: 'a picture' }, picture]
      const result = new ToolMessage({ content, tool_call_id: first.tool_calls[0].id })
      assert.match((await bound.invoke([question, first, result])).text, /a picture/)
    },
    async 'structured output'(model) {
      for (const method of ['functionCalling', 'jsonSchema'])
        Answer.parse(await chat(model).withStructuredOutput(Answer, { method }).invoke('Basel?'))
    },
    async image(model) {
      needImages(model)
      const content = [
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url: IMAGE_URL } },
      ]
      assert.match((await chat(model).invoke([new HumanMessage({ content })])).text, /What is this/)
    },
    async errors(model) {
      const blocked = await rejects(chat(model).invoke('forbidden'))
      assert.match(blocked.message, /blocked by firewall rule/)
      const limited = await rejects(chat(model).invoke('Hi [[sandbox:status=429]]'))
      assert.equal(limited.status, 429)
    },
    async cancel(model) {
      const stop = new AbortController()
      const stream = await chat(model).stream('Hi [[sandbox:token-delay=20]]', { signal: stop.signal })
      const read = (async () => {
        for await (const _ of stream) stop.abort()
      })()
      await rejects(read)
    },
    async agent(model) {
      const agent = createAgent({ model: chat(model), tools })
      const { messages } = await agent.invoke({ messages: [new HumanMessage('Use get_weather')] })
      assert.match(messages.at(-1).text, /rain in Basel/)
    },
    async graph(model) {
      const State = Annotation.Root({ messages: Annotation({ reducer: messagesStateReducer }) })
      const bound = chat(model).bindTools(tools)
      const graph = new StateGraph(State)
        .addNode('model', async ({ messages }) => ({ messages: [await bound.invoke(messages)] }))
        .addNode('tools', new ToolNode(tools))
        .addEdge('__start__', 'model')
        .addConditionalEdges('model', toolsCondition)
        .addEdge('tools', 'model')
        .compile()
      const { messages } = await graph.invoke({ messages: [new HumanMessage('Use get_weather')] })
      assert.match(messages.at(-1).text, /rain in Basel/)
    },
  })
}
