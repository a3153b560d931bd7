import {
  type ChatRequest,
  type FinishReason,
  ReplyEvent,
  type ReplyPart,
  type Usage,
} from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import type { SseEvent, StreamReader } from '../../core/contract/provider.ts'
import { toServedTier, toToolCalls } from '../../core/prices/price-terms.ts'
import { parseJsonObject } from '../../core/util/json.ts'
import { isChatErrorRecord, parseChatErrorRecord } from '../chat-format/errors.ts'
import { parseChatReply } from '../chat-format/reply.ts'
import { createChatStreamReader } from '../chat-format/stream.ts'
import { incompleteReplyError, malformedRecordError, unusableReplyError } from '../shared/errors.ts'
import { asObject, asObjects, asString, asTokens, toArgumentsJson, toUnreadPart } from '../shared/fields.ts'
import { toReplyEvents } from '../shared/stream.ts'
import type { RunReader } from '../shared/text-run.ts'

/** Parses a chat completion or a response. Throws a `GatewayError` for an error and for any other value. */
export function parseOpenAiReply(body: unknown): ReplyEvent {
  const native = asObject(body)
  return native.object === 'response' ? parseResponse(native) : parseChatReply(body)
}

/** Reads the stream of a chat completion or of a response: their first events differ. */
export function createOpenAiStreamReader(request?: ChatRequest): RunReader {
  let reader: RunReader | undefined
  return {
    isDone: () => reader?.isDone?.() === true,
    read(event) {
      reader ??= isResponseEvent(event) ? createResponseStreamReader() : createChatStreamReader(request)
      return reader.read(event)
    },
    readRun: (body, start, isAscii) => reader?.readRun?.(body, start, isAscii),
    end() {
      if (reader === undefined) throw incompleteReplyError()
      return reader.end()
    },
  }
}

/** Some servers send no event names; the type is in the data, too. */
function isResponseEvent({ event, data }: SseEvent): boolean {
  if (event !== '') return event.startsWith('response.') || event === 'error'
  return /"type"\s*:\s*"response\./.test(data)
}

function parseResponse(response: JsonObject): ReplyEvent {
  throwIfFailed(response)
  if (!Array.isArray(response.output)) throw unusableReplyError("The provider's reply is not a response.")
  const parts: ReplyPart[] = [toStart(response)]
  let callCount = 0
  for (const item of asObjects(response.output))
    parts.push(...(isCall(item) ? toCallParts(item, callCount++) : toItemParts(item)))
  parts.push(...toEndParts(response, callCount > 0).toReversed())
  return new ReplyEvent(parts)
}

function isCall({ type }: JsonObject): boolean {
  return type === 'function_call' || type === 'custom_tool_call'
}

function toItemParts(item: JsonObject): readonly ReplyPart[] {
  return [...toTextParts(item), ...toWholeParts(item)]
}

function throwIfFailed(response: JsonObject): void {
  if (isChatErrorRecord(response)) throw parseChatErrorRecord(response)
  if (response.status !== 'failed' && response.status !== 'cancelled') return
  throw new GatewayError('provider_error', `The provider's response is ${response.status}.`)
}

function toStart({ id, model }: JsonObject): ReplyPart {
  return { type: 'start', id: asString(id), model: asString(model) }
}

function toTextParts({ type, content, summary }: JsonObject): readonly ReplyPart[] {
  return asObjects(type === 'reasoning' ? summary : content).flatMap((part): readonly ReplyPart[] => {
    if (part.type === 'refusal') return [{ type: 'refusal', text: asString(part.refusal) }]
    if (typeof part.text !== 'string') return [toUnreadPart(part.type)]
    return [{ type: type === 'reasoning' ? 'reasoning' : 'text', text: asString(part.text) }]
  })
}

/** What is read from a complete item, also in streams. */
function toWholeParts(item: JsonObject): readonly ReplyPart[] {
  const { type, result, output_format = 'png' } = item
  if (type === 'image_generation_call' && asString(result) !== '')
    return [{ type: 'image', url: `data:image/${asString(output_format)};base64,${asString(result)}` }]
  return READ_ITEMS.has(type) ? toEncryptedParts(item) : [toUnreadPart(type)]
}

const READ_ITEMS: ReadonlySet<unknown> = new Set([
  ...['message', 'reasoning', 'function_call', 'custom_tool_call'],
])

/** Encrypted reasoning is sent back without its summary, which a rule may have changed. */
function toEncryptedParts({ type, id, encrypted_content }: JsonObject): readonly ReplyPart[] {
  if (type !== 'reasoning' || asString(encrypted_content) === '') return []
  return [{ type: 'extra', place: 'block', content: { openai: { type, id, encrypted_content } } }]
}

function toCallStart({ type, call_id, id, name }: JsonObject, index: number): ReplyPart {
  const isCustom = type === 'custom_tool_call'
  const start = { type: 'tool-start' as const, index, id: asString(call_id ?? id), name: asString(name) }
  return isCustom ? { ...start, custom: true } : start
}

/** The arguments of a function, or the input of a custom tool. */
function inputOf({ type, input, arguments: json }: JsonObject): string {
  return type === 'custom_tool_call' ? asString(input) : toArgumentsJson(json)
}

function toCallParts(item: JsonObject, index: number): readonly ReplyPart[] {
  const json = inputOf(item)
  const start = toCallStart(item, index)
  return json === '' ? [start] : [start, { type: 'tool-json', index, json }]
}

