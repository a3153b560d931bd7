import type { ChatRequest } from '../../core/contract/chat.ts'
import type { Model, ProviderRequest, Target } from '../../core/contract/provider.ts'
import { parseJsonObject } from '../../core/util/json.ts'
import { findOmittedFields } from '../shared/omitted-fields.ts'
import { toAnthropicMessages, toCacheControl } from './messages.ts'
import { toAnthropicReasoning } from './reasoning.ts'
import { toAnthropicResponseFormat } from './response-format.ts'
import { toAnthropicTools } from './tools.ts'
import type { AnthropicBody, AnthropicThinking } from './wire.ts'

/**
 * Builds the request field by field, because Anthropic rejects unknown fields
 * (docs/providers.md, "Parameters" and "Anthropic requests"). Throws a `GatewayError` for content that
 * Anthropic does not support.
 */
export function buildAnthropicRequest(request: ChatRequest, target: Target): ProviderRequest {
  const body = buildBody(request, target)
  return {
    path: '/v1/messages',
    headers: {
      'content-type': 'application/json',
      accept: request.stream ? 'text/event-stream' : 'application/json',
      'anthropic-version': '2023-06-01',
    },
    body: JSON.stringify(body),
    omitted: findOmittedFields(request, (field) => isSent(field, request, body)),
  }
}

function buildBody(request: ChatRequest, { model, entry }: Target): AnthropicBody {
  const { tools, tool_choice } = toAnthropicTools(request, entry)
  const isToolCallForced = tool_choice?.type === 'any' || tool_choice?.type === 'tool'
  const { max_tokens, thinking, effort } = toAnthropicReasoning(request, entry, isToolCallForced)
  const format = toAnthropicResponseFormat(request.response_format)
  return {
    model,
    max_tokens,
    ...toAnthropicMessages(request),
    tools,
    tool_choice,
    thinking,
    output_config: effort || format ? { effort, format } : undefined,
    ...toSamplingFields(request, entry, thinking),
    stop_sequences: toStopSequences(request.stop),
    metadata: toMetadata(request.user),
    service_tier: toServiceTier(request.service_tier),
    cache_control: toCacheControl(request.cache_control),
    stream: request.stream ? true : undefined,
  }
}

/**
 * Models that reject sampling parameters, which all new ones do, and requests with thinking get none.
 * Otherwise the temperature, limited to 0 to 1, or `top_p`, but never both
 * (docs/providers.md, "Anthropic requests").
 */
function toSamplingFields(
  { temperature, top_p }: ChatRequest,
  entry: Model | undefined,
  thinking: AnthropicThinking | undefined,
): Pick<AnthropicBody, 'temperature' | 'top_p'> {
  const isThinking = thinking?.type === 'enabled' || thinking?.type === 'adaptive'
  if (!entry?.sampling || isThinking) return {}
  if (temperature != null) return { temperature: Math.min(Math.max(temperature, 0), 1) }
  return top_p == null ? {} : { top_p }
}

/** Anthropic rejects blank stop sequences. */
function toStopSequences(stop: ChatRequest['stop']): AnthropicBody['stop_sequences'] {
  const sequences = typeof stop === 'string' ? [stop] : (stop ?? [])
  const kept = sequences.filter((sequence) => sequence.trim() !== '')
  return kept.length > 0 ? kept : undefined
}

const MAX_USER_CHARS = 256

/** Sends opaque ids only: JSON in `user` holds more than Anthropic accepts, or should be told. */
function toMetadata(user: string | undefined): AnthropicBody['metadata'] {
  if (!user || user.length > MAX_USER_CHARS || parseJsonObject(user)) return undefined
  return { user_id: user }
}

function toServiceTier(tier: unknown): AnthropicBody['service_tier'] {
  return tier === 'auto' || tier === 'standard_only' ? tier : undefined
}

/** Whether the body carries a field of the request, which for some fields depends on the model. */
function isSent(field: string, { tool_choice }: ChatRequest, body: AnthropicBody): boolean {
  switch (field) {
    case 'temperature':
    case 'top_p':
      return body[field] !== undefined
    case 'tool_choice':
      return !(isForcing(tool_choice) && body.tool_choice?.type === 'auto')
    case 'reasoning_effort':
      return body.thinking !== undefined || body.output_config?.effort !== undefined
    default:
      return ALWAYS_SENT.has(field)
  }
}

const ALWAYS_SENT = new Set(
  `max_tokens max_completion_tokens stop tools parallel_tool_calls response_format cache_control`.split(' '),
)

function isForcing(choice: ChatRequest['tool_choice']): boolean {
  if (typeof choice === 'string') return choice === 'required'
  return choice?.type === 'function'
}
