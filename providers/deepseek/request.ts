import { createHash } from 'node:crypto'
import type { ChatRequest } from '../../core/contract/chat.ts'
import type { Model, ProviderRequest, Target } from '../../core/contract/provider.ts'
import { withJsonInstruction } from '../chat-format/messages.ts'
import { buildChatHeaders } from '../chat-format/request.ts'
import { asNumber, asObject, asString } from '../shared/fields.ts'
import { findOmittedFields, isSentIn } from '../shared/omitted-fields.ts'
import { toDeepSeekMessages } from './messages.ts'
import { toCurrentModel, toDeepSeekReasoning } from './reasoning.ts'
import { toDeepSeekToolChoice, toDeepSeekTools } from './tools.ts'
import type { DeepSeekBody, DeepSeekResponseFormat } from './wire.ts'

/**
 * Builds the request field by field (docs/providers.md, "Parameters" and "DeepSeek requests"). Throws a
 * `GatewayError` for content that DeepSeek does not support.
 */
export function buildDeepSeekRequest(request: ChatRequest, target: Target): ProviderRequest {
  const body = buildBody(request, target)
  return {
    path: '/chat/completions',
    headers: buildChatHeaders(request.stream === true),
    body: JSON.stringify(body),
    omitted: findOmittedFields(request, isSentIn(body, RENAMED_FIELDS)),
  }
}

const RENAMED_FIELDS = { max_completion_tokens: ['max_tokens'], reasoning_effort: ['thinking'] }

function buildBody(request: ChatRequest, target: Target): DeepSeekBody {
  const format = toResponseFormat(request.response_format)
  const messages = format?.type === 'json_object' ? withJsonInstruction(request.messages) : request.messages
  const tools = toDeepSeekTools(request.tools)
  const thinking = toDeepSeekReasoning(request, target)
  const isThinking = thinking.thinking?.type !== 'disabled'
  return {
    model: toCurrentModel(target.model),
    messages: toDeepSeekMessages(messages),
    stream: request.stream ? true : undefined,
    stream_options: request.stream ? { include_usage: true } : undefined,
    temperature: request.temperature ?? undefined,
    top_p: toTopP(request.top_p ?? undefined, isThinking, target.entry),
    max_tokens: request.max_completion_tokens ?? request.max_tokens ?? undefined,
    stop: request.stop ?? undefined,
    response_format: format,
    tools,
    tool_choice: tools && toDeepSeekToolChoice(request.tool_choice),
    logprobs: request.logprobs === true ? true : undefined,
    top_logprobs: asNumber(request.top_logprobs),
    ...thinking,
    user_id: toUserId(request.user ?? asString(request.safety_identifier)),
  }
}

/** Each model supports `top_p` in one mode only (docs/providers.md, "DeepSeek sampling"). */
function toTopP(topP: number | undefined, isThinking: boolean, model: Model | undefined): number | undefined {
  const mode = model?.quirks.top_p
  if (topP === undefined || mode === undefined) return topP
  if (isThinking !== (mode === 'thinking')) return undefined
  return isThinking ? Math.max(topP, MIN_TOP_P_WHILE_THINKING) : topP
}

const MIN_TOP_P_WHILE_THINKING = 0.95

/** A JSON schema is passed through: routing sends one only to models that are configured to support it. */
function toResponseFormat(format: ChatRequest['response_format']): DeepSeekResponseFormat | undefined {
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

/** Hashes names that DeepSeek does not accept as an id (docs/providers.md, "Parameters"). */
function toUserId(user: string): string | undefined {
  if (user === '') return undefined
  return VALID_USER_ID.test(user) ? user : createHash('sha256').update(user).digest('base64url')
}

const VALID_USER_ID = /^[A-Za-z0-9_-]{1,512}$/
