import type { ChatRequest, Message, Tool } from '../../core/contract/chat.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import type { Model, ProviderRequest, Target } from '../../core/contract/provider.ts'
import { checkOpenAiFile, withOpenAiFiles } from '../chat-format/messages.ts'
import { buildChatHeaders } from '../chat-format/wire.ts'
import { clampOutputLimit, findChangedFields, isDefaultValue, outputLimitOf } from '../shared/deviations.ts'
import { asObject, asObjects } from '../shared/fields.ts'
import { type MediaPlaces, placeMedia, WEB_IMAGES } from '../shared/place-media.ts'
import { OPENAI_QUIRKS, quirksOf } from '../shared/quirks.ts'
import { unsupportedParameterError } from '../shared/request-errors.ts'
import { toResponsesInput } from './responses-input.ts'

/**
 * True for requests that the model takes in the Responses API only: with tools, unless it does not reason,
 * with the effort `max`, and with the URL of a file; for some models, all. Also for those that ask for
 * encrypted reasoning or send it back, which only that API has. See docs/providers.md, "OpenAI", and
 * docs/decisions/replies.md, "OpenAI is asked in two APIs".
 */
export function requiresResponses(request: ChatRequest, effort: unknown, entry: Model | undefined): boolean {
  const { messages, tools } = request
  const quirk = quirksOf(OPENAI_QUIRKS, entry).responses
  if (quirk === 'always' || (quirk === true && messages.some(hasFileUrl))) return true
  if (effort === 'none') return false
  if (quirk === true && (effort === 'max' || (tools != null && tools.length > 0))) return true
  return entry?.reasoning === true && entry.provider === OPENAI && usesEncryptedReasoning(request)
}

/** Compatible providers may not have the API. */
const OPENAI = 'openai'

function usesEncryptedReasoning({ extra_content, messages }: ChatRequest): boolean {
  if (extra_content?.openai?.include != null) return true
  return messages.some(({ reasoning_data }) => asObjects(reasoning_data).some(({ openai }) => openai != null))
}

/** Only this API accepts the URL of a file. */
function hasFileUrl({ content }: Message): boolean {
  return Array.isArray(content) && content.some(({ file }) => isJsonObject(file) && file.file_url != null)
}

/** Types of parts that items of this API have. */
const INPUT_TYPES: ReadonlySet<string> = new Set(['image_url', 'file'])

const MEDIA_PLACES: MediaPlaces = {
  results: INPUT_TYPES,
  moved: INPUT_TYPES,
  check: (part, path) => checkOpenAiFile(part, path, true),
  imageTypes: WEB_IMAGES,
}

/** The API refuses lower limits. */
const MIN_OUTPUT_TOKENS = 16

/** Fields of chat completions that are converted. Without `store`, metadata is for routing rules. */
const CONVERTED_FIELDS: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'response_format', 'verbosity', 'reasoning_effort', 'max_tokens'],
  ...['max_completion_tokens', 'stream', 'stream_options', 'store', 'metadata', 'extra_content'],
  ...['tools', 'tool_choice', 'parallel_tool_calls'],
])

/** Fields that both APIs have. */
const SHARED_FIELDS: ReadonlySet<string> = new Set([
  ...['user', 'service_tier', 'prompt_cache_key', 'prompt_cache_retention', 'prompt_cache_options'],
  'safety_identifier',
])

/** The same, for models with sampling parameters. */
const SHARED_SAMPLING_FIELDS: ReadonlySet<string> = new Set(['temperature', 'top_p'])

