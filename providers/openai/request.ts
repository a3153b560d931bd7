import type { ChatRequest, Message, ToolCall } from '../../core/contract/chat.ts'
import type { Model, ProviderRequest, Target } from '../../core/contract/provider.ts'
import { chatHeaders } from '../chat-format/request.ts'

/** The client's request as it stands, but for the model's name, the usage report and what the model cannot take. */
export function writeCall(request: ChatRequest, target: Target, apiKey: string): ProviderRequest {
  const messages = withoutForeignFields(request.messages)
  const body: Record<string, unknown> = { ...request, model: target.model, messages }
  // OpenAI takes metadata only with what it stores; here rules match it.
  if (request.store !== true && request.metadata !== undefined) body.metadata = undefined
  if (request.stream) body.stream_options = { ...request.stream_options, include_usage: true }
  if (target.entry?.reasoning) renameTokenLimit(body)
  const omitted = target.entry ? omitUnsupported(body, target.entry) : []
  return {
    path: '/chat/completions',
    headers: chatHeaders(apiKey, request.stream === true),
    body: JSON.stringify(body),
    omitted,
  }
}

/** Reasoning models refuse `max_tokens`, even beside its successor. */
function renameTokenLimit(body: Record<string, unknown>): void {
  body.max_completion_tokens ??= body.max_tokens ?? undefined
  body.max_tokens = undefined
}

const SAMPLING = [
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'logprobs',
  'top_logprobs',
  'logit_bias',
]

/**
 * What answers of other providers carry and clients give back (thoughts, Gemini's signatures): OpenAI would refuse the
 * request for it. The same list when there is none of it.
 */
function withoutForeignFields(messages: readonly Message[]): readonly Message[] {
  const isForeign = ({ reasoning_content, tool_calls }: Message) =>
    reasoning_content !== undefined || tool_calls?.some(({ extra_content }) => extra_content !== undefined)
  return messages.some(isForeign) ? messages.map(withoutForeign) : messages
}

function withoutForeign({ reasoning_content: _, ...message }: Message): Message {
  const tool_calls = message.tool_calls?.map(({ extra_content: _, ...call }) => call as ToolCall)
  return { ...message, ...(tool_calls && { tool_calls }) } as Message
}

/** Setting a field to undefined leaves it out of the JSON, and keeps the object's shape. */
function omitUnsupported(body: Record<string, unknown>, model: Model): readonly string[] {
  const omitted: string[] = []
  const leaveOut = (field: string) => {
    if (body[field] === undefined) return
    if (body[field] !== null) omitted.push(field)
    body[field] = undefined
  }
  if (!model.sampling) SAMPLING.forEach(leaveOut)
  if (!model.reasoning) leaveOut('reasoning_effort')
  return omitted
}
