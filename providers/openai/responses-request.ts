import type { ChatRequest, Message, Tool } from '../../core/contract/chat.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import type { Model, ParameterChange, ProviderRequest, Target } from '../../core/contract/provider.ts'
import { toItemContent } from '../../core/dialects/responses/build-input-items.ts'
import { buildChatHeaders } from '../chat-format/request.ts'
import { clampOutputLimit, findChangedFields, outputLimitOf } from '../shared/changed-fields.ts'
import { asObject, asObjects } from '../shared/fields.ts'

/**
 * True for requests that the model takes in the Responses API only: with tools, unless it does not reason,
 * and with the effort `max`. See docs/providers.md, "OpenAI", and docs/decisions/replies.md, "OpenAI is asked
 * in two APIs".
 */
export function requiresResponses(
  { tools }: ChatRequest,
  effort: unknown,
  entry: Model | undefined,
): boolean {
  if (entry?.quirks.responses !== true) return false
  return effort === 'max' || (effort !== 'none' && tools != null && tools.length > 0)
}

/** The API refuses lower limits. */
const MIN_OUTPUT_TOKENS = 16

/** Fields of chat completions that are converted, or that need not be sent. */
const READ_FIELDS: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'tools', 'tool_choice', 'parallel_tool_calls', 'response_format', 'verbosity'],
  ...['reasoning_effort', 'max_tokens', 'max_completion_tokens', 'stream', 'stream_options', 'store'],
  ...['metadata', 'n', 'logprobs'],
])

/** Fields that both APIs have. */
const SHARED_FIELDS: ReadonlySet<string> = new Set([
  ...['user', 'service_tier', 'prompt_cache_key', 'prompt_cache_retention', 'safety_identifier'],
])

/** Converts a request to the Responses API, without storing anything there. */
export function buildResponsesRequest(
  request: ChatRequest,
  target: Target,
  effort: string | undefined,
): ProviderRequest {
  const { field, limit } = outputLimitOf(request)
  const clamped = clampOutputLimit(request, target.entry)
  const sentLimit = clamped === undefined ? undefined : Math.max(MIN_OUTPUT_TOKENS, clamped)
  const isStored = request.store === true
  const otherFields = Object.keys(request).filter((name) => request[name] != null && !READ_FIELDS.has(name))
  const body = {
    model: target.model,
    input: toInput(request.messages),
    store: isStored,
    ...(request.stream === true && { stream: true }),
    ...(sentLimit !== undefined && { max_output_tokens: sentLimit }),
    ...(effort !== undefined && { reasoning: { effort } }),
    ...toTextOptions(request),
    ...toToolOptions(request),
    ...(isStored && request.metadata != null && { metadata: request.metadata }),
    ...Object.fromEntries(
      otherFields.filter((name) => SHARED_FIELDS.has(name)).map((name) => [name, request[name]]),
    ),
  }
  return {
    path: '/responses',
    headers: buildChatHeaders(request.stream === true),
    body: JSON.stringify(body),
    omitted: otherFields.filter((name) => !SHARED_FIELDS.has(name)),
    changed: describeChanges(request, { field, limit, sentLimit, effort }),
  }
}

function describeChanges(
  request: ChatRequest,
  sent: {
    field: string
    limit: number | undefined
    sentLimit: number | undefined
    effort: string | undefined
  },
): readonly ParameterChange[] {
  return findChangedFields(request, { [sent.field]: sent.sentLimit, reasoning_effort: sent.effort })
}

function toInput(messages: readonly Message[]): readonly JsonObject[] {
  const customCalls = new Set<unknown>()
  return messages.flatMap((message): readonly JsonObject[] => {
    const { role, content, tool_calls, tool_call_id } = message
    switch (role) {
      case 'assistant':
        return [
          ...toAssistantMessage(message),
          ...(tool_calls ?? []).map((call) => toCall(call, customCalls)),
        ]
      case 'tool': {
        const type = customCalls.has(tool_call_id) ? 'custom_tool_call_output' : 'function_call_output'
        const output = typeof content === 'string' ? content : toItemContent(content, 'input_text')
        return [{ type, call_id: tool_call_id, output }]
      }
      default:
        return [{ type: 'message', role, content: toItemContent(content, 'input_text') }]
    }
  })
}

function toAssistantMessage({ content, refusal }: Message): readonly JsonObject[] {
  const parts = [
    ...(content == null || content === '' ? [] : toItemContent(content, 'output_text')),
    ...(typeof refusal === 'string' ? [{ type: 'refusal', refusal }] : []),
  ]
  return parts.length === 0 ? [] : [{ type: 'message', role: 'assistant', content: parts }]
}

/** Adds the id of a call of a custom tool to `customCalls`. */
function toCall(call: JsonObject, customCalls: Set<unknown>): JsonObject {
  const { id, custom, function: called } = call
  if (!isJsonObject(custom)) {
    const { name, arguments: json } = asObject(called)
    return { type: 'function_call', call_id: id, name, arguments: json }
  }
  customCalls.add(id)
  return { type: 'custom_tool_call', call_id: id, name: custom.name, input: custom.input }
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

function toTool({ type, function: called, ...tool }: Tool): JsonObject {
  if (type === 'function') return { parameters: null, ...called, type, strict: called?.strict === true }
  const custom = asObject(tool[type])
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
