import type { ChatRequest } from '../../core/contract/chat.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import type { Model, ParameterChange, ProviderRequest, Target } from '../../core/contract/provider.ts'
import { parseJsonObject } from '../../core/util/json.ts'
import { findChangedFields, findLostAuthors, findOmittedFields, outputLimitOf } from '../shared/deviations.ts'
import { asNumber, asObject } from '../shared/fields.ts'
import { type MediaPlaces, placeMedia } from '../shared/place-media.ts'
import { findWeakenedSchema } from '../shared/schema-constraints.ts'
import { limitCacheMarks } from './cache-marks.ts'
import { endsWithSignedThinking, toAnthropicMessages, toCacheControl, toMediaBlocks } from './messages.ts'
import { type NativeFields, parseNativeFields } from './native.ts'
import { hasPendingToolCalls, toAnthropicReasoning } from './reasoning.ts'
import { toAnthropicResponseFormat } from './response-format.ts'
import { toAnthropicTools } from './tools.ts'
import type { AnthropicBody, AnthropicThinking } from './wire.ts'

/**
 * Builds the request field by field, because Anthropic rejects unknown fields
 * (docs/providers.md, "Parameters" and "Anthropic"). Throws a `GatewayError` for content that
 * Anthropic does not support.
 */
export function buildAnthropicRequest(
  request: ChatRequest,
  target: Target,
  { pathOf, bodyOf }: AnthropicApi = ANTHROPIC_API,
): ProviderRequest {
  const native = parseNativeFields(request, target)
  const { messages, omitted } = placeMedia(request.messages, MEDIA_PLACES, target)
  const placed = messages === request.messages ? request : { ...request, messages }
  const body = limitCacheMarks(buildBody(placed, target, native))
  return {
    path: pathOf(target.model, request.stream === true),
    headers: {
      'content-type': 'application/json',
      accept: request.stream ? 'text/event-stream' : 'application/json',
      ...native.headers,
    },
    body: JSON.stringify(bodyOf?.(body) ?? body),
    omitted: [
      ...omitted,
      ...findOmittedFields(request, (field) => isSent(field, body)),
      ...findLostAuthors(request),
      ...(native.fields.top_k != null && body.top_k === undefined ? ['top_k'] : []),
    ],
    changed: findChanges(request, body, native.isForModel),
  }
}

/** What differs between the services that have Claude. */
export interface AnthropicApi {
  pathOf(model: string, isStream: boolean): string
  bodyOf?(body: AnthropicBody): object
}

const ANTHROPIC_API: AnthropicApi = { pathOf: () => '/v1/messages' }

/**
 * Builds a request for the free count of input tokens, with the fields that it takes:
 * https://platform.claude.com/docs/en/api/messages-count-tokens.
 */
export function buildCountRequest(request: ChatRequest, target: Target): ProviderRequest {
  const native = parseNativeFields(request, target)
  const { messages } = placeMedia(request.messages, MEDIA_PLACES, target)
  const body: JsonObject = { ...buildBody({ ...request, messages }, target, native) }
  const counted = COUNTED_FIELDS.filter((field) => body[field] != null).map((field) => [field, body[field]])
  return {
    path: '/v1/messages/count_tokens',
    headers: { 'content-type': 'application/json', accept: 'application/json', ...native.headers },
    body: JSON.stringify(Object.fromEntries(counted)),
    omitted: [],
  }
}

const COUNTED_FIELDS = [
  ...['model', 'system', 'messages', 'tools', 'tool_choice', 'thinking', 'output_config', 'cache_control'],
  ...['mcp_servers', 'context_management', 'speed'],
]

const MEDIA_PLACES: MediaPlaces = { results: new Set(['image_url', 'file']), check: toMediaBlocks }

/** With thinking, the output limit is raised by its budget. A request for this model has its own effort. */
function findChanges(
  request: ChatRequest,
  { temperature, max_tokens, output_config, stop_sequences, thinking }: AnthropicBody,
  isForModel: boolean,
): readonly ParameterChange[] {
  const changes = findChangedFields(request, {
    temperature,
    [outputLimitOf(request).field]: max_tokens,
    reasoning_effort: isForModel ? undefined : output_config?.effort,
  }).map((change) =>
    change.to === max_tokens && thinking?.type === 'enabled'
      ? { ...change, reason: `it includes ${thinking.budget_tokens} tokens for thinking` }
      : change,
  )
  const { stop, response_format } = request
  if (Array.isArray(stop) && stop_sequences && stop_sequences.length < stop.length)
    changes.push({ param: 'stop', from: stop, to: stop_sequences })
  if (response_format?.type === 'json_object') changes.push(JSON_OBJECT_CHANGE)
  const weakened = findWeakenedSchema(request, 'anthropic', NO_CONSTRAINTS)
  if (weakened) changes.push(weakened)
  return changes
}

