import type { JsonObject, Message, ReasoningData, ToolCall } from '../../core/contract/index.ts'
import {
  type ClientTool,
  type ClientTools,
  parseSearchResult,
  toCustomInput,
  toSearchArguments,
} from '../../providers/shared/responses-format/client-tools.ts'
import { type TextPartType, toItemContent } from '../../providers/shared/responses-format/input-items.ts'
import { toEncryptedContent } from '../../providers/shared/responses-format/output-items.ts'
import { toEchoedTool } from './response.ts'

/**
 * Converts canonical messages to input items, whose ids consist of the response key and their index. Calls of
 * client tools are shown as such.
 */
export function toInputItems(
  messages: readonly Message[],
  responseKey: string,
  tools?: ClientTools,
): readonly JsonObject[] {
  const items = messages.flatMap(toDraftItems)
  const shown = tools === undefined ? items : toClientItems(items, tools)
  return shown.map(({ idPrefix, ...item }, index) => ({
    id: `${idPrefix}_${responseKey}i${String(index).padStart(2, '0')}`,
    ...item,
  }))
}

/** An item without its id. */
type DraftItem = JsonObject & {
  readonly idPrefix: 'msg' | 'rs' | 'fc' | 'fco' | 'ctc' | 'ctco' | 'tsc' | 'tso'
}

function toClientItems(items: readonly DraftItem[], tools: NonNullable<ClientTools>): readonly DraftItem[] {
  const calledKinds = new Map<unknown, ClientTool['kind']>()
  return items.map((item) => {
    if (item.type === 'function_call_output') return toClientOutput(item, calledKinds.get(item.call_id))
    const tool = item.type === 'function_call' ? tools.get(String(item.name)) : undefined
    if (tool === undefined) return item
    calledKinds.set(item.call_id, tool.kind)
    return toClientCall(item, tool)
  })
}

function toClientCall(item: DraftItem, { kind, ...names }: ClientTool): DraftItem {
  const { arguments: json, name: _, ...call } = item
  switch (kind) {
    case 'function':
      return { ...item, ...names }
    case 'custom':
      return {
        ...call,
        ...names,
        idPrefix: 'ctc',
        type: 'custom_tool_call',
        input: toCustomInput(String(json)),
      }
    case 'search': {
      const fields = { execution: 'client', arguments: toSearchArguments(String(json)) }
      return { ...call, idPrefix: 'tsc', type: 'tool_search_call', ...fields }
    }
  }
}

function toClientOutput(item: DraftItem, kind: ClientTool['kind'] | undefined): DraftItem {
  if (kind === 'custom') return { ...item, idPrefix: 'ctco', type: 'custom_tool_call_output' }
  if (kind !== 'search') return item
  const { output, ...fields } = item
  const tools = parseSearchResult(output).map(toEchoedTool)
  return { ...fields, idPrefix: 'tso', type: 'tool_search_output', execution: 'client', tools }
}

function toDraftItems(message: Message): readonly DraftItem[] {
  switch (message.role) {
    case 'assistant':
      return toAssistantItems(message)
    case 'tool':
      return [toCallOutputItem(message)]
    default:
      return [toMessageItem(message, 'input_text')]
  }
}

/** Splits an assistant message into reasoning, text and function calls. */
function toAssistantItems(message: Message): readonly DraftItem[] {
  const { reasoning_content: reasoning, reasoning_data: data = [], content, tool_calls } = message
  return [
    ...(reasoning || data.length > 0 ? [toReasoningItem(reasoning ?? '', data)] : []),
    ...(content != null ? [toMessageItem(message, 'output_text')] : []),
    ...(tool_calls ?? []).map(toFunctionCallItem),
  ]
}

function toReasoningItem(text: string, data: readonly ReasoningData[]): DraftItem {
  return {
    idPrefix: 'rs',
    type: 'reasoning',
    summary: text === '' ? [] : [{ type: 'summary_text', text }],
    ...(data.length > 0 && { encrypted_content: toEncryptedContent(data) }),
  }
}

function toMessageItem({ role, content }: Message, textType: TextPartType): DraftItem {
  const parts = toItemContent(content, textType)
  return { idPrefix: 'msg', type: 'message', role, status: 'completed', content: parts }
}

function toFunctionCallItem({ id, function: called, extra_content }: ToolCall): DraftItem {
  return {
    idPrefix: 'fc',
    type: 'function_call',
    status: 'completed',
    call_id: id,
    name: called.name,
    arguments: called.arguments,
    ...(extra_content && { extra_content }),
  }
}

function toCallOutputItem({ tool_call_id, content }: Message): DraftItem {
  const output = typeof content === 'string' ? content : toItemContent(content, 'input_text')
  return {
    idPrefix: 'fco',
    type: 'function_call_output',
    status: 'completed',
    call_id: tool_call_id,
    output,
  }
}
