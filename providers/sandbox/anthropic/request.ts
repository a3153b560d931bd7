import type { JsonObject } from '../../../core/contract/index.ts'
import { readObject, readObjects, readString } from '../../shared/fields.ts'
import { SandboxError } from '../format.ts'
import type { ModelRequest, ReplyFormat } from '../model-request.ts'
import type { SandboxMessage } from './checks.ts'
import { checkAnthropicToolResults, parseToolChoice, parseTools } from './checks.ts'

/** Reads a message request. Throws a `Refusal` (400) that names the field at fault. */
export function parseAnthropicRequest(body: JsonObject): ModelRequest {
  const { model, thinking, output_config, tool_choice } = body
  if (typeof model !== 'string' || model === '') throw new SandboxError(400, 'model: Field required')
  const messages = parseMessages(body.messages)
  checkAnthropicToolResults(messages)
  const tools = parseTools(body.tools)
  return {
    model,
    texts: [...parseTexts(body.system), ...messages.flatMap(({ texts, results }) => [...results, ...texts])],
    userText: messages.findLast(isUserText)?.texts.join('\n') ?? '',
    toolResults: findToolResults(messages),
    ...parseToolChoice(tool_choice, tools),
    mayCallInParallel: readObject(tool_choice).disable_parallel_tool_use !== true,
    replyFormat: parseReplyFormat(readObject(output_config).format, parseTexts(body.system)),
    wantsReasoning: ['adaptive', 'enabled'].includes(String(readObject(thinking).type)),
    maxTokens: parseMaxTokens(body.max_tokens),
    stop: parseStop(body.stop_sequences),
  }
}

/** False for tool results with no word beside them. */
function isUserText({ role, texts, results }: SandboxMessage): boolean {
  return role === 'user' && (texts.length > 0 || results.length === 0)
}

/** The results that the conversation ends with, when the user says nothing beside them. */
function findToolResults(messages: readonly SandboxMessage[]): readonly string[] {
  const last = messages.at(-1)
  return last?.texts.length === 0 ? last.results : []
}

/** There is no mode for JSON without a schema, but a model that is told to answer in it does. */
function parseReplyFormat(format: unknown, system: readonly string[]): ReplyFormat {
  const { type, schema } = readObject(format)
  if (type === 'json_schema') return { type: 'schema', schema: readObject(schema) }
  return system.some((text) => /\bJSON object\b/.test(text)) ? { type: 'json' } : { type: 'text' }
}

function parseMaxTokens(value: unknown): number {
  if (value === undefined) throw new SandboxError(400, 'max_tokens: Field required')
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1) return value
  throw new SandboxError(400, 'max_tokens: Input should be a whole number of at least 1')
}

function parseStop(stop: unknown): readonly string[] {
  const sequences = (Array.isArray(stop) ? stop : []).map(String)
  if (sequences.every((sequence) => sequence.trim() !== '')) return sequences
  throw new SandboxError(400, 'stop_sequences: each stop sequence must contain non-whitespace')
}

/** Reads `messages`. Throws a `Refusal` (400) for what Anthropic would not take. */
function parseMessages(list: unknown): readonly SandboxMessage[] {
  if (!Array.isArray(list)) throw new SandboxError(400, 'messages: Field required')
  if (list.length === 0) throw new SandboxError(400, 'messages: at least one message is required')
  return list.map((message, index) => parseMessage(readObject(message), `messages.${index}`))
}

/** The texts of a string or of text blocks. Throws a `Refusal` (400) for an empty block. */
function parseTexts(content: unknown, path = 'system'): readonly string[] {
  if (typeof content === 'string') return content === '' ? [] : [content]
  const texts = readObjects(content).flatMap(({ type, text }) => (type === 'text' ? [readString(text)] : []))
  if (texts.every((text) => text.trim() !== '')) return texts
  throw new SandboxError(400, `${path}: text content blocks must be non-empty`)
}

function parseMessage({ role, content }: JsonObject, path: string): SandboxMessage {
  if (role !== 'user' && role !== 'assistant' && role !== 'system') {
    throw new SandboxError(400, `${path}.role: Input should be 'user' or 'assistant'`)
  }
  const blocks = readObjects(content)
  const results = blocks.filter(({ type }) => type === 'tool_result')
  const texts = parseTexts(content, path)
  if (texts.length + blocks.length === 0) {
    throw new SandboxError(400, `${path}: user messages must have non-empty content`)
  }
  return {
    role,
    texts,
    results: results.map((result) => parseTexts(result.content, path).join('\n')),
    calls: blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => readString(id)),
    answers: results.map((result) => readString(result.tool_use_id)),
    hasLateResult: blocks.slice(0, results.length).some(({ type }) => type !== 'tool_result'),
  }
}
