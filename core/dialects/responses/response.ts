import {
  type EndedExchange,
  type FinishReason,
  isJsonObject,
  type JsonObject,
  type Usage,
} from '../../contract/index.ts'
import { isExemptText } from '../../text/scalar-rules.ts'
import type { ResponseForm } from '../response-form.ts'
import { buildMetadata, buildSignalboxFields } from '../signalbox-fields.ts'
import type { ResponsesCall } from './call.ts'
import { echoOptions, echoTools } from './echoed-options.ts'
import { toEndedItems } from './failed-response.ts'
import type { ItemStatus } from './output-items.ts'

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
