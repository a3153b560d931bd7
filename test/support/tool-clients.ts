import Anthropic from '@anthropic-ai/sdk'
import type OpenAI from 'openai'
import { type RunningGateway, startGateway } from './gateway.ts'
import { chunk, completion, type Script } from './scripted-provider.ts'

/** A tool call of a reply: the name and the arguments. */
export type NamedCall = readonly [name: string, args: object | string]

/** What an official client reads of a reply. */
export interface ReadReply {
  readonly calls: readonly (readonly [name: string, args: unknown])[]
  /** Why the reply ended, in the client's words. */
  readonly finish: string | null | undefined
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: extension fields
  readonly body: any
}

/** An earlier call with its result. */
export interface EarlierResult {
  readonly name: string
  readonly args?: object
  readonly result: string
}

export interface ToolQuestion {
  readonly key: string
  readonly streamed?: boolean
  readonly tools?: readonly string[]
  readonly earlier?: readonly EarlierResult[]
  /** The name of a tool that must be called. */
  readonly forced?: string
  readonly model?: string
  readonly text?: string
}

type AskWithTools = (gateway: RunningGateway, question: ToolQuestion) => Promise<ReadReply>

const USUAL = { model: 'gpt-4o', text: 'Go' }
const SCHEMA = { type: 'object' as const, properties: { path: { type: 'string' } } }
const HEADERS = { 'x-include-trace': 'true', 'x-response-form': 'openai' }
const idOf = (index: number) => `call_${index}`
const argsOf = ({ args = {} }: EarlierResult) => JSON.stringify(args)

const chat: AskWithTools = async (gateway, question) => {
  const { key, streamed, tools = [], earlier = [], forced, model, text } = { ...USUAL, ...question }
  const body: OpenAI.ChatCompletionCreateParamsNonStreaming = {
    model,
    messages: [
      { role: 'user', content: text },
      ...earlier.flatMap((call, index): OpenAI.ChatCompletionMessageParam[] => [
        {
          role: 'assistant',
          tool_calls: [
            { id: idOf(index), type: 'function', function: { name: call.name, arguments: argsOf(call) } },
          ],
        },
        { role: 'tool', tool_call_id: idOf(index), content: call.result },
      ]),
    ],
    ...(tools.length > 0 && {
      tools: tools.map((name) => ({ type: 'function', function: { name, parameters: SCHEMA } })),
    }),
    ...(forced && { tool_choice: { type: 'function', function: { name: forced } } }),
  }
  const { completions } = gateway.openai(key).chat
  const reply = await (streamed
    ? completions.stream({ ...body, stream: true }, { headers: HEADERS }).finalChatCompletion()
    : completions.create(body, { headers: HEADERS }))
  const [choice] = reply.choices
  return {
    calls: (choice?.message.tool_calls ?? []).map((call) =>
      call.type === 'function'
        ? [call.function.name, JSON.parse(call.function.arguments || '{}')]
        : [call.custom.name, call.custom.input],
    ),
    finish: choice?.finish_reason,
    text: choice?.message.content ?? '',
    body: reply,
  }
}

const messages: AskWithTools = async (gateway, question) => {
  const { key, streamed, tools = [], earlier = [], forced, model, text } = { ...USUAL, ...question }
  const client = new Anthropic({ baseURL: gateway.url, apiKey: key, maxRetries: 0 })
  const body: Anthropic.MessageCreateParamsNonStreaming = {
    model,
    max_tokens: 1000,
    messages: [
      { role: 'user', content: text },
      ...earlier.flatMap(({ name, args = {}, result }, index): Anthropic.MessageParam[] => [
        { role: 'assistant', content: [{ type: 'tool_use', id: idOf(index), name, input: args }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: idOf(index), content: result }] },
      ]),
    ],
    ...(tools.length > 0 && { tools: tools.map((name) => ({ name, input_schema: SCHEMA })) }),
    ...(forced && { tool_choice: { type: 'tool', name: forced } }),
  }
  const reply = await (streamed
    ? client.messages.stream(body, { headers: HEADERS }).finalMessage()
    : client.messages.create(body, { headers: HEADERS }))
  return {
    calls: reply.content.flatMap((block) =>
      block.type === 'tool_use' ? [[block.name, block.input] as const] : [],
    ),
    finish: reply.stop_reason,
    text: reply.content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
    body: reply,
  }
}

