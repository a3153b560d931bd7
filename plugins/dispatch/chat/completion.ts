import {
  isJsonObject,
  type JsonObject,
  type RepliedExchange,
  type ReplyPart,
  type Target,
  type ToolStart,
  type Usage,
} from '../../../core/contract/index.ts'
import { NATIVE, type NativeRecord } from '../../../core/contract/native-records.ts'
import { encodeReasoning, ReasoningCollector } from '../../../core/dialects/carried-reasoning.ts'
import { warnOfLostPart, wholeReply } from '../../../core/dialects/reply-parts.ts'
import { writeDecorated } from '../../../core/dialects/signalbox-fields.ts'
import { relatedId } from '../../../core/util/ids.ts'
import {
  describeParts,
  findUsage,
  hasTexts,
  isRegularCall,
  isRegularEnvelope,
  isRegularFinish,
  isRegularUsage,
  otherFieldsOf,
  textOf,
  toCallDeltas,
  toCompletionToolCall,
  toRegularUsage,
  withRegularEnvelope,
  withTexts,
} from './regular-chunks.ts'

/**
 * Writes a chat completion with the gateway's extension fields as JSON. If the provider uses the same format,
 * all of its fields are kept.
 */
export function buildChatCompletion(exchange: RepliedExchange): string {
  const event = wholeReply(exchange)
  const native = event[NATIVE]
  const id = relatedId('chatcmpl-', exchange.id)
  if (native === undefined) for (const part of event.parts) warnOfLostPart(exchange, part)
  const extension = exchange.decoration?.last()
  const known = native && extension && spliceKnown(native, event.parts, id, extension)
  if (known !== undefined) return known
  const { record, source } = native ?? {}
  if (record === undefined) {
    const completion = buildCompletionFromParts(event.parts, exchange.target)
    const model = completion.model || (exchange.target?.model ?? '')
    return writeDecorated({ ...completion, id, model }, extension)
  }
  if (!isRegularCompletion(record, event.parts)) {
    const completion = toRegularCompletion(record, event.parts, exchange.target?.model ?? '')
    return writeDecorated({ ...completion, id }, extension)
  }
  const spliced = source && extension && spliceCompletion(source, record, id, extension)
  return spliced || writeDecorated({ ...record, id }, extension)
}

const KIND = 'chat.completion'

/** True if a provider's completion says what its parts say, with all fields that OpenAI's clients require. */
function isRegularCompletion(record: JsonObject, parts: readonly ReplyPart[]): boolean {
  const { choices, usage } = record
  if (!isRegularEnvelope(record, KIND) || !Array.isArray(choices) || choices.length !== 1) return false
  const choice: unknown = choices[0]
  if (!isJsonObject(choice) || choice.index !== 0 || choice.logprobs === undefined) return false
  const { message } = choice
  if (!isJsonObject(message) || message.role !== 'assistant' || message.refusal === undefined) return false
  if (message.content === undefined || !hasTexts(message)) return false
  const { finish, hasCalls } = describeParts(parts)
  if (!isRegularFinish(choice.finish_reason, finish)) return false
  const counted = findUsage(parts)
  if (counted === undefined ? usage != null : !isRegularUsage(usage, counted)) return false
  const { tool_calls: calls } = message
  if (calls === undefined) return !hasCalls
  const deltas = toCallDeltas(parts)
  return (
    Array.isArray(calls) &&
    calls.length === deltas.length &&
    deltas.every((delta, position) => isRegularCall(calls[position], delta, undefined))
  )
}

/** Corrects a completion by its parts. Fields that no part describes are kept. */
function toRegularCompletion(record: JsonObject, parts: readonly ReplyPart[], model: string): JsonObject {
  const built = buildCompletionFromParts(parts, undefined)
  const [choice] = Array.isArray(built.choices) ? built.choices : []
  const native = asMap(asList(record.choices).find((each) => asMap(each).message !== undefined))
  const { tool_calls, content, ...message } = asMap(native.message)
  const natives = asList(tool_calls)
  const calls = toCallDeltas(parts).map(({ start, json }, position) => ({
    ...otherFieldsOf(natives[position]),
    ...(start && toCompletionToolCall(start, json)),
  }))
  const isText = typeof content === 'string' || content === null
  const reasoning = textOf(parts, 'reasoning')
  const finish = choice.finish_reason
  const regular = {
    logprobs: null,
    ...native,
    index: 0,
    message: {
      refusal: null,
      ...withTexts(message),
      role: 'assistant',
      content: isText ? content : choice.message.content,
      ...(Array.isArray(content) && reasoning && { reasoning_content: reasoning }),
      ...(calls.length > 0 && { tool_calls: calls }),
    },
    finish_reason: isRegularFinish(native.finish_reason, finish) ? native.finish_reason : finish,
  }
  const fields = { created: Number(built.created), model: String(built.model) || model }
  const { usage: _, ...completion } = withRegularEnvelope(record, KIND, fields, regular)
  const counted = findUsage(parts)
  return counted === undefined
    ? completion
    : { ...completion, usage: toRegularUsage(record.usage, toCompletionUsage(counted), counted) }
}