/** Converts a request to the Responses API, without storing anything there. */
export function buildResponsesRequest(
  request: ChatRequest,
  target: Target,
  effort: unknown,
): ProviderRequest {
  const { field } = outputLimitOf(request)
  const clamped = clampOutputLimit(request, target.entry)
  const limit = clamped === undefined ? undefined : Math.max(MIN_OUTPUT_TOKENS, clamped)
  const isStored = request.store === true
  const { shared, omitted } = sortOtherFields(request, target.entry)
  const placed = placeMedia(request.messages, MEDIA_PLACES, target)
  const messages = toResponsesInput(withOpenAiFiles(placed.messages, true))
  const body = {
    model: target.model,
    input: messages.input,
    store: isStored,
    ...toStreamFields(request),
    ...(limit !== undefined && { max_output_tokens: limit }),
    ...toReasoningOptions(request, target.entry, effort),
    ...toTextOptions(request),
    ...toToolOptions(request),
    ...(isStored && request.metadata != null && { metadata: request.metadata }),
    ...Object.fromEntries(shared.map((name) => [name, request[name]])),
  }
  return {
    path: '/responses',
    headers: buildChatHeaders(request.stream === true),
    body: JSON.stringify(body),
    omitted: [...placed.omitted, ...omitted, ...messages.omitted],
    changed: findChangedFields(request, { [field]: limit, reasoning_effort: effort }),
  }
}

/** Reasoning is always asked for, because nothing is stored that a later request could refer to. */
function toReasoningOptions(
  { extra_content }: ChatRequest,
  entry: Model | undefined,
  effort: unknown,
): JsonObject {
  const summary = extra_content?.openai?.summary
  const reasoning = { ...(effort !== undefined && { effort }), ...(summary != null && { summary }) }
  return {
    ...(Object.keys(reasoning).length > 0 && { reasoning }),
    ...(entry?.reasoning === true && { include: ['reasoning.encrypted_content'] }),
  }
}

/** The fields that are not converted: those that both APIs have, and those that cannot be sent. */
function sortOtherFields(request: ChatRequest, entry: Model | undefined) {
  const shared: string[] = []
  const omitted: string[] = []
  for (const name of Object.keys(request)) {
    const value = request[name]
    if (value == null || CONVERTED_FIELDS.has(name)) continue
    const isSampled = entry?.sampling !== false && SHARED_SAMPLING_FIELDS.has(name)
    if (isSampled || SHARED_FIELDS.has(name)) shared.push(name)
    else if (!isDefaultValue(name, value)) omitted.push(name)
  }
  return { shared, omitted }
}

/** Usage is always reported here. */
function toStreamFields({ stream, stream_options }: ChatRequest): JsonObject {
  if (stream !== true) return {}
  const { include_obfuscation } = asObject(stream_options)
  return { stream, ...(include_obfuscation != null && { stream_options: { include_obfuscation } }) }
}

function toTextOptions({ response_format, verbosity }: ChatRequest): JsonObject {
  const format = response_format == null ? undefined : toTextFormat(response_format)
  const text = { ...(format && { format }), ...(verbosity != null && { verbosity }) }
  return Object.keys(text).length === 0 ? {} : { text }
}

/** Schemas are strict in this API unless it is told otherwise. */
function toTextFormat({ type, json_schema }: JsonObject): JsonObject {
  const { strict, ...schema } = asObject(json_schema)
  return type === 'json_schema' ? { type, ...schema, strict: strict === true } : { type }
}

function toToolOptions({ tools, tool_choice, parallel_tool_calls }: ChatRequest): JsonObject {
  if (tools == null || tools.length === 0) return {}
  return {
    tools: tools.map(toTool),
    ...(tool_choice != null && { tool_choice: toToolChoice(tool_choice) }),
    ...(parallel_tool_calls != null && { parallel_tool_calls }),
  }
}

/** Other tools are hosted ones there: OpenAI would run them, although chat completions have none. */
function toTool({ type, function: called, ...tool }: Tool, index: number): JsonObject {
  if (type === 'function') return { parameters: null, ...called, type, strict: called?.strict === true }
  if (type !== 'custom')
    throw unsupportedParameterError(`tools[${index}]`, 'must be a function or a custom tool.')
  const custom = asObject(tool.custom)
  const { type: formatType, grammar } = asObject(custom.format)
  return {
    ...custom,
    type,
    ...(formatType === 'grammar' && { format: { ...asObject(grammar), type: 'grammar' } }),
  }
}

function toToolChoice(choice: string | JsonObject): unknown {
  if (typeof choice === 'string') return choice
  const { type, allowed_tools } = choice
  if (type !== 'allowed_tools') return { type, name: asObject(choice[String(type)]).name }
  const { mode, tools } = asObject(allowed_tools)
  return { type, mode, tools: asObjects(tools).map(toToolChoice) }
}
