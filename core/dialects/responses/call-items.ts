import type { JsonObject, ToolStart } from '../../contract/index.ts'
import { type ClientTool, toCustomInput } from './client-tools.ts'
import {
  type ItemContext,
  type ItemStatus,
  itemAddedEvent,
  itemDoneEvent,
  itemId,
  type OutputItem,
} from './output-items.ts'
import { toSearchArguments } from './tool-search.ts'

/** The call of a tool under construction. */
export interface CallItem extends OutputItem {
  readonly type: 'function_call' | 'custom_tool_call' | 'tool_search_call'
  add(json: string): void
}

/** Creates the item of a call: as its client tool, or else as a plain function. */
export function createCallItem(context: ItemContext, start: ToolStart, tool?: ClientTool): CallItem {
  switch (tool?.kind) {
    case 'custom':
      return createCustomCallItem(context, start, tool)
    case 'search':
      return createSearchCallItem(context, start)
    default:
      return createFunctionCallItem(context, start, tool)
  }
}

/** Creates a function call. `extra_content` is data that the provider expects back with the call's result. */
function createFunctionCallItem(
  context: ItemContext,
  { id: call_id, name, extra_content }: ToolStart,
  tool: ClientTool | undefined,
): CallItem {
  const { index, emit } = context
  const id = itemId('fc', context)
  const position = { item_id: id, output_index: index }
  const names = tool === undefined ? { name } : toNames(tool)
  let json = ''
  let status = 'in_progress'

  const toJson = (): JsonObject => ({
    id,
    type: 'function_call',
    status,
    call_id,
    ...names,
    arguments: json,
    ...(extra_content && { extra_content }),
  })

  emit?.(itemAddedEvent(index, toJson()))
  return {
    type: 'function_call',
    index,
    add(delta) {
      json += delta
      emit?.({ type: 'response.function_call_arguments.delta', ...position, delta })
    },
    close(finalStatus) {
      status = finalStatus
      emit?.({
        type: 'response.function_call_arguments.done',
        ...position,
        name: names.name,
        arguments: json,
      })
      emit?.(itemDoneEvent(index, toJson()))
    },
    toJson,
  }
}

/** Creates the call of a custom tool. Its input is sent at once, when the arguments are complete. */
function createCustomCallItem(
  context: ItemContext,
  { id: call_id, extra_content }: ToolStart,
  tool: ClientTool,
): CallItem {
  const { index, emit } = context
  const id = itemId('ctc', context)
  const position = { item_id: id, output_index: index }
  let json = ''
  let status: ItemStatus | 'in_progress' = 'in_progress'

  const toJson = (): JsonObject => ({
    id,
    type: 'custom_tool_call',
    status,
    call_id,
    ...toNames(tool),
    input: toCustomInput(json),
    ...(extra_content && { extra_content }),
  })

  emit?.(itemAddedEvent(index, toJson()))
  return {
    type: 'custom_tool_call',
    index,
    add(delta) {
      json += delta
    },
    close(finalStatus) {
      status = finalStatus
      const input = toCustomInput(json)
      if (input !== '') emit?.({ type: 'response.custom_tool_call_input.delta', ...position, delta: input })
      emit?.({ type: 'response.custom_tool_call_input.done', ...position, input })
      emit?.(itemDoneEvent(index, toJson()))
    },
    toJson,
  }
}

/** Creates a call of the client's search for tools. Its arguments are complete in the last event only. */
function createSearchCallItem(context: ItemContext, { id: call_id, extra_content }: ToolStart): CallItem {
  const { index, emit } = context
  const id = itemId('tsc', context)
  let json = ''
  let status: ItemStatus | 'in_progress' = 'in_progress'

  const toJson = (): JsonObject => ({
    id,
    type: 'tool_search_call',
    status,
    call_id,
    execution: 'client',
    arguments: toSearchArguments(json),
    ...(extra_content && { extra_content }),
  })

  emit?.(itemAddedEvent(index, toJson()))
  return {
    type: 'tool_search_call',
    index,
    add(delta) {
      json += delta
    },
    close(finalStatus) {
      status = finalStatus
      emit?.(itemDoneEvent(index, toJson()))
    },
    toJson,
  }
}

function toNames({ name, namespace }: ClientTool) {
  return { name, ...(namespace !== undefined && { namespace }) }
}
