import {
  type EndedExchange,
  type FinishReason,
  type GatewayError,
  isJsonObject,
  type JsonObject,
  type Usage,
} from '../../contract/index.ts'
import type { ResponseForm } from '../../events/domain-events.ts'
import type { ResponsesCall } from './call.ts'
import type { ItemStatus } from './output-items.ts'

/**
 * Builds the response object as it is before the reply has started.
 * The fields of docs/api.md, "Response object", come first.
 */
export function buildInitialResponse(call: ResponsesCall, exchange: EndedExchange): JsonObject {
  const { body, responseKey, createdAt } = call
  const { reasoning, text } = body
  return {
    id: `resp_${responseKey}`,
    object: 'response',
    created_at: createdAt,
    status: 'in_progress',
    model: exchange.target?.model ?? body.model ?? 'auto:balance',
    output: [],
    usage: null,
    metadata: buildMetadata(call, exchange),
    error: null,
    incomplete_details: null,
    completed_at: null,
    instructions: findInstructions(call, exchange),
    previous_response_id: body.previous_response_id ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    temperature: body.temperature ?? 1,
    top_p: body.top_p ?? 1,
    tools: body.tools ?? [],
    tool_choice: body.tool_choice ?? 'auto',
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    reasoning: { effort: reasoning?.effort ?? null, summary: reasoning?.summary ?? null },
    text: { ...text, format: text?.format ?? { type: 'text' } },
    truncation: body.truncation ?? 'disabled',
    top_logprobs: 0,
    service_tier: body.service_tier ?? null,
    background: false,
    store: body.store ?? true,
    user: body.user ?? null,
    x_request_id: exchange.id,
  }
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
    usage: exchange.usage ? toResponsesUsage(exchange.usage) : null,
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

/** Converts an initial response to a failed one, with the output up to the failure. */
export function toFailedResponse(
  initial: JsonObject,
  error: GatewayError,
  output: readonly JsonObject[] = [],
): JsonObject {
  const { wireCode: code, message } = error
  return { ...initial, status: 'failed', output, error: { code, message } }
}

/** Converts an initial response to the one that is stored if the client disconnects before the end. */
export function toCancelledResponse(initial: JsonObject, output: readonly JsonObject[] = []): JsonObject {
  return { ...initial, status: 'cancelled', output }
}

/** Converts a finished response back to its state at the start of the reply. */
export function toInitialResponse({ latency_ms: _, ...response }: JsonObject): JsonObject {
  return {
    ...response,
    status: 'in_progress',
    output: [],
    usage: null,
    error: null,
    incomplete_details: null,
    completed_at: null,
  }
}

/** Converts token counts to the format of the Responses API. */
function toResponsesUsage({ input, output, cached, cacheWrite, reasoning }: Usage): JsonObject {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached ?? 0, cache_write_tokens: cacheWrite ?? 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning ?? 0 },
    total_tokens: input + output,
  }
}

/** Merges the caller's metadata with the gateway's, which takes precedence. */
function buildMetadata({ body }: ResponsesCall, { target, route, decoration }: EndedExchange): JsonObject {
  const gatewayMetadata = decoration?.first().metadata
  return {
    ...body.metadata,
    provider: target?.provider ?? null,
    routing_mode: route?.mode ?? null,
    ...(isJsonObject(gatewayMetadata) && gatewayMetadata),
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

/** Converts a response in OpenAI's form to the form that the caller expects. */
export function toResponseForm(response: JsonObject, form: ResponseForm): JsonObject {
  if (form === 'openai' || !Array.isArray(response.output)) return response
  const { reasoning } = response
  const wantsReasoning = isJsonObject(reasoning) && reasoning.summary !== null
  const items: JsonObject[] = response.output
  return {
    ...response,
    output: items.filter(({ type }) => wantsReasoning || type !== 'reasoning').map(toInterfaceItem),
  }
}

function toInterfaceItem(item: JsonObject): JsonObject {
  return Array.isArray(item.content) ? { ...item, content: item.content.map(toInterfacePart) } : item
}

function toInterfacePart(part: JsonObject): JsonObject {
  return part.type === 'output_text' ? { type: 'text', text: part.text } : part
}