function asMap(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {}
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** The start of a JSON object up to and including its `id`, if that is the first field. */
const ID_FIRST = /^\s*\{\s*"id"\s*:\s*"([^"\\]*)"\s*,/

/** The same for a reply of a known form, without its record. */
function spliceKnown(
  native: NativeRecord,
  parts: readonly ReplyPart[],
  id: string,
  extension: JsonObject,
): string | undefined {
  const { reply, source, idEnd } = native
  if (reply === undefined || source === undefined || idEnd === undefined) return undefined
  reply.isRegular ??= isRegularCompletion(native.record, parts)
  if (!reply.isRegular) return undefined
  for (const name in extension) if (reply.names.has(name)) return undefined
  return spliceAfter(idEnd + 2, source, id, extension)
}

/**
 * Replaces the id and adds the extension fields in a provider's JSON text, because serializing an object
 * again is more expensive than parsing it. Returns undefined if the text does not start with the id, if the
 * completion already has one of the fields, or if there is nothing to add.
 */
export function spliceCompletion(
  source: string,
  native: JsonObject,
  id: string,
  extension: JsonObject,
): string | undefined {
  const head = ID_FIRST.exec(source)
  if (head === null || head[1] !== native.id) return undefined
  for (const name in extension) if (name in native) return undefined
  return spliceAfter(head[0].length, source, id, extension)
}

/** Replaces what is before a position, which is the id and its comma. */
function spliceAfter(start: number, source: string, id: string, extension: JsonObject): string | undefined {
  const fields = JSON.stringify(extension)
  if (fields === '{}') return undefined
  const end = source.endsWith('}') ? source.length - 1 : source.lastIndexOf('}')
  return `{"id":"${id}",${source.slice(start, end)},${fields.slice(1)}`
}

/**
 * Builds a chat completion from the parts of a whole reply. Its `id` is left empty. `target` is the one
 * that replied.
 */
export function buildCompletionFromParts(parts: readonly ReplyPart[], target?: Target): JsonObject {
  const collector = new ReasoningCollector(target)
  let model = ''
  let usage: JsonObject | undefined
  let finishReason = 'stop'
  const texts = { text: '', reasoning: '', refusal: '' }
  const images: JsonObject[] = []
  const starts: ToolStart[] = []
  const inputs: string[] = []
  for (const part of parts) {
    switch (part.type) {
      case 'start':
        model = part.model
        break
      case 'text':
      case 'reasoning':
      case 'refusal':
        texts[part.type] += part.text
        collector.add(part)
        break
      case 'image':
        images.push(toCompletionImage(part.url, images.length))
        break
      case 'tool-start':
        starts[part.index] = withCarriedReasoning(part, collector)
        break
      case 'tool-json':
        inputs[part.index] = (inputs[part.index] ?? '') + part.json
        break
      case 'usage':
        usage = toCompletionUsage(part.usage)
        break
      case 'finish':
        finishReason = part.reason
        break
      case 'extra':
        collector.add(part)
        break
      case 'unread':
      case 'embedding':
      case 'moderation':
        break
      default:
        part satisfies never
    }
  }
  const toolCalls = starts.map((start, index) => toCompletionToolCall(start, inputs[index]))
  const message = {
    role: 'assistant',
    content: texts.text === '' && toolCalls.length > 0 ? null : texts.text,
    refusal: texts.refusal || null,
    ...(texts.reasoning && { reasoning_content: texts.reasoning }),
    ...(images.length > 0 && { images }),
    ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
  }
  return {
    id: '',
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason }],
    ...(usage && { usage }),
  }
}

/**
 * Adds what the provider wants back with the reasoning before the call, which chat completions have no field
 * for. The signature of the call itself is there already.
 */
export function withCarriedReasoning(call: ToolStart, collector: ReasoningCollector): ToolStart {
  const data = collector.take()
  return data.length === 0
    ? call
    : { ...call, extra_content: { ...call.extra_content, reasoning: encodeReasoning(data) } }
}

/** An image of a reply in the form of LiteLLM and OpenRouter: OpenAI's format has none. */
export function toCompletionImage(url: string, index: number): JsonObject {
  return { type: 'image_url', index, image_url: { url } }
}

/** Converts token counts to the chat-completions format. */
export function toCompletionUsage(usage: Usage): JsonObject {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: {
      cached_tokens: usage.cached ?? 0,
      ...(usage.cacheWrite !== undefined && { cache_write_tokens: usage.cacheWrite }),
    },
    completion_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
  }
}
