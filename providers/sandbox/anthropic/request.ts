import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import { asObject, asObjects, asString } from '../../shared/fields.ts'
import type { ModelRequest, ReplyFormat, ToolDefinition } from '../shared/model-request.ts'
import { isSaid } from '../shared/said-texts.ts'
import { SandboxError } from '../shared/wire-format.ts'
import { checkAnthropicToolResults, type SandboxMessage } from './validate-request.ts'

/** Parses a message request. Throws a `SandboxError` (400) that names the invalid field. */
export function parseAnthropicRequest(body: JsonObject): ModelRequest {
  const { model, thinking, output_config, tool_choice } = body
  if (typeof model !== 'string' || model === '') throw new SandboxError(400, 'model: Field required')
  const messages = parseMessages(body.messages)
  checkAnthropicToolResults(messages)
  const tools = parseTools(body.tools)
  const systemTexts = parseTexts(body.system, 'system')
  const user = messages.findLastIndex(isUserText)
  return {
    model,
    texts: [...systemTexts, ...messages.flatMap(({ texts, results }) => [...results, ...texts])],
    userText: messages[user]?.texts.filter(isSaid).join('\n') ?? '',
    repliesSinceUser: messages.slice(user + 1).filter(({ role }) => role === 'assistant').length,
    toolResults: trailingToolResultsOf(messages),
    ...parseToolChoice(tool_choice, tools),
    mayCallInParallel: asObject(tool_choice).disable_parallel_tool_use !== true,
    replyFormat: parseReplyFormat(asObject(output_config).format ?? body.output_format, systemTexts),
    wantsReasoning: ['adaptive', 'enabled'].includes(String(asObject(thinking).type)),
    maxTokens: parseMaxTokens(body.max_tokens),
    stop: parseStop(body.stop_sequences),
  }
}

/** False for messages that only carry tool results and reminders. */
function isUserText({ role, texts, results }: SandboxMessage): boolean {
  return role === 'user' && (texts.some(isSaid) || results.length + texts.length === 0)
}

/** Returns the tool results of the last message, or none if it also has text. */
function trailingToolResultsOf(messages: readonly SandboxMessage[]): readonly string[] {
  const last = messages.findLast(({ role }) => role !== 'system')
  return last === undefined || last.texts.some(isSaid) ? [] : last.results
}

/** The API has no JSON mode without a schema, so a system prompt that asks for a JSON object enables it. */
function parseReplyFormat(format: unknown, systemTexts: readonly string[]): ReplyFormat {
  const { type, schema } = asObject(format)
  if (type === 'json_schema') return { type: 'schema', schema: asObject(schema) }
  return systemTexts.some((text) => /\bJSON object\b/.test(text)) ? { type: 'json' } : { type: 'text' }
}

function parseMaxTokens(value: unknown): number {
  if (value === undefined) throw new SandboxError(400, 'max_tokens: Field required')
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1) return value
  throw new SandboxError(400, 'max_tokens: Input should be an integer of at least 1')
}

function parseStop(stop: unknown): readonly string[] {
  const sequences = (Array.isArray(stop) ? stop : []).map(String)
  if (sequences.every((sequence) => sequence.trim() !== '')) return sequences
  throw new SandboxError(400, 'stop_sequences: each stop sequence must contain non-whitespace')
}

/** Throws a `SandboxError` (400) if Anthropic would reject the messages. */
function parseMessages(list: unknown): readonly SandboxMessage[] {
  if (!Array.isArray(list)) throw new SandboxError(400, 'messages: Field required')
  if (list.length === 0) throw new SandboxError(400, 'messages: at least one message is required')
  return list.map((message, index) => parseMessage(asObject(message), `messages.${index}`))
}

function parseMessage({ role, content }: JsonObject, path: string): SandboxMessage {
  if (role !== 'user' && role !== 'assistant' && role !== 'system') {
    throw new SandboxError(400, `${path}.role: Input should be 'user' or 'assistant'`)
  }
  const blocks = asObjects(content)
  const results = blocks.filter(({ type }) => type === 'tool_result')
  const texts = parseTexts(content, path)
  if (texts.length + blocks.length === 0) {
    throw new SandboxError(400, `${path}: user messages must have non-empty content`)
  }
  return {
    role,
    texts,
    results: results.map((result) => parseTexts(result.content, path).join('\n')),
    callIds: blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => asString(id)),
    resultIds: results.map((result) => asString(result.tool_use_id)),
    hasLateResult: blocks.slice(0, results.length).some(({ type }) => type !== 'tool_result'),
  }
}

/** Returns the text of a string or of text blocks. Throws a `SandboxError` (400) for an empty block. */
function parseTexts(content: unknown, path: string): readonly string[] {
  if (typeof content === 'string') return content === '' ? [] : [content]
  const texts = asObjects(content).flatMap(({ type, text }) => (type === 'text' ? [asString(text)] : []))
  if (texts.every((text) => text.trim() !== '')) return texts
  throw new SandboxError(400, `${path}: text content blocks must be non-empty`)
}

/** Throws a `SandboxError` (400) for a tool whose input schema is not an object schema. */
function parseTools(tools: unknown): readonly ToolDefinition[] {
  return asObjects(tools).map(parseTool)
}

function parseTool({ name, input_schema }: JsonObject, index: number): ToolDefinition {
  if (isJsonObject(input_schema) && input_schema.type === 'object') {
    return { name: asString(name), schema: input_schema }
  }
  throw new SandboxError(400, `tools.${index}.custom.input_schema.type: Input should be 'object'`)
}

/**
 * Returns the tool choice and the tools that it allows. Throws a `SandboxError` (400) for an unknown tool.
 */
function parseToolChoice(
  choice: unknown,
  tools: readonly ToolDefinition[],
): Pick<ModelRequest, 'tools' | 'toolChoice'> {
  const { type = 'auto', name } = asObject(choice)
  if (choice !== undefined && tools.length === 0) {
    throw new SandboxError(400, 'tool_choice: may only be specified while providing tools')
  }
  switch (type) {
    case 'auto':
    case 'none':
      return { tools, toolChoice: type }
    case 'any':
      return { tools, toolChoice: 'required' }
    case 'tool':
      return { tools: [findTool(name, tools)], toolChoice: 'required' }
    default:
      throw new SandboxError(400, `tool_choice: Input tag '${type}' found using 'type' does not match`)
  }
}

function findTool(name: unknown, tools: readonly ToolDefinition[]): ToolDefinition {
  const tool = tools.find((candidate) => candidate.name === name)
  if (tool) return tool
  throw new SandboxError(400, `tool_choice: Tool '${name}' not found in provided tools`)
}
