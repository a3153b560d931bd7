import {
  type Exchange,
  type FinishReason,
  type GatewayError,
  isJsonObject,
  type JsonObject,
  type Usage,
} from '../../contract/index.ts'
import type { ResponseForm } from '../../events/domain-events.ts'
import type { ResponsesCall } from './call.ts'
import type { ItemStatus } from './output-items.ts'

/** The response object as it is when the model begins to answer. The interface's fields come first. */
export function buildInitialResponse(call: ResponsesCall, exchange: Exchange): JsonObject {
  const { body, responseKey: seed, createdAt } = call
  const { reasoning, text } = body
  return {
    id: `resp_${seed}`,
    object: 'response',
    created_at: createdAt,
    status: 'in_progress',
    model: exchange.target?.model ?? body.model ?? 'auto:balance',
    output: [],
    usage: null,
    metadata: metadataOf(call, exchange),
    error: null,
    incomplete_details: null,
    completed_at: null,
    instructions: readInstructions(call, exchange),
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

/** What becomes of a response that the model brought to an end, be it early: for the limit of tokens, or as its provider's filter had it. */
export function buildFinalFields(
  finish: FinishReason,
  exchange: Exchange,
  output: readonly JsonObject[],
): JsonObject {
  const reason = INCOMPLETE[finish]
  return {
    status: reason === undefined ? 'completed' : 'incomplete',
    output,
    usage: exchange.usage ? usageOf(exchange.usage) : null,
    incomplete_details: reason === undefined ? null : { reason },
    completed_at: Math.floor(Date.now() / 1000),
    latency_ms: Math.round(performance.now() - exchange.startedAt),
  }
}

/** Reasons that make a response incomplete, as OpenAI names them. */
const INCOMPLETE: Readonly<Partial<Record<FinishReason, string>>> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
}

/** The status of the item in which the model stopped. */
export function toLastItemStatus(finish: FinishReason): ItemStatus {
  return INCOMPLETE[finish] === undefined ? 'completed' : 'incomplete'
}

/** The response that failed, perhaps half-way. */
export function toFailedResponse(
  opened: JsonObject,
  error: GatewayError,
  output: readonly JsonObject[] = [],
): JsonObject {
  const { wireCode: code, message } = error
  return { ...opened, status: 'failed', output, error: { code, message } }
}

/** The response whose client left before it was done. */
export function toCancelledResponse(opened: JsonObject, output: readonly JsonObject[] = []): JsonObject {
  return { ...opened, status: 'cancelled', output }
}

/** A finished response as it was when the model began to answer. */
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

/** Token counts as the Responses API names them. */
function usageOf({ input, output, cached, cacheWrite, reasoning }: Usage): JsonObject {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached ?? 0, cache_write_tokens: cacheWrite ?? 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning ?? 0 },
    total_tokens: input + output,
  }
}

/** The caller's own metadata and what the gateway says, side by side; the gateway's wins. */
function metadataOf({ body }: ResponsesCall, { target, route, decoration }: Exchange): JsonObject {
  const said = decoration?.first.metadata
  return {
    ...body.metadata,
    provider: target?.provider ?? null,
    routing_mode: route?.mode ?? null,
    ...(isJsonObject(said) && said),
  }
}

/** The instructions as they went to the model: the firewall may have masked them. */
function readInstructions({ body, inputCount, earlierCount }: ResponsesCall, { request }: Exchange): unknown {
  if (!body.instructions) return null
  return request.messages.at(-1 - inputCount - earlierCount)?.content ?? null
}

/** A response, which is made in OpenAI's form, in the form that a caller reads (docs/api.md, "Response object"). */
export function toResponseForm(response: JsonObject, form: ResponseForm): JsonObject {
  if (form === 'openai' || !Array.isArray(response.output)) return response
  const { reasoning } = response
  const wantsThoughts = isJsonObject(reasoning) && reasoning.summary !== null
  const items: JsonObject[] = response.output
  return {
    ...response,
    output: items.filter(({ type }) => wantsThoughts || type !== 'reasoning').map(shapeItem),
  }
}

function shapeItem(item: JsonObject): JsonObject {
  return Array.isArray(item.content) ? { ...item, content: item.content.map(shapePart) } : item
}

function shapePart(part: JsonObject): JsonObject {
  return part.type === 'output_text' ? { type: 'text', text: part.text } : part
}
