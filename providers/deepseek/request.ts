import { createHash } from 'node:crypto'
import type { ChatRequest } from '../../core/contract/chat.ts'
import type { Model, ProviderRequest, Target } from '../../core/contract/provider.ts'
import { chatHeaders, findOmitted, mentionJson } from '../chat-format/request.ts'
import { type FunctionTool, parseNamedChoice, toChatTools } from '../chat-format/tools.ts'
import { asNumber, asObject, asString } from '../shared/fields.ts'
import { writeMessages } from './messages.ts'
import type { ChatBody, Effort, ResponseFormat } from './wire.ts'

/** The request in DeepSeek's words, field by field (docs/providers.md, "Parameters" and "DeepSeek requests"). Throws a `GatewayError` for parts it cannot take. */
export function writeCall(request: ChatRequest, target: Target, apiKey: string): ProviderRequest {
  const format = writeResponseFormat(request.response_format)
  const messages = format?.type === 'json_object' ? mentionJson(request.messages) : request.messages
  const tools = toChatTools(request.tools)?.map(withoutStrict)
  const thinking = writeThinking(request, target)
  const thinks = thinking.thinking?.type !== 'disabled'
  const user = request.user ?? asString(request.safety_identifier)
  const body: ChatBody = {
    model: currentName(target.model),
    messages: writeMessages(messages),
    stream: request.stream ? true : undefined,
    stream_options: request.stream ? { include_usage: true } : undefined,
    temperature: request.temperature ?? undefined,
    top_p: writeTopP(request.top_p ?? undefined, thinks, target.entry),
    max_tokens: request.max_completion_tokens ?? request.max_tokens ?? undefined,
    stop: request.stop ?? undefined,
    response_format: format,
    tools,
    tool_choice: tools && writeToolChoice(request.tool_choice),
    logprobs: request.logprobs === true ? true : undefined,
    top_logprobs: asNumber(request.top_logprobs),
    ...thinking,
    user_id: user === '' ? undefined : writeUserId(user),
  }
  return {
    path: '/chat/completions',
    headers: chatHeaders(apiKey, request.stream === true),
    body: JSON.stringify(body),
    omitted: findOmitted(request, body, RENAMED),
  }
}

const RENAMED = { max_completion_tokens: ['max_tokens'], reasoning_effort: ['thinking'] }

/** Strict tools are taken by the beta address only, and there all have to be (docs/providers.md, "DeepSeek requests"). */
function withoutStrict({ function: { strict: _, ...rest } }: FunctionTool): FunctionTool {
  return { type: 'function', function: rest }
}

/** `top_p` counts in one mode of a model, and is refused in the other (docs/providers.md, "DeepSeek sampling"). */
function writeTopP(topP: number | undefined, thinks: boolean, model: Model | undefined): number | undefined {
  const mode = model?.quirks.top_p
  if (topP === undefined || mode === undefined) return topP
  if (thinks !== (mode === 'thinking')) return undefined
  return thinks ? Math.max(topP, LEAST_WHILE_THINKING) : topP
}

const LEAST_WHILE_THINKING = 0.95

function writeToolChoice(choice: ChatRequest['tool_choice']): ChatBody['tool_choice'] {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return choice
  return parseNamedChoice(choice)
}

/** A JSON schema goes out as it is: routing sends one only to a model that was said to take it. */
function writeResponseFormat(format: ChatRequest['response_format']): ResponseFormat | undefined {
  switch (format?.type) {
    case undefined:
      return undefined
    case 'json_object':
      return { type: 'json_object' }
    case 'json_schema': {
      const schema = asObject(format.json_schema)
      return { type: 'json_schema', json_schema: { ...schema, name: asString(schema.name) } }
    }
    default:
      return { type: 'text' }
  }
}

type Thinking = Pick<ChatBody, 'thinking' | 'reasoning_effort'>

/**
 * Whether and how hard the model thinks (docs/providers.md, "DeepSeek models and modes"): as DeepSeek's own `thinking` or `reasoning_effort` says, else as
 * the retired name says that was asked for, else nothing is sent, and the model thinks.
 */
function writeThinking(request: ChatRequest, target: Target): Thinking {
  const { type } = asObject(request.thinking)
  const effort = request.reasoning_effort
  if (type === 'disabled' || effort === 'none') return OFF
  if (effort != null) return { ...ON, reasoning_effort: EFFORTS[effort] ?? 'high' }
  if (type === 'enabled') return ON
  return RETIRED.get(target.alias ?? target.model) ?? {}
}

/** The name to send: the retired ones live on in their successor. */
function currentName(model: string): string {
  return RETIRED.has(model) ? SUCCESSOR : model
}

const ON: Thinking = { thinking: { type: 'enabled' } }
const OFF: Thinking = { thinking: { type: 'disabled' } }

/** Retired on 2026-07-24: one model's two modes. In the catalogue they are aliases of it. */
const SUCCESSOR = 'deepseek-flash'
const RETIRED = new Map([
  ['deepseek-chat', OFF],
  ['deepseek-reasoner', ON],
])

const EFFORTS: Readonly<Record<string, Effort>> = {
  minimal: 'low',
  low: 'low',
  medium: 'high',
  high: 'high',
  xhigh: 'high',
  max: 'max',
}

/** DeepSeek keeps users apart by an id of up to 512 letters, digits, `_` and `-`; any other name is hashed (docs/providers.md, "Parameters"). */
function writeUserId(user: string): string {
  return VALID.test(user) ? user : createHash('sha256').update(user).digest('base64url')
}

const VALID = /^[A-Za-z0-9_-]{1,512}$/
