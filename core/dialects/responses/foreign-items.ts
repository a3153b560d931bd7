import { isJsonObject, type JsonObject, type Warning } from '../../contract/index.ts'
import { PREFIX as COMPACTION_PREFIX } from './compaction.ts'
import type { InputItem } from './request-schema.ts'

// Items of a session that began elsewhere: calls of hosted tools, and of tools that only OpenAI's models
// know. See docs/guides/responses.md, "Sessions that began elsewhere".

/** Whether an item is what the model or what the client said, and the fields that models get of it. */
interface ForeignItem {
  readonly author: 'assistant' | 'user'
  readonly fields: readonly string[]
}

const call = (...fields: readonly string[]): ForeignItem => ({ author: 'assistant', fields })
const result = (...fields: readonly string[]): ForeignItem => ({ author: 'user', fields })

const FOREIGN_ITEMS: ReadonlyMap<string, ForeignItem> = new Map([
  ['web_search_call', call('action')],
  ['file_search_call', call('queries', 'results')],
  ['code_interpreter_call', call('code', 'outputs')],
  ['image_generation_call', call('revised_prompt')],
  ['mcp_call', call('server_label', 'name', 'arguments', 'output', 'error')],
  ['mcp_approval_request', call('server_label', 'name', 'arguments')],
  ['mcp_approval_response', result('approve', 'reason')],
  ['local_shell_call', call('action')],
  ['local_shell_call_output', result('output')],
  ['shell_call', call('action')],
  ['shell_call_output', result('output')],
  ['apply_patch_call', call('operation')],
  ['apply_patch_call_output', result('status', 'output')],
  ['computer_call', call('action', 'actions')],
  ['computer_call_output', result('output')],
])

/** Items that are converted, or refused if they are not found. */
const KNOWN_ITEMS: ReadonlySet<string> = new Set([
  ...['message', 'reasoning', 'function_call', 'function_call_output', 'item_reference', 'compaction'],
  ...['custom_tool_call', 'custom_tool_call_output', 'tool_search_call', 'tool_search_output'],
])

/** Ids of items that hold nothing, or nothing that another model could read. */
const OPTIONAL_REFERENCE = /^(?:rs|ws|fs|ci|ig|mcp|mcpl|mcpr|lsh|sh|cu|ts|tsc)_/

/** What models get in place of an item. Undefined: the item is left out. */
export interface ItemText {
  readonly author: ForeignItem['author']
  readonly text: string
}

/**
 * Returns true for an item that is history of another service: models get its text, or it is left out. A
 * search for tools that OpenAI ran has no `call_id`.
 */
export function isForeignItem(item: InputItem): boolean {
  const { type = 'message', id, call_id, execution, encrypted_content } = item
  switch (type) {
    case 'tool_search_call':
    case 'tool_search_output':
      return call_id == null && execution !== 'client'
    case 'compaction':
      return encrypted_content !== '' && !String(encrypted_content).startsWith(COMPACTION_PREFIX)
    case 'item_reference':
      return typeof id === 'string' && OPTIONAL_REFERENCE.test(id)
    default:
      return !KNOWN_ITEMS.has(type)
  }
}

export function toItemText(item: InputItem): ItemText | undefined {
  const { type = '' } = item
  if (type === 'compaction') return { author: 'user', text: LOST_SUMMARY }
  const foreign = FOREIGN_ITEMS.get(type)
  if (foreign === undefined) return undefined
  const given = foreign.fields.filter((name) => item[name] != null)
  if (given.length === 0) return undefined
  const fields = Object.fromEntries(given.map((name) => [name, item[name]]))
  return { author: foreign.author, text: `[${type}] ${JSON.stringify(fields, withoutMedia)}` }
}

const LOST_SUMMARY =
  '[An earlier part of the conversation was summarized by another service, and only that can read it.]'

function withoutMedia(_name: string, value: unknown): unknown {
  return typeof value === 'string' && /^data:[\w.+-]+\/[\w.+-]+;base64,/.test(value) ? '[left out]' : value
}

/** Returns a warning for each type of item that is left out, or of which something is lost. */
export function findItemWarnings({ input }: JsonObject): readonly Warning[] {
  if (!Array.isArray(input)) return []
  const types = input
    .filter(isJsonObject)
    .filter(isLost)
    .map(({ type }) => String(type))
  return [...new Set(types)].map((type) => ({
    code: 'parameter',
    message: `input items of the type ${type} were left out because the model cannot read or use them.`,
  }))
}

function isLost(item: InputItem): boolean {
  if (item.type === undefined || !isForeignItem(item)) return false
  if (item.type === 'image_generation_call') return !isImageItem(item)
  return item.type === 'compaction' || toItemText(item) === undefined
}

/** Whether an item holds an image, which is sent as one. */
export function isImageItem({ type, result }: InputItem): boolean {
  return type === 'image_generation_call' && typeof result === 'string' && result !== ''
}
