import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import { Refusal } from '../format.ts'
import type { Output, Question, ToolOffer } from '../model-request.ts'

interface Message {
  readonly role: string
  readonly text: string
}

/** Reads a chat request. Throws a `Refusal` (400) that names the field at fault. */
export function readQuestion(body: JsonObject): Question {
  const { model, messages: list, response_format: format, parallel_tool_calls: parallel } = body
  const { reasoning_effort: effort } = body
  if (typeof model !== 'string' || model === '') throw missing('model')
  if (!Array.isArray(list) || list.length === 0) throw missing('messages')
  const messages = list.map(readMessage)
  const tools = readTools(body.tools)
  return {
    model,
    texts: messages.map(({ text }) => text),
    userText: messages.findLast(({ role }) => role === 'user')?.text ?? '',
    toolResults: findToolResults(messages),
    ...readToolChoice(body.tool_choice, tools),
    mayCallInParallel: parallel !== false,
    output: readOutput(format),
    wantsReasoning: typeof effort === 'string' && effort !== 'none',
    maxTokens: readMaxTokens(body, 'max_completion_tokens') ?? readMaxTokens(body, 'max_tokens'),
    stop: readStop(body.stop),
  }
}

function missing(param: string): Refusal {
  const code = 'missing_required_parameter'
  return new Refusal(400, `Missing required parameter: '${param}'.`, { param, code })
}

function readMessage(message: unknown, index: number): Message {
  const param = `messages[${index}]`
  if (!isJsonObject(message) || typeof message.role !== 'string') {
    throw new Refusal(400, `Invalid value for '${param}': expected an object with a role.`, { param })
  }
  return { role: message.role, text: readText(message.content) }
}

function readText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  const texts = content.map((part) => (isJsonObject(part) ? part.text : undefined))
  return texts.filter((text) => typeof text === 'string').join('\n')
}

/** The texts of the tool messages after everything else. */
function findToolResults(messages: readonly Message[]): readonly string[] {
  const last = messages.findLastIndex(({ role }) => role !== 'tool' && role !== 'function')
  return messages.slice(last + 1).map(({ text }) => text)
}

function readOutput(format: unknown): Output {
  if (!isJsonObject(format)) return { type: 'text' }
  if (format.type === 'json_object') return { type: 'json' }
  if (format.type !== 'json_schema') return { type: 'text' }
  const schema = isJsonObject(format.json_schema) ? format.json_schema.schema : undefined
  if (isJsonObject(schema)) return { type: 'schema', schema }
  const param = 'response_format.json_schema.schema'
  throw new Refusal(400, `Missing required parameter: '${param}'.`, { param })
}

function readMaxTokens(body: JsonObject, param: string): number | undefined {
  const value = body[param] ?? undefined
  if (value === undefined) return undefined
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1) return value
  throw new Refusal(400, `Invalid '${param}': expected a whole number of at least 1.`, { param })
}

function readStop(stop: unknown): readonly string[] {
  const sequences = Array.isArray(stop) ? stop : [stop]
  return sequences.filter((sequence) => typeof sequence === 'string' && sequence !== '')
}

/** The functions of a request's `tools`. */
function readTools(tools: unknown): readonly ToolOffer[] {
  return Array.isArray(tools) ? tools.map(readFunction).filter((tool) => tool !== undefined) : []
}

/** Reads `tool_choice`, and leaves the tools that it allows. Throws a `Refusal` (400) for one that is not offered. */
function readToolChoice(
  choice: unknown,
  tools: readonly ToolOffer[],
): Pick<Question, 'tools' | 'toolChoice'> {
  if (choice === 'none') return { tools, toolChoice: 'none' }
  if (choice === 'required') return { tools: checkOffered(tools), toolChoice: 'required' }
  if (!isJsonObject(choice)) return { tools, toolChoice: 'auto' }
  if (isJsonObject(choice.allowed_tools)) return readAllowedTools(choice.allowed_tools, tools)
  const name = readName(choice)
  const offered = checkOffered(tools.filter((tool) => tool.name === name))
  return { tools: offered, toolChoice: 'required' }
}

function readAllowedTools({ mode, tools: allowed }: JsonObject, tools: readonly ToolOffer[]) {
  const names = Array.isArray(allowed) ? allowed.map(readName) : []
  return readToolChoice(
    mode,
    tools.filter(({ name }) => names.includes(name)),
  )
}

function readFunction(tool: unknown): ToolOffer | undefined {
  const name = readName(tool)
  if (name === undefined || !isJsonObject(tool) || !isJsonObject(tool.function)) return undefined
  const { parameters } = tool.function
  return { name, schema: isJsonObject(parameters) ? parameters : {} }
}

/** The name in `{type:"function", function:{name}}`. */
function readName(value: unknown): string | undefined {
  const name = isJsonObject(value) && isJsonObject(value.function) ? value.function.name : undefined
  return typeof name === 'string' ? name : undefined
}

function checkOffered(tools: readonly ToolOffer[]): readonly ToolOffer[] {
  if (tools.length > 0) return tools
  const param = 'tool_choice'
  throw new Refusal(400, `Invalid value for '${param}': 'tools' does not offer such a function.`, { param })
}
