import type { JsonObject, SseEvent } from '../../../core/contract/index.ts'
import type { StreamEvents } from '../format.ts'
import type { Answer } from '../question.ts'
import { splitText } from '../tokens.ts'
import { writeBlocks, writeEnd, writeMessage } from './whole.ts'

/** An answer as events: the message, block after block, how it ended. As at Anthropic, a ping comes among them. */
export function writeStream(answer: Answer): StreamEvents {
  const { usage, ...delta } = writeEnd(answer)
  return {
    content: [
      write({ type: 'message_start', message: writeMessage(answer) }),
      write({ type: 'ping' }),
      ...writeBlocks(answer).flatMap(writeBlock),
    ],
    closing: [
      write({ type: 'message_delta', delta: { container: null, ...delta }, usage }),
      write({ type: 'message_stop' }),
    ],
  }
}

function write(event: JsonObject & { readonly type: string }): SseEvent {
  return { event: event.type, data: JSON.stringify(event) }
}

function writeBlock(block: JsonObject, index: number): readonly SseEvent[] {
  return [
    write({ type: 'content_block_start', index, content_block: empty(block) }),
    ...writeDeltas(block).map((delta) => write({ type: 'content_block_delta', index, delta })),
    write({ type: 'content_block_stop', index }),
  ]
}

/** The block before its deltas. */
function empty(block: JsonObject): JsonObject {
  switch (block.type) {
    case 'thinking':
      return { ...block, thinking: '', signature: '' }
    case 'tool_use':
      return { ...block, input: {} }
    default:
      return { ...block, text: '' }
  }
}

/** A call without arguments has no deltas. */
function writeDeltas({ type, text, thinking, signature, input }: JsonObject): readonly JsonObject[] {
  switch (type) {
    case 'thinking':
      return [
        ...splitText(String(thinking)).map((piece) => ({ type: 'thinking_delta', thinking: piece })),
        { type: 'signature_delta', signature },
      ]
    case 'tool_use': {
      const json = JSON.stringify(input)
      const pieces = json === '{}' ? [] : splitText(json)
      return pieces.map((piece) => ({ type: 'input_json_delta', partial_json: piece }))
    }
    default:
      return splitText(String(text)).map((piece) => ({ type: 'text_delta', text: piece }))
  }
}
