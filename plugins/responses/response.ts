import {
  type ChatRequest,
  type EndedExchange,
  type Exchange,
  type FinishReason,
  type GatewayError,
  isJsonObject,
  type JsonObject,
  type Tool,
  type Usage,
} from '../../core/contract/index.ts'
import type { ResponseForm } from '../../core/dialects/response-form.ts'
import { buildMetadata, buildSignalboxFields } from '../../core/dialects/signalbox-fields.ts'
import { toWords } from '../../core/http/error-words.ts'
import { formatError } from '../../core/http/errors.ts'
import { isExemptText } from '../../core/inspection/inspection.ts'
import {
  isClientSearch,
  TOOL_SEARCH,
  toFunctionName,
} from '../../providers/shared/responses-format/client-tools.ts'
import type { ItemStatus } from '../../providers/shared/responses-format/output-items.ts'
import type { FlatTool, ResponsesBody } from '../../providers/shared/responses-format/request-schema.ts'
import type { ResponsesCall } from './call.ts'

/** The values that OpenAI's description has for options of a request; strict clients read no others. */
export const ECHOED_VALUES = {
  tool_choice: ['auto', 'none', 'required'],
  effort: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
  summary: ['auto', 'concise', 'detailed'],
  verbosity: ['low', 'medium', 'high'],
  service_tier: ['auto', 'default', 'flex', 'scale', 'priority'],
} as const

/**
 * Builds the fields of a response that repeat options of its request, with the texts that were sent: rules
 * may have masked them. Values that OpenAI's API does not have are passed to the provider, but not repeated.
 */
export function echoOptions(
  { reasoning, text, tool_choice, service_tier }: ResponsesBody,
  request: Pick<ChatRequest, 'tools' | 'response_format'>,
): JsonObject {
  const verbosity = known('verbosity', text?.verbosity)
  return {
    tool_choice: isJsonObject(tool_choice)
      ? echoToolChoice(tool_choice, sentFunctions(request))
      : (known('tool_choice', tool_choice) ?? 'auto'),
    reasoning: { effort: known('effort', reasoning?.effort), summary: known('summary', reasoning?.summary) },
    text: { format: echoFormat(request), ...(verbosity !== null && { verbosity }) },
    // Open Responses requires a text.
    service_tier: known('service_tier', service_tier) ?? 'default',
  }
}

type SentFunctions = ReadonlyMap<string, NonNullable<Tool['function']>>

/** The functions that models get, by name. */
function sentFunctions({ tools }: Pick<ChatRequest, 'tools'>): SentFunctions {
  return new Map(
    (tools ?? []).flatMap(({ function: sent }) => (sent === undefined ? [] : [[sent.name, sent]])),
  )
}

/**
 * Returns the tools of a request as they were sent. Those that models do not get are left out, because no
 * rule has inspected them.
 */
function echoTools(
  { tools }: Pick<ResponsesBody, 'tools'>,
  { request, received }: Pick<Exchange, 'request' | 'received'>,
): readonly JsonObject[] {
  if (tools == null || request.tools == null) return []
  const sent = sentFunctions(request)
  const before = request.tools === received.tools ? sent : sentFunctions(received)
  return tools.flatMap((tool) => echoTool(tool, sent, before))
}

function echoTool(
  tool: JsonObject,
  sent: SentFunctions,
  before: SentFunctions,
  namespace?: string,
): readonly JsonObject[] {
  const { type, name } = tool
  if (type === 'namespace') {
    const inner: readonly JsonObject[] = Array.isArray(tool.tools) ? tool.tools.filter(isJsonObject) : []
    const tools = inner.flatMap((each) => echoTool(each, sent, before, String(name)))
    // Its own description is not sent.
    return tools.length === 0 ? [] : [{ type, name, description: '', tools }]
  }
  const isSearch = isClientSearch(tool)
  const functionName = isSearch ? TOOL_SEARCH : toFunctionName(String(name), namespace)
  const found = sent.get(functionName)
  if (found === undefined) return []
  const { description, parameters = null, strict = null } = found
  const described = description == null ? {} : { description }
  if (isSearch) return [{ type, execution: 'client', ...described, parameters }]
  if (type === 'function') return [{ type, name, ...described, parameters, strict }]
  if (type !== 'custom') return []
  // Models get description and grammar as one text.
  if (found !== before.get(functionName)) return [{ type, name, ...described, format: { type: 'text' } }]
  return [
    {
      type,
      name,
      ...pick(tool, ['description']),
      ...(isJsonObject(tool.format) && { format: echoInput(tool.format) }),
    },
  ]
}

function echoInput(format: JsonObject): JsonObject {
  return pick(format, ['type', 'syntax', 'definition'])
}

function pick(object: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.flatMap((name) => (object[name] == null ? [] : [[name, object[name]]])))
}

