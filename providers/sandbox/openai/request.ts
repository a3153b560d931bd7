import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import type { ModelRequest, ReplyFormat, ToolDefinition } from '../shared/model-request.ts'
import { isSaid } from '../shared/said-texts.ts'
import { SandboxError } from '../shared/wire-format.ts'

/** Parses a chat request. Throws a `SandboxError` (400) that names the invalid field. */
export function parseOpenAiRequest(body: JsonObject): ModelRequest {
  const { model, messages: list, parallel_tool_calls: parallel, reasoning_effort: effort } = body
  if (typeof model !== 'string' || model === '') throw missingParameter('model')
  if (!Array.isArray(list) || list.length === 0) throw missingParameter('messages')
  const messages = list.map(parseMessage)
  const said = messages.filter(({ said, texts }) => said.length > 0 || texts.length === 0)
  const tools = parseTools(body.tools)
  const user = said.findLastIndex(({ role }) => role === 'user')
  return {
    model,
    texts: messages.map(({ texts }) => texts.join('\n')),
    userText: said[user]?.said.join('\n') ?? '',
    repliesSinceUser: said.slice(user + 1).filter(({ role }) => role === 'assistant').length,
    toolResults: trailingToolResultsOf(said),
    ...parseToolChoice(body.tool_choice, tools),
    mayCallInParallel: parallel !== false,
    replyFormat: parseReplyFormat(body.response_format),
    wantsReasoning: typeof effort === 'string' && effort !== 'none',
    maxTokens: parseMaxTokens(body, 'max_completion_tokens') ?? parseMaxTokens(body, 'max_tokens'),
    stop: parseStop(body.stop),
  }
}

function missingParameter(param: string): SandboxError {
  const code = 'missing_required_parameter'
  return new SandboxError(400, `Missing required parameter: '${param}'.`, { param, code })
}

interface ChatMessage {
  readonly role: string
  readonly texts: readonly string[]
  /** Without what a gateway has added. */
  readonly said: readonly string[]
}

function parseMessage(message: unknown, index: number): ChatMessage {
  const param = `messages[${index}]`
  if (!isJsonObject(message) || typeof message.role !== 'string') {
    throw new SandboxError(400, `Invalid value for '${param}': expected an object with a role.`, { param })
  }
  const texts = textsOf(message.content)
  return { role: message.role, texts, said: texts.filter(isSaid) }
}

function textsOf(content: unknown): readonly string[] {
  if (typeof content === 'string') return [content]
  if (!Array.isArray(content)) return []
  const texts = content.map((part) => (isJsonObject(part) ? part.text : undefined))
  return texts.filter((text) => typeof text === 'string')
}

/** Returns the texts of the tool messages at the end of the conversation. */
function trailingToolResultsOf(messages: readonly ChatMessage[]): readonly string[] {
  const last = messages.findLastIndex(({ role }) => role !== 'tool' && role !== 'function')
  return messages.slice(last + 1).map(({ said }) => said.join('\n'))
}

function parseReplyFormat(format: unknown): ReplyFormat {
  if (!isJsonObject(format)) return { type: 'text' }
  if (format.type === 'json_object') return { type: 'json' }
  if (format.type !== 'json_schema') return { type: 'text' }
  const schema = isJsonObject(format.json_schema) ? format.json_schema.schema : undefined
  if (isJsonObject(schema)) return { type: 'schema', schema }
  const param = 'response_format.json_schema.schema'
  throw new SandboxError(400, `Missing required parameter: '${param}'.`, { param })
}

function parseMaxTokens(body: JsonObject, param: string): number | undefined {
  const value = body[param] ?? undefined
  if (value === undefined) return undefined
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1) return value
  throw new SandboxError(400, `Invalid '${param}': expected an integer of at least 1.`, { param })
}

function parseStop(stop: unknown): readonly string[] {
  const sequences = Array.isArray(stop) ? stop : [stop]
  return sequences.filter((sequence) => typeof sequence === 'string' && sequence !== '')
}

/** Parses the function tools; tools of other types are ignored. */
function parseTools(tools: unknown): readonly ToolDefinition[] {
  return Array.isArray(tools) ? tools.map(parseFunction).filter((tool) => tool !== undefined) : []
}

function parseFunction(tool: unknown): ToolDefinition | undefined {
  const name = functionNameOf(tool)
  if (name === undefined || !isJsonObject(tool) || !isJsonObject(tool.function)) return undefined
  const { parameters } = tool.function
  return { name, schema: isJsonObject(parameters) ? parameters : {} }
}

/** Returns the choice and the tools that it allows. Throws a `SandboxError` (400) if it allows none. */
function parseToolChoice(
  choice: unknown,
  tools: readonly ToolDefinition[],
): Pick<ModelRequest, 'tools' | 'toolChoice'> {
  if (choice === 'none') return { tools, toolChoice: 'none' }
  if (choice === 'required') return { tools: requireTools(tools), toolChoice: 'required' }
  if (!isJsonObject(choice)) return { tools, toolChoice: 'auto' }
  if (isJsonObject(choice.allowed_tools)) return parseAllowedTools(choice.allowed_tools, tools)
  const name = functionNameOf(choice)
  return { tools: requireTools(tools.filter((tool) => tool.name === name)), toolChoice: 'required' }
}

function parseAllowedTools({ mode, tools: allowed }: JsonObject, tools: readonly ToolDefinition[]) {
  const names = Array.isArray(allowed) ? allowed.map(functionNameOf) : []
  return parseToolChoice(
    mode,
    tools.filter(({ name }) => names.includes(name)),
  )
}

/** Returns the name in `{type: "function", function: {name}}`. */
function functionNameOf(value: unknown): string | undefined {
  const name = isJsonObject(value) && isJsonObject(value.function) ? value.function.name : undefined
  return typeof name === 'string' ? name : undefined
}

function requireTools(tools: readonly ToolDefinition[]): readonly ToolDefinition[] {
  if (tools.length > 0) return tools
  const param = 'tool_choice'
  throw new SandboxError(400, `Invalid value for '${param}': 'tools' has no such function.`, { param })
}
