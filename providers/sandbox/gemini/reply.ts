import type { FinishReason, JsonObject, SseEvent } from '../../../core/contract/index.ts'
import type { ChatCall, StreamEvents } from '../format.ts'
import type { ModelReply, ModelToolCall } from '../model-request.ts'
import { splitText } from '../tokens.ts'

const REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'STOP',
  tool_calls: 'STOP',
  length: 'MAX_TOKENS',
  content_filter: 'PROHIBITED_CONTENT',
}

/** Writes answers as GenerateContentResponse, whole or in fragments; a model that signs gives its calls ids too. */
export function createGeminiReplyEncoder(signs: boolean): Pick<ChatCall, 'toBody' | 'toStream'> {
  function toBody(answer: ModelReply): string {
    const { reasoning, text } = answer
    const thoughts = reasoning === undefined ? [] : [{ text: reasoning, thought: true }]
    const said = text === '' ? [] : [{ text, ...(signs && buildSignature(answer)) }]
    const parts = [...thoughts, ...said, ...toFunctionCallParts(answer)]
    return JSON.stringify({
      ...buildCandidate(answer, parts, true),
      ...buildMetadata(answer, toUsage(answer)),
    })
  }

  /** As newer models do, the reason for the end comes in a fragment of its own, with an empty text. */
  function toStream(answer: ModelReply): StreamEvents {
    const tail = buildMetadata(answer, {
      promptTokenCount: answer.usage.input,
      totalTokenCount: answer.usage.input,
    })
    const thoughts = splitText(answer.reasoning ?? '').map((text) => ({ text, thought: true }))
    const texts = splitText(answer.text).map((text) => ({ text }))
    const parts = [...thoughts, ...texts, ...toFunctionCallParts(answer)]
    const last = { text: '', ...(signs && answer.text !== '' && buildSignature(answer)) }
    return {
      content: parts.map((part) => toEvent({ ...buildCandidate(answer, [part], false), ...tail })),
      closing: [
        toEvent({ ...buildCandidate(answer, [last], true), ...buildMetadata(answer, toUsage(answer)) }),
      ],
    }
  }

  /** Only the first of parallel calls is signed. */
  function toFunctionCallParts(answer: ModelReply): readonly JsonObject[] {
    return answer.toolCalls.map((call, index) => ({
      functionCall: toFunctionCall(call),
      ...(signs && index === 0 && buildSignature(answer)),
    }))
  }

  function toFunctionCall({ id, name, argumentsJson: json }: ModelToolCall): JsonObject {
    return { name, args: JSON.parse(json), ...(signs && { id }) }
  }

  return { toBody: toBody, toStream: toStream }
}

function toEvent(record: JsonObject): SseEvent {
  return { event: '', data: JSON.stringify(record) }
}

function buildSignature({ id }: ModelReply): JsonObject {
  return { thoughtSignature: Buffer.from(`thoughts of ${id}`).toString('base64') }
}

/** The candidate; a refused prompt has none. */
function buildCandidate(answer: ModelReply, parts: readonly JsonObject[], isLast: boolean): JsonObject {
  if (answer.refusal !== undefined) return { promptFeedback: { blockReason: REASONS[answer.finish] } }
  const finishReason = isLast ? { finishReason: REASONS[answer.finish] } : {}
  const content = { ...(parts.length > 0 && { parts }), role: 'model' }
  return { candidates: [{ content, ...finishReason, index: 0 }] }
}

function buildMetadata({ id, model }: ModelReply, usageMetadata: JsonObject): JsonObject {
  return { usageMetadata, modelVersion: model, responseId: id }
}

/** Thoughts are counted apart, and zeros left out. */
function toUsage({ usage: { input, output, cached = 0, reasoning = 0 } }: ModelReply): JsonObject {
  const counts = {
    promptTokenCount: input,
    candidatesTokenCount: output - reasoning,
    totalTokenCount: input + output,
    cachedContentTokenCount: cached,
    thoughtsTokenCount: reasoning,
  }
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
}
