import type { FinishReason, JsonObject, SseEvent } from '../../../core/contract/index.ts'
import type { Call, StreamEvents } from '../format.ts'
import type { Answer, ToolRequest } from '../model-request.ts'
import { splitText } from '../tokens.ts'

const REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'STOP',
  tool_calls: 'STOP',
  length: 'MAX_TOKENS',
  content_filter: 'PROHIBITED_CONTENT',
}

/** Writes answers as GenerateContentResponse, whole or in fragments; a model that signs gives its calls ids too. */
export function createReplyWriter(signs: boolean): Pick<Call, 'writeWhole' | 'writeStream'> {
  function writeWhole(answer: Answer): string {
    const { reasoning, text } = answer
    const thoughts = reasoning === undefined ? [] : [{ text: reasoning, thought: true }]
    const said = text === '' ? [] : [{ text, ...(signs && sign(answer)) }]
    const parts = [...thoughts, ...said, ...writeCalls(answer)]
    return JSON.stringify({ ...writeSaid(answer, parts, true), ...writeTail(answer, writeUsage(answer)) })
  }

  /** As newer models do, the reason for the end comes in a fragment of its own, with an empty text. */
  function writeStream(answer: Answer): StreamEvents {
    const tail = writeTail(answer, {
      promptTokenCount: answer.usage.input,
      totalTokenCount: answer.usage.input,
    })
    const thoughts = splitText(answer.reasoning ?? '').map((text) => ({ text, thought: true }))
    const texts = splitText(answer.text).map((text) => ({ text }))
    const parts = [...thoughts, ...texts, ...writeCalls(answer)]
    const last = { text: '', ...(signs && answer.text !== '' && sign(answer)) }
    return {
      content: parts.map((part) => write({ ...writeSaid(answer, [part], false), ...tail })),
      closing: [write({ ...writeSaid(answer, [last], true), ...writeTail(answer, writeUsage(answer)) })],
    }
  }

  /** Only the first of parallel calls is signed. */
  function writeCalls(answer: Answer): readonly JsonObject[] {
    return answer.toolCalls.map((call, index) => ({
      functionCall: writeCall(call),
      ...(signs && index === 0 && sign(answer)),
    }))
  }

  function writeCall({ id, name, json }: ToolRequest): JsonObject {
    return { name, args: JSON.parse(json), ...(signs && { id }) }
  }

  return { writeWhole, writeStream }
}

function write(record: JsonObject): SseEvent {
  return { event: '', data: JSON.stringify(record) }
}

function sign({ id }: Answer): JsonObject {
  return { thoughtSignature: Buffer.from(`thoughts of ${id}`).toString('base64') }
}

/** The candidate; a refused prompt has none. */
function writeSaid(answer: Answer, parts: readonly JsonObject[], isLast: boolean): JsonObject {
  if (answer.refusal !== undefined) return { promptFeedback: { blockReason: REASONS[answer.finish] } }
  const finishReason = isLast ? { finishReason: REASONS[answer.finish] } : {}
  const content = { ...(parts.length > 0 && { parts }), role: 'model' }
  return { candidates: [{ content, ...finishReason, index: 0 }] }
}

function writeTail({ id, model }: Answer, usageMetadata: JsonObject): JsonObject {
  return { usageMetadata, modelVersion: model, responseId: id }
}

/** Thoughts are counted apart, and zeros left out. */
function writeUsage({ usage: { input, output, cached = 0, reasoning = 0 } }: Answer): JsonObject {
  const counts = {
    promptTokenCount: input,
    candidatesTokenCount: output - reasoning,
    totalTokenCount: input + output,
    cachedContentTokenCount: cached,
    thoughtsTokenCount: reasoning,
  }
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
}