/** The finish reason, then the usage. */
function toEndParts(response: JsonObject, hasCalls: boolean): readonly ReplyPart[] {
  const usage = toUsage(response)
  const finish: ReplyPart = { type: 'finish', reason: toFinishReason(response, hasCalls) }
  return usage === undefined ? [finish] : [finish, { type: 'usage', usage }]
}

function toFinishReason({ status, incomplete_details }: JsonObject, hasCalls: boolean): FinishReason {
  if (status === 'incomplete')
    return asObject(incomplete_details).reason === 'content_filter' ? 'content_filter' : 'length'
  return hasCalls ? 'tool_calls' : 'stop'
}

function toUsage({ usage: value, service_tier: tier, output: items }: JsonObject): Usage | undefined {
  if (!isJsonObject(value)) return undefined
  const { cached_tokens, cache_write_tokens } = asObject(value.input_tokens_details)
  const reasoning = asTokens(asObject(value.output_tokens_details).reasoning_tokens)
  const cached = asTokens(cached_tokens)
  const cacheWrite = asTokens(cache_write_tokens)
  return {
    input: asTokens(value.input_tokens) ?? 0,
    output: asTokens(value.output_tokens) ?? 0,
    ...(cached !== undefined && { cached }),
    ...(cacheWrite !== undefined && { cacheWrite }),
    ...(reasoning !== undefined && { reasoning }),
    ...toServedTier(tier),
    ...toToolCalls(...asObjects(items).map(toPaidCall)),
  }
}

/** The call of a tool that OpenAI runs. It charges for searches, not for pages that are opened. */
function toPaidCall({ type, action }: JsonObject): JsonObject {
  const name = asString(type)
  if (name === 'web_search_call' && (asObject(action).type ?? 'search') !== 'search') return {}
  return PAID_CALLS.has(name) ? { [name]: 1 } : {}
}

const PAID_CALLS = new Set([
  ...['web_search_call', 'file_search_call', 'code_interpreter_call', 'image_generation_call'],
])

/**
 * Reads the events of a response: https://platform.openai.com/docs/api-reference/responses-streaming. The
 * reply starts with its first content: until then another target can still answer. Some providers send no
 * deltas, or the whole output at the end only.
 */
function createResponseStreamReader(): StreamReader {
  /** The calls, by the index of their item. */
  const calls = new Map<unknown, { readonly index: number; hasJson: boolean }>()
  /** The indexes of the items of which something has arrived. */
  const seen = new Set<unknown>()
  let callCount = 0
  let start: ReplyPart | undefined
  let isDone = false

  function toDelta(type: 'text' | 'refusal' | 'reasoning', event: JsonObject): readonly ReplyPart[] {
    seen.add(event.output_index)
    return [{ type, text: asString(event.delta) }]
  }

  /** Returns what the deltas have not said of a complete item. */
  function toRest(item: JsonObject, output_index: unknown): readonly ReplyPart[] {
    const isNew = !seen.has(output_index) && !seen.has(undefined)
    seen.add(output_index)
    if (isNew) return isCall(item) ? toCallParts(item, callCount++) : toItemParts(item)
    const hasJson = calls.get(output_index)?.hasJson !== false
    return hasJson ? toWholeParts(item) : toInputParts(output_index, inputOf(item))
  }

  function toEnd(response: JsonObject): readonly ReplyPart[] {
    isDone = true
    const output = seen.size === 0 ? asObjects(response.output) : []
    return [...output.flatMap(toRest), ...toEndParts(response, callCount > 0)]
  }

  function toInputParts(output_index: unknown, json: string): readonly ReplyPart[] {
    const call = calls.get(output_index)
    if (call === undefined || json === '') return []
    call.hasJson = true
    return [{ type: 'tool-json', index: call.index, json }]
  }

  function toParts({ type, ...event }: JsonObject): readonly ReplyPart[] {
    switch (type) {
      case 'response.created':
        start = toStart(asObject(event.response))
        return []
      case 'response.output_text.delta':
        return toDelta('text', event)
      case 'response.refusal.delta':
        return toDelta('refusal', event)
      case 'response.reasoning_summary_text.delta':
        return toDelta('reasoning', event)
      case 'response.output_item.added': {
        const item = asObject(event.item)
        if (!isCall(item)) return []
        const index = callCount++
        calls.set(event.output_index, { index, hasJson: false })
        seen.add(event.output_index)
        return [toCallStart(item, index)]
      }
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        return toInputParts(event.output_index, asString(event.delta))
      case 'response.output_item.done':
        return toRest(asObject(event.item), event.output_index)
      case 'response.completed':
      case 'response.incomplete':
        return toEnd(asObject(event.response))
      case 'response.failed':
        throwIfFailed(asObject(event.response))
        throw new GatewayError('provider_error', "The provider's response failed.")
      case 'error':
        throw parseChatErrorRecord({ error: event })
      default:
        return []
    }
  }

  return {
    isDone: () => isDone,
    read({ data }) {
      if (isDone || data === '') return []
      const event = parseJsonObject(data)
      if (event === undefined) throw malformedRecordError()
      if (isChatErrorRecord(event)) throw parseChatErrorRecord(event)
      const parts = toParts(event)
      if (start === undefined || parts.length === 0) return toReplyEvents(parts)
      const first = [start, ...parts]
      start = undefined
      return toReplyEvents(first)
    },
    end() {
      if (isDone) return []
      throw incompleteReplyError()
    },
  }
}
