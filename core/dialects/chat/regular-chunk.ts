import { isJsonObject, type JsonObject, type ReplyPart } from '../../contract/index.ts'
import { toCompletionToolCall } from './completion.ts'
import {
  describeParts,
  type EnvelopeFields,
  hasTexts,
  isRegularCall,
  isRegularEnvelope,
  isRegularFinish,
  otherFieldsOf,
  textOf,
  toCallDeltas,
  withRegularEnvelope,
  withTexts,
} from './regular-record.ts'

const KIND = 'chat.completion.chunk'

/**
 * True if a provider's chunk says what its parts say, as OpenAI writes it, so that clients can read it as it
 * is. Its id is replaced, and its usage moved, anyway.
 */
export function isRegularChunk(record: JsonObject, parts: readonly ReplyPart[]): boolean {
  const { choices } = record
  if (!isRegularEnvelope(record, KIND) || !Array.isArray(choices) || choices.length !== 1) return false
  const choice: unknown = choices[0]
  if (!isJsonObject(choice) || choice.index !== 0 || !isJsonObject(choice.delta)) return false
  const { role, tool_calls: calls } = choice.delta
  const { isStart, finish, hasCalls } = describeParts(parts)
  if (role !== (isStart ? 'assistant' : undefined) || !isRegularFinish(choice.finish_reason, finish))
    return false
  if (!hasTexts(choice.delta)) return false
  if (!hasCalls) return calls === undefined
  const deltas = toCallDeltas(parts)
  return (
    Array.isArray(calls) &&
    calls.length === deltas.length &&
    deltas.every((delta, position) => isRegularCall(calls[position], delta, delta.index))
  )
}

/**
 * Corrects a chunk by its parts. Fields that no part describes are kept. `customCalls` are the numbers of the
 * calls of custom tools.
 */
export function toRegularChunk(
  record: JsonObject,
  parts: readonly ReplyPart[],
  fields: EnvelopeFields,
  customCalls: ReadonlySet<number>,
): JsonObject {
  const choices = Array.isArray(record.choices) ? record.choices.filter(isJsonObject) : []
  const isEmpty = choices.length === 0 && parts.every(({ type }) => type === 'usage')
  const choice = isEmpty ? undefined : toRegularChoice(choices[0] ?? {}, parts, customCalls)
  return withRegularEnvelope(record, KIND, fields, choice)
}

function toRegularChoice(
  choice: JsonObject,
  parts: readonly ReplyPart[],
  customCalls: ReadonlySet<number>,
): JsonObject {
  const { role: _, tool_calls, ...delta } = isJsonObject(choice.delta) ? choice.delta : ({} as JsonObject)
  const { isStart, finish } = describeParts(parts)
  const natives: readonly unknown[] = Array.isArray(tool_calls) ? tool_calls : []
  const calls = toCallDeltas(parts).map(({ index, start, json }, position) => {
    const native = natives[position]
    if (start !== undefined) return { index, ...otherFieldsOf(native), ...toCompletionToolCall(start, json) }
    const isCustom = customCalls.has(index) || (isJsonObject(native) && isJsonObject(native.custom))
    return { index, ...(isCustom ? { custom: { input: json } } : { function: { arguments: json } }) }
  })
  const reasoning = Array.isArray(delta.content) ? textOf(parts, 'reasoning') : ''
  return {
    logprobs: null,
    ...choice,
    index: 0,
    delta: {
      ...(isStart && { role: 'assistant' }),
      ...withTexts(delta),
      ...(Array.isArray(delta.content) && { content: textOf(parts, 'text') }),
      ...(reasoning && { reasoning_content: reasoning }),
      ...(calls.length > 0 && { tool_calls: calls }),
    },
    finish_reason: isRegularFinish(choice.finish_reason, finish)
      ? (choice.finish_reason ?? null)
      : (finish ?? null),
  }
}