/** Constraints are moved to descriptions, where the model reads them. */
const NO_CONSTRAINTS: ReadonlySet<string> = new Set()

const JSON_OBJECT_CHANGE: ParameterChange = {
  param: 'response_format',
  from: 'json_object',
  to: 'an instruction in the system prompt',
  reason: 'anthropic does not enforce it',
}

/** Fields that the caller wrote for Anthropic come first: none replaces one that is built here. */
function buildBody(request: ChatRequest, { model, entry }: Target, native: NativeFields): AnthropicBody {
  const { isForModel, fields } = native
  const { tools, tool_choice } = toAnthropicTools(request, isForModel)
  const isToolCallForced = tool_choice?.type === 'any' || tool_choice?.type === 'tool'
  const reasoning = isForModel
    ? toNativeReasoning(request, entry, fields)
    : toAnthropicReasoning(request, entry, isToolCallForced)
  const { max_tokens, thinking, effort } = reasoning
  const format = toAnthropicResponseFormat(request.response_format)
  const output_config = {
    ...asObject(fields.output_config),
    ...(!isForModel && { effort }),
    ...(format && { format }),
  }
  return {
    ...fields,
    model,
    max_tokens,
    ...toAnthropicMessages(request, isForModel),
    tools,
    tool_choice,
    thinking,
    output_config: Object.values(output_config).some((value) => value != null) ? output_config : undefined,
    ...toSamplingFields(request, { entry, thinking, native }),
    stop_sequences: toStopSequences(request.stop),
    ...toUnmodelledFields(request, fields),
    stream: request.stream ? true : undefined,
  }
}

/**
 * Thinking as the caller wrote it. With a budget, Anthropic requires the thinking before the calls of the
 * last reply: it is missing if another provider replied, or if a rule has changed it.
 */
function toNativeReasoning(request: ChatRequest, entry: Model | undefined, { thinking }: JsonObject) {
  const { max_tokens } = toAnthropicReasoning({ ...request, reasoning_effort: null }, entry, false)
  const needsEarlier = asObject(thinking).type === 'enabled' && hasPendingToolCalls(request)
  if (needsEarlier && !endsWithSignedThinking(request, true)) return { max_tokens, effort: undefined }
  // The cast stands for a value that Anthropic validates.
  return { max_tokens, effort: undefined, thinking: thinking as AnthropicThinking | undefined }
}

/** Fields that have nothing to do with the model. Those that the caller wrote for Anthropic win. */
function toUnmodelledFields(
  { user, service_tier, cache_control }: ChatRequest,
  fields: JsonObject,
): Pick<AnthropicBody, 'metadata' | 'service_tier' | 'cache_control'> {
  return {
    ...(fields.metadata == null && { metadata: toMetadata(user) }),
    ...(fields.service_tier == null && { service_tier: toServiceTier(service_tier) }),
    ...(fields.cache_control == null && { cache_control: toCacheControl(cache_control) }),
  }
}

/**
 * Models that reject sampling parameters, which all new ones do, and requests with thinking get none.
 * Otherwise the temperature, limited to 0 to 1, or `top_p`, but never both
 * (docs/providers.md, "Anthropic").
 */
function toSamplingFields(
  { temperature, top_p }: ChatRequest,
  { entry, thinking, native }: SamplingContext,
): Pick<AnthropicBody, 'temperature' | 'top_p' | 'top_k'> {
  const isThinking = thinking?.type === 'enabled' || thinking?.type === 'adaptive'
  const acceptsSampling = entry === undefined ? native.isForModel : entry.sampling
  if (!acceptsSampling || isThinking) return { top_k: undefined }
  const top_k = asNumber(native.fields.top_k)
  if (temperature != null) return { temperature: Math.min(Math.max(temperature, 0), 1), top_k }
  return top_p == null ? { top_k } : { top_p, top_k }
}

interface SamplingContext {
  readonly entry: Model | undefined
  readonly thinking: AnthropicThinking | undefined
  readonly native: NativeFields
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
function isSent(field: string, body: AnthropicBody): boolean {
  switch (field) {
    case 'temperature':
    case 'top_p':
      return body[field] !== undefined
    case 'stop':
      return body.stop_sequences !== undefined
    case 'reasoning_effort':
      return body.thinking !== undefined || body.output_config?.effort !== undefined
    default:
      return ALWAYS_SENT.has(field)
  }
}

const ALWAYS_SENT = new Set(
  `max_tokens max_completion_tokens tools tool_choice parallel_tool_calls response_format
  cache_control`.split(/\s+/),
)