function known(option: keyof typeof ECHOED_VALUES, value: unknown): string | null {
  const values: readonly string[] = ECHOED_VALUES[option]
  return values.find((candidate) => candidate === value) ?? null
}

function echoToolChoice(choice: JsonObject, sent: SentFunctions): unknown {
  const isSent = ({ name, namespace }: JsonObject) => sent.has(toFunctionName(String(name), namespace))
  const named = (tool: JsonObject) => pick(tool, ['type', 'name', 'namespace'])
  if (choice.type === 'function') return isSent(choice) ? named(choice) : 'auto'
  if (choice.type !== 'allowed_tools') return 'auto'
  const tools = Array.isArray(choice.tools) ? choice.tools.filter(isJsonObject).filter(isSent).map(named) : []
  return { type: choice.type, mode: choice.mode === 'required' ? 'required' : 'auto', tools }
}

function echoFormat({ response_format: format }: Pick<ChatRequest, 'response_format'>): JsonObject {
  if (format == null) return { type: 'text' }
  const { description, ...fields } = isJsonObject(format.json_schema) ? format.json_schema : {}
  return { type: format.type, ...fields, ...(description != null && { description }) }
}

/** Adds the fields that OpenAI's clients require of a tool. */
export function toEchoedTool(tool: FlatTool): JsonObject {
  if (tool.type === 'namespace') return { ...tool, description: tool.description ?? '' }
  return tool.type === 'function' ? { parameters: null, strict: null, ...tool } : tool
}

/**
 * The values of `error.code` that OpenAI's description of responses has, and those that OpenAI sends besides:
 * Codex reads these.
 */
export const RESPONSE_ERROR_CODES = [
  'context_length_exceeded',
  'insufficient_quota',
  'server_is_overloaded',
  'server_error',
  'rate_limit_exceeded',
  'invalid_prompt',
  'data_residency_mismatch',
  'bio_policy',
  'vector_store_timeout',
  'invalid_image',
  'invalid_image_format',
  'invalid_base64_image',
  'invalid_image_url',
  'image_too_large',
  'image_too_small',
  'image_parse_error',
  'image_content_policy_violation',
  'invalid_image_mode',
  'image_file_too_large',
  'unsupported_image_media_type',
  'empty_image_file',
  'failed_to_download_image',
  'image_file_not_found',
] as const

type ResponseErrorCode = (typeof RESPONSE_ERROR_CODES)[number]

/**
 * Converts an initial response to a failed one, with the output up to the failure. `signalbox.error` is the
 * error as another endpoint would answer it.
 */
export function toFailedResponse(
  initial: JsonObject,
  error: GatewayError,
  output: readonly JsonObject[] = [],
): JsonObject {
  const { error: details } = formatError(error, 'openai')
  const signalbox = { ...(isJsonObject(initial.signalbox) && initial.signalbox), error: details }
  const { code, message } = toWords(error, 'openai')
  return {
    ...initial,
    status: 'failed',
    output: toEndedItems(output),
    error: { code: toResponseErrorCode(code, error.status), message },
    signalbox,
  }
}

/** Returns the items of a response that ended early. No item remains in progress. */
function toEndedItems(items: readonly JsonObject[]): readonly JsonObject[] {
  return items.map((item) => (item.status === 'in_progress' ? { ...item, status: 'incomplete' } : item))
}

function toResponseErrorCode(code: string, status: number): ResponseErrorCode {
  const known = RESPONSE_ERROR_CODES.find((name) => name === code)
  if (known !== undefined) return known
  if (status === 429) return 'rate_limit_exceeded'
  return status < 500 ? 'invalid_prompt' : 'server_error'
}

/**
 * Builds the response object as it is before the reply has started.
 * The fields of docs/api.md, "Response object", come first.
 */
export function buildInitialResponse(call: ResponsesCall, exchange: EndedExchange): JsonObject {
  const { body, responseKey, createdAt } = call
  const { request, metadata } = exchange
  return {
    id: `resp_${responseKey}`,
    object: 'response',
    created_at: createdAt,
    status: 'in_progress',
    model: exchange.target?.model ?? request.model ?? 'auto:balance',
    output: [],
    metadata: metadata ?? {},
    signalbox: buildSignalboxFields(exchange),
    error: null,
    incomplete_details: null,
    completed_at: null,
    instructions: findInstructions(call, exchange),
    previous_response_id: body.previous_response_id ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    temperature: body.temperature ?? 1,
    top_p: body.top_p ?? 1,
    tools: echoTools(body, exchange),
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    ...echoOptions(body, request),
    truncation: body.truncation ?? 'disabled',
    top_logprobs: 0,
    presence_penalty: body.presence_penalty ?? 0,
    frequency_penalty: body.frequency_penalty ?? 0,
    max_tool_calls: body.max_tool_calls ?? null,
    access_programs: null,
    safety_identifier: request.safety_identifier ?? null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    background: false,
    store: body.store ?? true,
    ...(request.user != null && { user: request.user }),
    x_request_id: exchange.id,
  }
}

