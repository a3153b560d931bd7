import type { ContentPart, Message } from '../../core/contract/chat.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { asObject, asObjects } from '../shared/fields.ts'
import { toItemContent } from '../shared/responses-format/input-items.ts'

interface ResponsesInput {
  readonly input: readonly JsonObject[]
  /** What items have no place for, such as `name in messages`. */
  readonly omitted: readonly string[]
}

/** Converts the messages of a chat to items of the Responses API. */
export function toResponsesInput(messages: readonly Message[]): ResponsesInput {
  const customCalls = new Set<unknown>()
  const omitted = new Set<string>()

  function toAssistantItems(message: Message): readonly JsonObject[] {
    const items = [...toReasoningItems(message), ...toAssistantMessage(message, omitted)]
    for (const call of message.tool_calls ?? []) items.push(toCall(call, customCalls))
    return items
  }

  function toItems(message: Message): readonly JsonObject[] {
    const { role, content, tool_call_id } = message
    for (const field of findOmittedIn(message)) omitted.add(`${field} in messages`)
    switch (role) {
      case 'assistant':
        return toAssistantItems(message)
      case 'tool': {
        const type = customCalls.has(tool_call_id) ? 'custom_tool_call_output' : 'function_call_output'
        return [{ type, call_id: tool_call_id, output: toOutput(content) }]
      }
      default:
        return [{ type: 'message', role, content: toInputContent(content) }]
    }
  }

  return { input: messages.flatMap(toItems), omitted: [...omitted] }
}

/** Reasoning that OpenAI issued. A summary is required, though it may be empty. */
function toReasoningItems({ reasoning_data }: Message): readonly JsonObject[] {
  return asObjects(reasoning_data).flatMap(({ openai }) =>
    isJsonObject(openai) ? [{ summary: [], ...openai, type: 'reasoning' }] : [],
  )
}

/** Fields that are converted, and those of replies that clients send back. */
const READ_FIELDS: ReadonlySet<string> = new Set([
  ...['role', 'content', 'refusal', 'tool_calls', 'tool_call_id'],
  ...['reasoning_content', 'reasoning_data', 'annotations', 'extra_content'],
])

/** Names the fields of a message that are not sent. The name of a tool is that of its call. */
function findOmittedIn(message: Message): readonly string[] {
  return Object.keys(message).filter((field) => {
    return message[field] != null && !READ_FIELDS.has(field) && !(message.role === 'tool' && field === 'name')
  })
}

function toAssistantMessage({ content, refusal }: Message, omitted: Set<string>): readonly JsonObject[] {
  const parts = [
    ...(content == null || content === '' ? [] : toItemContent(content, 'output_text')),
    ...(typeof refusal === 'string' ? [{ type: 'refusal', refusal }] : []),
  ]
  if (Array.isArray(content) && content.some(hasBreakpoint)) omitted.add(`${BREAKPOINT} in messages`)
  return parts.length === 0 ? [] : [{ type: 'message', role: 'assistant', content: parts }]
}

/** Adds the id of a call of a custom tool to `customCalls`. */
function toCall(call: JsonObject, customCalls: Set<unknown>): JsonObject {
  const { id, custom, function: called } = call
  if (!isJsonObject(custom)) {
    const { name, arguments: json } = asObject(called)
    return { type: 'function_call', call_id: id, name, arguments: json }
  }
  customCalls.add(id)
  return { type: 'custom_tool_call', call_id: id, name: custom.name, input: custom.input }
}

function toOutput(content: Message['content']): unknown {
  return typeof content === 'string' ? content : toInputContent(content)
}

function toInputContent(content: Message['content']): readonly JsonObject[] {
  const parts = toItemContent(content, 'input_text')
  if (!Array.isArray(content) || !content.some(hasBreakpoint)) return parts
  return parts.map((part, index) => {
    const breakpoint = content[index]?.[BREAKPOINT]
    return breakpoint == null ? part : { ...part, [BREAKPOINT]: breakpoint }
  })
}

/** Where OpenAI's cache of prompts is to end. Only parts of input have it in the Responses API. */
const BREAKPOINT = 'prompt_cache_breakpoint'

function hasBreakpoint(part: ContentPart): boolean {
  return part[BREAKPOINT] != null
}
