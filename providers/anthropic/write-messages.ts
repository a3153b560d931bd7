import type { Message, ToolCall } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import { parseObject, readString } from '../read-fields.ts'
import type { Block, ToolResultBlock, ToolUseBlock, Turn } from './wire.ts'
import { writeContent, writeText } from './write-content.ts'
import { isSystem } from './write-system.ts'

/**
 * The conversation in turns: messages of one side in a row become one turn, so that all results of an assistant's tool
 * calls come together, before the user's text (reference 5.2). Throws a `GatewayError` for what cannot be said.
 */
export function writeMessages(messages: readonly Message[]): readonly Turn[] {
  const turns: { role: Turn['role']; content: Block[] }[] = []
  for (const [index, message] of messages.entries()) {
    if (isSystem(message.role)) continue
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const blocks = writeBlocks(message, `messages[${index}]`)
    const last = turns.at(-1)
    if (blocks.length === 0) continue
    if (last?.role === role) last.content.push(...blocks)
    else turns.push({ role, content: blocks })
  }
  return trimEnd(turns.map(orderTurn))
}

function writeBlocks(message: Message, path: string): Block[] {
  switch (message.role) {
    case 'assistant':
      return writeAssistant(message, path)
    case 'tool':
      return [writeResult(message, path)]
    case 'function':
      throw new GatewayError('unsupported_parameter', `${path}: use the role tool in place of function.`, {
        param: `${path}.role`,
      })
    default:
      return writeContent(message.content, `${path}.content`)
  }
}

function writeAssistant(message: Message, path: string): Block[] {
  const text = writeText(message.content ?? readString(message.refusal), `${path}.content`)
  const calls = message.tool_calls ?? []
  return [...text, ...calls.map((call, index) => writeCall(call, `${path}.tool_calls[${index}]`))]
}

function writeCall({ id, function: { name, arguments: json } }: ToolCall, path: string): ToolUseBlock {
  const input = parseObject(json.trim() || '{}')
  if (input) return { type: 'tool_use', id: cleanId(id), name, input }
  const param = `${path}.function.arguments`
  throw new GatewayError('invalid_value', `${param} must be a JSON object.`, { param })
}

function writeResult({ tool_call_id, content }: Message, path: string): ToolResultBlock {
  const id = readString(tool_call_id)
  const param = `${path}.tool_call_id`
  if (id === '') throw new GatewayError('missing_parameter', `${param} is missing.`, { param })
  return {
    type: 'tool_result',
    tool_use_id: cleanId(id),
    content: typeof content === 'string' ? content : writeContent(content, `${path}.content`),
  }
}

/** Other vendors have ids with characters that Anthropic refuses. */
function cleanId(id: string): string {
  return id.replace(/[^\w-]/g, '_')
}

/** Tool results go before anything else that the user says in the same turn. */
function orderTurn({ role, content }: Turn): Turn {
  const isResult = ({ type }: Block) => type === 'tool_result'
  return { role, content: [...content.filter(isResult), ...content.filter((block) => !isResult(block))] }
}

/** The model goes on from an answer that the client began, unless that ends in white space (reference 5.2). */
function trimEnd(turns: readonly Turn[]): readonly Turn[] {
  const last = turns.at(-1)
  const block = last?.content.at(-1)
  if (last?.role !== 'assistant' || block?.type !== 'text') return turns
  const trimmed = { ...block, text: block.text.trimEnd() }
  return [...turns.slice(0, -1), { role: last.role, content: [...last.content.slice(0, -1), trimmed] }]
}
