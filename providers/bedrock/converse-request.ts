import type { ChatRequest } from '../../core/contract/chat.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import type { ParameterChange, ProviderRequest, Target } from '../../core/contract/provider.ts'
import { limitCacheMarks } from '../anthropic/cache-marks.ts'
import { toAnthropicMessages, toMediaBlocks } from '../anthropic/messages.ts'
import { parseNativeFields } from '../anthropic/native.ts'
import { toAnthropicTools } from '../anthropic/tools.ts'
import type { AnthropicBody } from '../anthropic/wire.ts'
import {
  clampOutputLimit,
  findChangedFields,
  findLostAuthors,
  findOmittedFields,
  isSentIn,
  outputLimitOf,
  type RenamedFields,
} from '../shared/deviations.ts'
import { findNearestEffort } from '../shared/efforts.ts'
import { placeMedia } from '../shared/place-media.ts'
import { toCachePoint, toConverseBlocks, toConverseMessages } from './converse-messages.ts'
import { modelPath } from './model-path.ts'
import { toConverseFormat } from './response-format.ts'

/**
 * Builds a request of Converse from the blocks of Anthropic's format, which has the same parts. Throws a
 * `GatewayError` for content that Converse does not have.
 */
export function buildConverseRequest(request: ChatRequest, target: Target): ProviderRequest {
  const { model, entry } = target
  const { isForModel } = parseNativeFields(request, target)
  const placed = placeMedia(request.messages, { results: RESULT_MEDIA, check: toMediaBlocks }, target)
  const conversation = { ...request, messages: placed.messages }
  const marked = limitCacheMarks({
    model,
    max_tokens: 0,
    ...toAnthropicMessages(conversation, isForModel),
    ...toAnthropicTools(request),
  })
  const { stop } = request
  const isSampling = entry?.sampling !== false
  const effort = toEffort(request, model)
  const inferenceConfig = {
    maxTokens: clampOutputLimit(request, entry),
    temperature: isSampling ? (request.temperature ?? undefined) : undefined,
    topP: isSampling ? (request.top_p ?? undefined) : undefined,
    stopSequences: typeof stop === 'string' ? [stop] : (stop ?? undefined),
  }
  const body: JsonObject = {
    messages: toConverseMessages(marked.messages),
    system: toSystem(marked.system),
    inferenceConfig,
    toolConfig: toToolConfig(marked),
    additionalModelRequestFields: effort?.fields,
    ...toConverseFormat(request, model),
  }
  return {
    path: modelPath(model, request.stream ? 'converse-stream' : 'converse'),
    headers: {
      'content-type': 'application/json',
      accept: request.stream ? 'application/vnd.amazon.eventstream' : 'application/json',
    },
    body: JSON.stringify(body),
    omitted: [
      ...placed.omitted,
      ...findOmittedFields(request, isSentIn({ ...body, ...inferenceConfig, effort }, RENAMED_FIELDS)),
      ...findLostAuthors(request),
    ],
    changed: findChanges(request, inferenceConfig.maxTokens, effort?.level),
  }
}

const RESULT_MEDIA = new Set(['image_url', 'file'])

const RENAMED_FIELDS: RenamedFields = {
  max_tokens: ['maxTokens'],
  max_completion_tokens: ['maxTokens'],
  stop: ['stopSequences'],
  top_p: ['topP'],
  tools: ['messages'],
  tool_choice: ['messages'],
  response_format: ['messages'],
  reasoning_effort: ['effort'],
}

function findChanges(
  request: ChatRequest,
  maxTokens: number | undefined,
  level: string | undefined,
): readonly ParameterChange[] {
  const changes = findChangedFields(request, {
    [outputLimitOf(request).field]: maxTokens,
    reasoning_effort: level,
  })
  if (request.tool_choice !== 'none' || (request.tools?.length ?? 0) === 0) return changes
  const reason = 'bedrock cannot forbid calls: the tools are left out, unless there were calls before'
  return [...changes, { param: 'tool_choice', from: 'none', to: 'auto', reason }]
}

function toSystem(system: AnthropicBody['system']) {
  if (system === undefined) return undefined
  return typeof system === 'string' ? [{ text: system }] : toConverseBlocks(system)
}

/** Converse has no choice `none`, and refuses earlier calls in a request without tools. */
function toToolConfig({ tools, tool_choice, messages }: AnthropicBody): JsonObject | undefined {
  if (tools === undefined || tools.length === 0) return undefined
  const wasCalled = messages.some(({ content }) => content.some(({ type }) => type === 'tool_use'))
  if (tool_choice?.type === 'none' && !wasCalled) return undefined
  const listed = tools.flatMap(({ name, description, input_schema, strict, cache_control }) => [
    { toolSpec: { name, description, inputSchema: { json: input_schema }, strict } },
    ...(cache_control ? [toCachePoint(cache_control)] : []),
  ])
  return { tools: listed, toolChoice: toToolChoice(tool_choice) }
}

function toToolChoice(choice: AnthropicBody['tool_choice']): JsonObject | undefined {
  if (choice?.type === 'any') return { any: {} }
  return choice?.type === 'tool' ? { tool: { name: choice.name } } : undefined
}

/** How much to think, where the model has a field for it; undefined for others. */
function toEffort({ reasoning_effort: wanted }: ChatRequest, model: string) {
  if (wanted == null) return undefined
  const isNova = /(?:^|[./])amazon\.nova-2/.test(model)
  if (!isNova && !/(?:^|[./])openai\.gpt-oss/.test(model)) return undefined
  if (isNova && wanted === 'none') return { level: 'none', fields: { reasoningConfig: { type: 'disabled' } } }
  const level = findNearestEffort(wanted, ['low', 'medium', 'high']) ?? 'medium'
  if (!isNova) return { level, fields: { reasoning_effort: level } }
  return { level, fields: { reasoningConfig: { type: 'enabled', maxReasoningEffort: level } } }
}
