import type { ChatRequest } from '../../core/contract/chat.ts'
import type { Model, ParameterChange, ProviderRequest, Target } from '../../core/contract/provider.ts'
import { buildChatHeaders } from '../chat-format/request.ts'
import { applyAllowedTools } from '../chat-format/tools.ts'
import { clampOutputLimit, findChangedFields, outputLimitOf } from '../shared/changed-fields.ts'
import { asNumber, asString } from '../shared/fields.ts'
import { findOmittedFields, isSentIn } from '../shared/omitted-fields.ts'
import { type MediaPlaces, placeMedia, TEXT_RESULTS } from '../shared/place-media.ts'
import { toContentPart, toDeepSeekMessages } from './messages.ts'
import { toCurrentModel, toDeepSeekReasoning } from './reasoning.ts'
import { toDeepSeekResponseFormat, withFormatInstruction } from './response-format.ts'
import { toDeepSeekToolChoice, toDeepSeekTools } from './tools.ts'
import type { DeepSeekBody } from './wire.ts'

/**
 * Builds the request field by field (docs/providers.md, "Parameters" and "DeepSeek requests"). Throws a
 * `GatewayError` for content that DeepSeek does not support.
 */
export function buildDeepSeekRequest(request: ChatRequest, target: Target): ProviderRequest {
  const { messages, omitted } = placeMedia(request.messages, MEDIA_PLACES, target)
  const body = buildBody({ ...request, messages }, target)
  return {
    path: '/chat/completions',
    headers: buildChatHeaders(request.stream === true),
    body: JSON.stringify(body),
    omitted: [
      ...omitted,
      ...findOmittedFields(request, isSentIn(body, RENAMED_FIELDS), 'user'),
      ...(request.tools?.some((tool) => tool.function?.strict === true) ? ['strict in tools'] : []),
    ],
    changed: findChanges(request, body),
  }
}

const MEDIA_PLACES: MediaPlaces = { results: TEXT_RESULTS, check: toContentPart }

function findChanges(request: ChatRequest, body: DeepSeekBody): readonly ParameterChange[] {
  const changes = findChangedFields(request, {
    top_p: body.top_p,
    [outputLimitOf(request).field]: body.max_tokens,
    reasoning_effort: body.reasoning_effort,
  })
  return request.response_format?.type === 'json_schema' ? [...changes, JSON_SCHEMA_CHANGE] : changes
}

const JSON_SCHEMA_CHANGE: ParameterChange = {
  param: 'response_format',
  from: 'json_schema',
  to: 'json_object, with the schema in the prompt',
  reason: 'deepseek does not enforce schemas',
}

const RENAMED_FIELDS = { max_completion_tokens: ['max_tokens'], reasoning_effort: ['thinking'] }

function buildBody(request: ChatRequest, target: Target): DeepSeekBody {
  const chosen = applyAllowedTools(request)
  const tools = toDeepSeekTools(chosen.tools)
  const thinking = toDeepSeekReasoning(request, target)
  const isThinking = thinking.thinking?.type !== 'disabled'
  return {
    model: toCurrentModel(target.model),
    messages: toDeepSeekMessages(withFormatInstruction(request)),
    stream: request.stream ? true : undefined,
    stream_options: request.stream ? { include_usage: true } : undefined,
    temperature: isThinking ? undefined : (request.temperature ?? undefined),
    top_p: toTopP(request.top_p ?? undefined, isThinking, target.entry),
    max_tokens: clampOutputLimit(request, target.entry),
    stop: request.stop ?? undefined,
    response_format: toDeepSeekResponseFormat(request.response_format),
    tools,
    tool_choice: tools && toDeepSeekToolChoice(chosen.tool_choice),
    logprobs: request.logprobs === true ? true : undefined,
    top_logprobs: asNumber(request.top_logprobs),
    ...thinking,
    user_id: (request.user ?? asString(request.safety_identifier)) || undefined,
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