/**
 * Builds the same for a request that was refused, or failed before its reply: without any of its texts, which
 * rules may not have inspected.
 */
export function buildRefusedResponse(call: ResponsesCall, exchange: EndedExchange): JsonObject {
  const { model = '' } = exchange.request
  const request = { messages: [], ...(isExemptText(model, 'exempt') && { model }) }
  return buildInitialResponse(call, { ...exchange, request, received: request, metadata: undefined })
}

/**
 * Builds the fields that change when the model finishes a response. `finishReason` may also be the token
 * limit or the provider's content filter.
 */
export function buildFinalFields(
  finishReason: FinishReason,
  exchange: EndedExchange,
  output: readonly JsonObject[],
): JsonObject {
  const reason = INCOMPLETE_REASONS[finishReason]
  return {
    status: reason === undefined ? 'completed' : 'incomplete',
    output,
    signalbox: buildSignalboxFields(exchange),
    ...(exchange.usage && { usage: toResponsesUsage(exchange.usage) }),
    incomplete_details: reason === undefined ? null : { reason },
    completed_at: Math.floor(Date.now() / 1000),
    latency_ms: Math.round(performance.now() - exchange.startedAt),
  }
}

/** Finish reasons that make a response incomplete, with OpenAI's name for each. */
const INCOMPLETE_REASONS: Readonly<Partial<Record<FinishReason, string>>> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
}

/** Returns the status of the last output item. */
export function toLastItemStatus(finishReason: FinishReason): ItemStatus {
  return INCOMPLETE_REASONS[finishReason] === undefined ? 'completed' : 'incomplete'
}

/** Converts an initial response to the one that is stored if the client disconnects before the end. */
export function toCancelledResponse(initial: JsonObject, output: readonly JsonObject[] = []): JsonObject {
  return { ...initial, status: 'cancelled', output: toEndedItems(output) }
}

/** Converts a finished response back to its state at the start of the reply. */
export function toInitialResponse({ latency_ms: _, usage: __, ...response }: JsonObject): JsonObject {
  const { signalbox } = response
  return {
    ...response,
    ...(isJsonObject(signalbox) && { signalbox: toInitialFields(signalbox) }),
    status: 'in_progress',
    output: [],
    error: null,
    incomplete_details: null,
    completed_at: null,
  }
}

/** The fields as they were before the cost was known, and before rules inspected the reply. */
function toInitialFields({ cost_usd: _, warnings, rule_trace, ...fields }: JsonObject): JsonObject {
  const initialWarnings = withoutReplyEntries(warnings)
  return {
    ...fields,
    ...(initialWarnings.length > 0 && { warnings: initialWarnings }),
    ...(rule_trace !== undefined && { rule_trace: withoutReplyEntries(rule_trace) }),
  }
}

function withoutReplyEntries(entries: unknown): readonly unknown[] {
  if (!Array.isArray(entries)) return []
  return entries.filter((entry) => !isJsonObject(entry) || entry.scope !== 'response')
}

/** Converts token counts to the format of the Responses API. */
export function toResponsesUsage({ input, output, cached, cacheWrite, reasoning }: Usage): JsonObject {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached ?? 0, cache_write_tokens: cacheWrite ?? 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning ?? 0 },
    total_tokens: input + output,
  }
}

/** Returns the instructions as they were sent to the model: the firewall may have masked them. */
function findInstructions(
  { body, inputCount, earlierCount }: ResponsesCall,
  { request }: EndedExchange,
): unknown {
  if (!body.instructions) return null
  return request.messages.at(-1 - inputCount - earlierCount)?.content ?? null
}

/**
 * Converts a response as it is stored, whose `metadata` has the caller's own entries only, to the form that
 * the caller expects. The interface's form has reasoning only if the caller asks for it.
 */
export function toResponseForm(
  response: JsonObject,
  form: ResponseForm,
  asksForReasoning = false,
): JsonObject {
  const { signalbox, output, reasoning } = response
  const fields = isJsonObject(signalbox) ? signalbox : {}
  const shown = { ...response, metadata: buildMetadata(response.metadata, fields, form) }
  if (form === 'openai' || !Array.isArray(output)) return shown
  const wantsReasoning = asksForReasoning || (isJsonObject(reasoning) && reasoning.summary !== null)
  const items: JsonObject[] = output
  return {
    ...shown,
    output: items.filter(({ type }) => wantsReasoning || type !== 'reasoning').map(toInterfaceItem),
  }
}

function toInterfaceItem(item: JsonObject): JsonObject {
  return Array.isArray(item.content) ? { ...item, content: item.content.map(toInterfacePart) } : item
}

function toInterfacePart(part: JsonObject): JsonObject {
  return part.type === 'output_text' ? { type: 'text', text: part.text } : part
}