const responses: AskWithTools = async (gateway, question) => {
  const { key, streamed, tools = [], earlier = [], forced, model, text } = { ...USUAL, ...question }
  const body: OpenAI.Responses.ResponseCreateParamsNonStreaming = {
    model,
    input: [
      { role: 'user', content: text },
      ...earlier.flatMap((call, index): OpenAI.Responses.ResponseInputItem[] => [
        { type: 'function_call', call_id: idOf(index), name: call.name, arguments: argsOf(call) },
        { type: 'function_call_output', call_id: idOf(index), output: call.result },
      ]),
    ],
    ...(tools.length > 0 && {
      tools: tools.map((name) => ({ type: 'function', name, parameters: SCHEMA, strict: false })),
    }),
    ...(forced && { tool_choice: { type: 'function', name: forced } }),
  }
  const client = gateway.openai(key).responses
  const reply = await (streamed
    ? readStreamedResponse(await client.create({ ...body, stream: true }, { headers: HEADERS }))
    : client.create(body, { headers: HEADERS }))
  return {
    calls: reply.output.flatMap((item) =>
      item.type === 'function_call' ? [[item.name, JSON.parse(item.arguments || '{}')] as const] : [],
    ),
    finish: reply.status,
    text: reply.output
      .flatMap((item) => (item.type === 'message' ? item.content : []))
      .map((part) => (part.type === 'output_text' ? part.text : ''))
      .join(''),
    body: reply,
  }
}

/** The SDK's helper for streams hides the message of an error before the first event. */
async function readStreamedResponse(
  events: AsyncIterable<OpenAI.Responses.ResponseStreamEvent>,
): Promise<OpenAI.Responses.Response> {
  for await (const event of events) {
    if (event.type === 'response.completed') return event.response
    if (event.type === 'response.failed') throw new Error(event.response.error?.message)
    if (event.type === 'error') throw new Error(event.message)
  }
  throw new Error('The stream has no end.')
}

/** The official clients of all three APIs, and their words for replies that call tools, or do not. */
export const TOOL_CLIENTS = {
  'chat completions': { ask: chat, calls: 'tool_calls', stop: 'stop' },
  messages: { ask: messages, calls: 'tool_use', stop: 'end_turn' },
  responses: { ask: responses, calls: 'completed', stop: 'completed' },
} as const

/** All of them, with whole replies and with streams. */
export const TOOL_CLIENT_WAYS = Object.entries(TOOL_CLIENTS).flatMap(([name, client]) =>
  [false, true].map((streamed) => ({
    ...client,
    streamed,
    way: `${name}, ${streamed ? 'streamed' : 'whole'}`,
  })),
)

/** What a provider sends for calls of tools, whole and streamed, with arguments in pieces. */
export function scriptCalls(calls: readonly NamedCall[], text = ''): Script {
  const texts = calls.map(([, args]) => (typeof args === 'string' ? args : JSON.stringify(args)))
  const tool_calls = calls.map(([name], index) => ({
    ...{ id: idOf(index), type: 'function', function: { name, arguments: texts[index] } },
  }))
  const whole = completion({ content: text || null, tool_calls })
  whole.choices[0]!.finish_reason = 'tool_calls'
  const chunks = [
    chunk({ role: 'assistant', content: text }),
    ...calls.map(([name], index) =>
      chunk({
        tool_calls: [{ index, id: idOf(index), type: 'function', function: { name, arguments: '' } }],
      }),
    ),
    // The arguments of parallel calls arrive by turns.
    ...[0, 1].flatMap((half) =>
      calls.map((_, index) => {
        const json = texts[index] ?? ''
        const middle = Math.ceil(json.length / 2)
        const piece = half === 0 ? json.slice(0, middle) : json.slice(middle)
        return chunk({ tool_calls: [{ index, function: { arguments: piece } }] })
      }),
    ),
    chunk({}, 'tool_calls'),
  ]
  return { body: whole, chunks }
}

/** Starts a gateway for the tests of a `describe`, and prepares each of them. */
export function useGateway(
  environment: () => Promise<Record<string, string>>,
  prepare: (gateway: RunningGateway) => Promise<void>,
): () => RunningGateway {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway(await environment())
  })
  after(() => gateway?.stop())
  beforeEach(() => prepare(gateway))
  return () => gateway
}
