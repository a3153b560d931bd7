import type { JsonObject, SseEvent } from '../../../core/contract/index.ts'
import type { StreamEvents } from '../format.ts'
import type { Answer, ToolRequest } from '../model-request.ts'
import { writeUsage } from '../openai/reply.ts'
import { splitText } from '../tokens.ts'

/** An answer as one `chat.completion`. Thoughts make its content a list; `content_filter` is no reason that Mistral has. */
export function writeWhole(answer: Answer): string {
  const { reasoning, text, toolCalls, finish } = answer
  const message = {
    role: 'assistant',
    tool_calls: toolCalls.length > 0 ? toolCalls.map(writeToolCall) : null,
    content: reasoning === undefined ? text : [think(reasoning, true), { type: 'text', text }],
  }
  return JSON.stringify({
    ...writeEnvelope(answer, 'chat.completion'),
    choices: [{ index: 0, message, finish_reason: finish }],
    usage: writeOwnUsage(answer),
  })
}

/** An answer as `chat.completion.chunk` records; tool calls, finish and usage share the last one. */
export function writeStream(answer: Answer): StreamEvents {
  const { reasoning = '', text, toolCalls, finish } = answer
  const envelope = writeEnvelope(answer, 'chat.completion.chunk')
  const chunk = (delta: JsonObject) =>
    write({ ...envelope, choices: [{ index: 0, delta, finish_reason: null }] })
  const thoughts = splitText(reasoning).map((piece) => ({ content: [think(piece, false)] }))
  const deltas = [
    { role: 'assistant', content: '' },
    ...thoughts,
    ...(thoughts.length > 0 ? [{ content: [think('', true)] }] : []),
    ...splitText(text).map((content) => ({ content })),
  ]
  const end = { content: '', tool_calls: toolCalls.length > 0 ? toolCalls.map(writeToolCall) : null }
  const last = write({
    ...envelope,
    choices: [{ index: 0, delta: end, finish_reason: finish }],
    usage: writeOwnUsage(answer),
  })
  return { content: deltas.map(chunk), closing: [last, { event: '', data: '[DONE]' }] }
}

function write(record: JsonObject): SseEvent {
  return { event: '', data: JSON.stringify(record) }
}

function writeEnvelope({ id, created, model }: Answer, object: string): JsonObject {
  return { id, object, created, model }
}

function think(text: string, closed: boolean): JsonObject {
  return { type: 'thinking', thinking: text === '' ? [] : [{ type: 'text', text }], closed }
}

/** With an id of 9 letters and digits, the only kind that Mistral takes back. */
function writeToolCall({ id, name, json }: ToolRequest, index: number): JsonObject {
  const short = `${id.replaceAll(/[^a-zA-Z0-9]/g, '').slice(-10, -2)}${index}`
  return { id: short, function: { name, arguments: json }, index }
}

function writeOwnUsage(answer: Answer): JsonObject {
  return { ...writeUsage(answer), num_cached_tokens: answer.usage.cached ?? 0 }
}
