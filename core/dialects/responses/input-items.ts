import type { ContentPart, JsonObject, Message, ToolCall } from '../../contract/index.ts'

/** Canonical messages as input items, with ids that are made of the response's seed and their place. */
export function toInputItems(messages: readonly Message[], seed: string): readonly JsonObject[] {
  return messages.flatMap(itemsOf).map(({ prefix, ...item }, place) => ({
    id: `${prefix}_${seed}i${String(place).padStart(2, '0')}`,
    ...item,
  }))
}

type Draft = JsonObject & { readonly prefix: 'msg' | 'rs' | 'fc' | 'fco' }

function itemsOf(message: Message): readonly Draft[] {
  switch (message.role) {
    case 'assistant':
      return turnOf(message)
    case 'tool':
      return [outputOf(message)]
    default:
      return [messageOf(message, 'input_text')]
  }
}

/** What an assistant thought, said and called. */
function turnOf(message: Message): readonly Draft[] {
  const { reasoning_content: thoughts, content, tool_calls = [] } = message
  return [
    ...(thoughts ? [thoughtsOf(thoughts)] : []),
    ...(content != null ? [messageOf(message, 'output_text')] : []),
    ...tool_calls.map(callOf),
  ]
}

function thoughtsOf(text: string): Draft {
  return { prefix: 'rs', type: 'reasoning', summary: [{ type: 'summary_text', text }] }
}

function messageOf({ role, content }: Message, type: 'input_text' | 'output_text'): Draft {
  return { prefix: 'msg', type: 'message', role, status: 'completed', content: writeContent(content, type) }
}

function callOf({ id, function: called, extra_content }: ToolCall): Draft {
  return {
    prefix: 'fc',
    type: 'function_call',
    status: 'completed',
    call_id: id,
    name: called.name,
    arguments: called.arguments,
    ...(extra_content && { extra_content }),
  }
}

function outputOf({ tool_call_id, content }: Message): Draft {
  const output = typeof content === 'string' ? content : writeContent(content, 'input_text')
  return { prefix: 'fco', type: 'function_call_output', status: 'completed', call_id: tool_call_id, output }
}

function writeContent(
  content: Message['content'],
  type: 'input_text' | 'output_text',
): readonly JsonObject[] {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])
  return parts.map((part) => writePart(part, type))
}

function writePart(part: ContentPart, type: 'input_text' | 'output_text'): JsonObject {
  switch (part.type) {
    case 'text':
      return type === 'output_text' ? { type, text: part.text, annotations: [] } : { type, text: part.text }
    case 'image_url':
      return { type: 'input_image', ...imageOf(part) }
    case 'file':
      return { type: 'input_file', ...Object(part.file) }
    default:
      return part
  }
}

function imageOf({ image_url }: ContentPart): JsonObject {
  const { url, detail = 'auto' } = Object(image_url)
  return { image_url: url, detail }
}
