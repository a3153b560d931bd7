import Anthropic from '@anthropic-ai/sdk'
import { expect } from 'chai'
import type OpenAI from 'openai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { MODELS, PROVIDERS, providersAt } from '../support/providers.ts'

const PARAMETERS = { type: 'object' as const, properties: { page: { type: 'string' } }, required: ['page'] }
const PROMPT = 'Use look_up [[sandbox:rounds=3]]'
const MAX_ROUNDS = 10

/** A call that a client got, and what it sends back for the n-th. */
interface Call {
  readonly id: string
  readonly name: string
}
const resultOf = (index: number) => `page ${index + 1}`

/** Runs a loop until the model calls no tool. Resolves with all calls and the last text. */
type RunLoop = (model: string, isStream: boolean) => Promise<{ calls: readonly Call[]; text: string }>

describe('a loop of three turns with tools', function () {
  this.timeout(60_000)
  let sandbox: Sandbox
  let gateway: RunningGateway
  let openai: OpenAI
  let anthropic: Anthropic

  before(async () => {
    sandbox = await startSandbox({})
    gateway = await startGateway(providersAt(sandbox))
    openai = gateway.openai()
    anthropic = new Anthropic({ baseURL: gateway.url, apiKey: gateway.demoKey, maxRetries: 0 })
  })
  after(async () => {
    await gateway?.stop()
    await sandbox?.close()
  })

  const chat: RunLoop = async (model, isStream) => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: PROMPT }]
    const tools: OpenAI.ChatCompletionTool[] = [
      { type: 'function', function: { name: 'look_up', parameters: PARAMETERS } },
    ]
    const calls: Call[] = []
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const body = { model, messages, tools, reasoning_effort: 'low' as const }
      const { choices } = isStream
        ? await openai.chat.completions.stream(body).finalChatCompletion()
        : await openai.chat.completions.create(body)
      const message = choices[0]?.message as OpenAI.ChatCompletionMessage
      if (!message.tool_calls?.length) return { calls, text: message.content ?? '' }
      messages.push(message)
      for (const call of message.tool_calls) {
        messages.push({ role: 'tool', tool_call_id: call.id, content: resultOf(calls.length) })
        calls.push({ id: call.id, name: 'function' in call ? call.function.name : '' })
      }
    }
    throw new Error('The model calls tools without end.')
  }

  const messages: RunLoop = async (model, isStream) => {
    const history: Anthropic.MessageParam[] = [{ role: 'user', content: PROMPT }]
    const tools = [{ name: 'look_up', input_schema: PARAMETERS }]
    const calls: Call[] = []
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const thinking = { type: 'enabled', budget_tokens: 1024 } as const
      const body = { model, max_tokens: 4000, thinking, tools, messages: history }
      const stream = isStream ? anthropic.messages.stream(body) : undefined
      const { content } = stream ? await stream.finalMessage() : await anthropic.messages.create(body)
      const uses = content.filter((block) => block.type === 'tool_use')
      if (uses.length === 0) {
        return { calls, text: content.map((block) => (block.type === 'text' ? block.text : '')).join('') }
      }
      const results = uses.map(({ id, name }) => {
        calls.push({ id, name })
        return { type: 'tool_result' as const, tool_use_id: id, content: resultOf(calls.length - 1) }
      })
      history.push({ role: 'assistant', content }, { role: 'user', content: results })
    }
    throw new Error('The model calls tools without end.')
  }

  /** With the items of the history, or with the id of the response before. */
  const responses = (isChain: boolean): RunLoop => {
    return async (model, isStream) => {
      const tools: OpenAI.Responses.Tool[] = [
        { type: 'function', name: 'look_up', strict: false, parameters: PARAMETERS },
      ]
      let input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: PROMPT }]
      let previous_response_id: string | null = null
      const calls: Call[] = []
      for (let round = 0; round < MAX_ROUNDS; round++) {
        const reasoning = { effort: 'low' } as const
        const body = { model, input, tools, reasoning, previous_response_id }
        const response: OpenAI.Responses.Response = isStream
          ? await openai.responses.stream(body).finalResponse()
          : await openai.responses.create(body)
        const { id, output, output_text } = response
        const items = output.filter((item) => item.type === 'function_call')
        if (items.length === 0) return { calls, text: output_text }
        const results = items.map(({ call_id, name }) => {
          calls.push({ id: call_id, name })
          return { type: 'function_call_output' as const, call_id, output: resultOf(calls.length - 1) }
        })
        input = isChain ? results : [...input, ...(output as typeof input), ...results]
        previous_response_id = isChain ? id : null
      }
      throw new Error('The model calls tools without end.')
    }
  }

  const loops = { chat, messages, responses: responses(false), 'responses, chained': responses(true) }
  for (const [name, run] of Object.entries(loops)) {
    for (const provider of PROVIDERS) {
      for (const isStream of [false, true]) {
        it(`ends with the last result: ${name}, ${provider}${isStream ? ', stream' : ''}`, async () => {
          const { calls, text } = await run(MODELS[provider] ?? '', isStream)
          expect(calls.map((call) => call.name)).to.deep.equal(['look_up', 'look_up', 'look_up'])
          expect(new Set(calls.map(({ id }) => id)).size).to.equal(3)
          expect(text).to.contain(resultOf(2))
        })
      }
    }
  }
})
