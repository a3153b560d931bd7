import type { FinishReason, JsonObject } from '../../../core/contract/index.ts'
import { issueReasoning } from '../shared/issued-reasoning.ts'
import { countSearches, type ModelReply, type ModelToolCall, SAMPLE_PNG } from '../shared/model-reply.ts'
import { splitText } from '../shared/tokens.ts'
import { type ChatCall, type StreamEvents, toDataEvent } from '../shared/wire-format.ts'

/**
 * Encodes replies as GenerateContentResponse. With `hasSignatures`, text and function calls have thought
 * signatures, and function calls have ids.
 */
export function createGeminiReplyEncoder(hasSignatures: boolean): Pick<ChatCall, 'toBody' | 'toStream'> {
  function toBody(reply: ModelReply): string {
    const { reasoning, text } = reply
    const thoughtParts = reasoning === undefined ? [] : [{ text: reasoning, thought: true }]
    const textParts = text === '' ? [] : [{ text, ...(hasSignatures && buildSignature(reply)) }]
    const parts = [...thoughtParts, ...textParts, ...toMediaParts(reply), ...toFunctionCallParts(reply)]
    return JSON.stringify({
      ...buildCandidate(reply, parts, true),
      ...buildMetadata(reply, toUsage(reply)),
    })
  }

  /** Like newer models, sends the finish reason in a separate last event with an empty text. */
  function toStream(reply: ModelReply): StreamEvents {
    const { input } = reply.usage
    const interimMetadata = buildMetadata(reply, { promptTokenCount: input, totalTokenCount: input })
    const thoughtParts = splitText(reply.reasoning ?? '').map((text) => ({ text, thought: true }))
    const textParts = splitText(reply.text).map((text) => ({ text }))
    const parts = [...thoughtParts, ...textParts, ...toMediaParts(reply), ...toFunctionCallParts(reply)]
    const lastPart = { text: '', ...(hasSignatures && reply.text !== '' && buildSignature(reply)) }
    return {
      content: parts.map((part) =>
        toDataEvent({ ...buildCandidate(reply, [part], false), ...interimMetadata }),
      ),
      closing: [
        toDataEvent({ ...buildCandidate(reply, [lastPart], true), ...buildMetadata(reply, toUsage(reply)) }),
      ],
    }
  }

  /** Only the first of parallel calls has a signature. */
  function toFunctionCallParts(reply: ModelReply): readonly JsonObject[] {
    return reply.toolCalls.map((call, index) => ({
      functionCall: toFunctionCall(call),
      ...(hasSignatures && index === 0 && buildSignature(reply)),
    }))
  }

  function toFunctionCall({ id, name, argumentsJson }: ModelToolCall): JsonObject {
    const args = argumentsJson !== '' && { args: JSON.parse(argumentsJson) }
    return { name, ...args, ...(hasSignatures && { id }) }
  }

  return { toBody, toStream }
}

function buildSignature({ id }: ModelReply): JsonObject {
  return { thoughtSignature: issueReasoning('gemini', id) }
}

function toMediaParts({ media }: ModelReply): readonly JsonObject[] {
  if (media === undefined) return []
  return [media === 'image' ? { inlineData: { mimeType: 'image/png', data: SAMPLE_PNG } } : { hologram: {} }]
}

const FINISH_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'STOP',
  tool_calls: 'STOP',
  length: 'MAX_TOKENS',
  content_filter: 'PROHIBITED_CONTENT',
}

/** A refusal is a blocked prompt, which has no candidate. */
function buildCandidate(reply: ModelReply, parts: readonly JsonObject[], isLast: boolean): JsonObject {
  const reason = FINISH_REASONS[reply.finish]
  if (reply.refusal !== undefined) return { promptFeedback: { blockReason: reason } }
  const content = { ...(parts.length > 0 && { parts }), role: 'model' }
  const queries = Array.from({ length: isLast ? countSearches(reply) : 0 }, () => 'sandbox')
  const grounding = queries.length > 0 && { groundingMetadata: { webSearchQueries: queries } }
  return { candidates: [{ content, ...(isLast && { finishReason: reason }), ...grounding, index: 0 }] }
}

function buildMetadata({ id, model }: ModelReply, usageMetadata: JsonObject): JsonObject {
  return { usageMetadata, modelVersion: model, responseId: id }
}

/** Candidate tokens exclude thought tokens. Counts of zero are omitted. */
function toUsage({ usage: { input, output, cached = 0, reasoning = 0, tier } }: ModelReply): JsonObject {
  const counts = {
    promptTokenCount: input,
    candidatesTokenCount: output - reasoning,
    totalTokenCount: input + output,
    cachedContentTokenCount: cached,
    thoughtsTokenCount: reasoning,
  }
  const used = Object.entries(counts).filter(([, count]) => count > 0)
  return { ...Object.fromEntries(used), ...(tier !== undefined && { serviceTier: tier }) }
}
