import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import { readObject, readObjects, readString } from '../../shared/fields.ts'
import { SandboxError } from '../format.ts'
import type { ModelRequest, ToolDefinition } from '../model-request.ts'

// As of the API reference of November 2026.
const BODY = fieldSet(
  `model messages max_tokens system stream tools tool_choice temperature top_p top_k stop_sequences metadata thinking
  output_config service_tier cache_control container diagnostics inference_geo speed`,
)
const MESSAGE = fieldSet('role content')
const BLOCKS: Readonly<Record<string, ReadonlySet<string>>> = {
  text: fieldSet('type text cache_control citations'),
  image: fieldSet('type source cache_control transformations'),
  document: fieldSet('type source cache_control citations context title'),
  tool_use: fieldSet('type id name input cache_control caller toolset_name'),
  tool_result: fieldSet('type tool_use_id content is_error cache_control toolset_name'),
}

/** Throws a `Refusal` (400) for the first field that Anthropic's requests do not have. */
export function checkAnthropicFields(body: JsonObject): void {
  checkKnownFields(body, BODY, '')
  for (const [index, message] of readObjects(body.messages).entries()) {
    checkKnownFields(message, MESSAGE, `messages.${index}.`)
    for (const [place, block] of readObjects(message.content).entries()) {
      const known = BLOCKS[String(block.type)]
      if (known) checkKnownFields(block, known, `messages.${index}.content.${place}.`)
    }
  }
}

function checkKnownFields(fields: JsonObject, known: ReadonlySet<string>, path: string): void {
  const unknown = Object.keys(fields).find((name) => !known.has(name))
  if (unknown !== undefined) throw new SandboxError(400, `${path}${unknown}: Extra inputs are not permitted`)
}

function fieldSet(names: string): ReadonlySet<string> {
  return new Set(names.split(/\s+/))
}

/** Throws a `Refusal` (400) unless every tool call is answered once, at the start of the very next message. */
export function checkAnthropicToolResults(messages: readonly SandboxMessage[]): void {
  for (const [index, message] of messages.entries()) {
    const calls = messages[index - 1]?.calls ?? []
    const path = `messages.${index}`
    if (message.hasLateResult) throw new SandboxError(400, `${path}: tool_result blocks must come first`)
    const stray = message.answers.find((id) => !calls.includes(id))
    if (stray !== undefined) {
      throw new SandboxError(400, `${path}: unexpected tool_use_id found in tool_result blocks: ${stray}`)
    }
    checkAnswers(calls, message.answers, path)
  }
  checkAnswers(messages.at(-1)?.calls ?? [], [], 'messages')
}

function checkAnswers(calls: readonly string[], answers: readonly string[], path: string): void {
  const open = calls.find((call) => answers.filter((answer) => answer === call).length !== 1)
  if (open === undefined) return
  throw new SandboxError(400, `${path}: each tool_use must have a single tool_result right after it: ${open}`)
}

/** The tools of a request. Throws a `Refusal` (400) for one whose input is no object. */
export function parseTools(tools: unknown): readonly ToolDefinition[] {
  return readObjects(tools).map(parseTool)
}

function parseTool({ name, input_schema }: JsonObject, index: number): ToolDefinition {
  if (isJsonObject(input_schema) && input_schema.type === 'object') {
    return { name: readString(name), schema: input_schema }
  }
  throw new SandboxError(400, `tools.${index}.custom.input_schema.type: Input should be 'object'`)
}

/** Reads `tool_choice`, and leaves the tools that it allows. Throws a `Refusal` (400) for one that is not offered. */
export function parseToolChoice(
  choice: unknown,
  tools: readonly ToolDefinition[],
): Pick<ModelRequest, 'tools' | 'toolChoice'> {
  const { type = 'auto', name } = readObject(choice)
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
  const tool = tools.find((each) => each.name === name)
  if (tool) return tool
  throw new SandboxError(400, `tool_choice: Tool '${name}' not found in provided tools`)
}

/** One message of a request, by what the sandbox looks at. */
export interface SandboxMessage {
  readonly role: 'user' | 'assistant' | 'system'
  readonly texts: readonly string[]
  /** The texts of its tool results. */
  readonly results: readonly string[]
  /** Ids of the tools that it calls. */
  readonly calls: readonly string[]
  /** Ids of the calls that it answers. */
  readonly answers: readonly string[]
  /** Whether something stands before a tool result. */
  readonly hasLateResult: boolean
}
