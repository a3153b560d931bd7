import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import { asObject, asObjects, asString } from '../../shared/fields.ts'
import { Refusal } from '../format.ts'
import type { Question, ToolOffer } from '../model-request.ts'

// As of the API reference of November 2026.
const BODY = split(
  `model messages max_tokens system stream tools tool_choice temperature top_p top_k stop_sequences metadata thinking
  output_config service_tier cache_control container diagnostics inference_geo speed`,
)
const MESSAGE = split('role content')
const BLOCKS: Readonly<Record<string, ReadonlySet<string>>> = {
  text: split('type text cache_control citations'),
  image: split('type source cache_control transformations'),
  document: split('type source cache_control citations context title'),
  tool_use: split('type id name input cache_control caller toolset_name'),
  tool_result: split('type tool_use_id content is_error cache_control toolset_name'),
}

/** Throws a `Refusal` (400) for the first field that Anthropic's requests do not have. */
export function checkFields(body: JsonObject): void {
  check(body, BODY, '')
  for (const [index, message] of asObjects(body.messages).entries()) {
    check(message, MESSAGE, `messages.${index}.`)
    for (const [place, block] of asObjects(message.content).entries()) {
      const known = BLOCKS[String(block.type)]
      if (known) check(block, known, `messages.${index}.content.${place}.`)
    }
  }
}

function check(fields: JsonObject, known: ReadonlySet<string>, path: string): void {
  const unknown = Object.keys(fields).find((name) => !known.has(name))
  if (unknown !== undefined) throw new Refusal(400, `${path}${unknown}: Extra inputs are not permitted`)
}

function split(names: string): ReadonlySet<string> {
  return new Set(names.split(/\s+/))
}

/** Throws a `Refusal` (400) unless every tool call is answered once, at the start of the very next message. */
export function checkTurns(messages: readonly Message[]): void {
  for (const [index, message] of messages.entries()) {
    const calls = messages[index - 1]?.calls ?? []
    const path = `messages.${index}`
    if (message.hasLateResult) throw new Refusal(400, `${path}: tool_result blocks must come first`)
    const stray = message.answers.find((id) => !calls.includes(id))
    if (stray !== undefined) {
      throw new Refusal(400, `${path}: unexpected tool_use_id found in tool_result blocks: ${stray}`)
    }
    checkAnswers(calls, message.answers, path)
  }
  checkAnswers(messages.at(-1)?.calls ?? [], [], 'messages')
}

function checkAnswers(calls: readonly string[], answers: readonly string[], path: string): void {
  const open = calls.find((call) => answers.filter((answer) => answer === call).length !== 1)
  if (open === undefined) return
  throw new Refusal(400, `${path}: each tool_use must have a single tool_result right after it: ${open}`)
}

/** The tools of a request. Throws a `Refusal` (400) for one whose input is no object. */
export function readTools(tools: unknown): readonly ToolOffer[] {
  return asObjects(tools).map(readTool)
}

function readTool({ name, input_schema }: JsonObject, index: number): ToolOffer {
  if (isJsonObject(input_schema) && input_schema.type === 'object') {
    return { name: asString(name), schema: input_schema }
  }
  throw new Refusal(400, `tools.${index}.custom.input_schema.type: Input should be 'object'`)
}

/** Reads `tool_choice`, and leaves the tools that it allows. Throws a `Refusal` (400) for one that is not offered. */
export function readToolChoice(
  choice: unknown,
  tools: readonly ToolOffer[],
): Pick<Question, 'tools' | 'toolChoice'> {
  const { type = 'auto', name } = asObject(choice)
  if (choice !== undefined && tools.length === 0) {
    throw new Refusal(400, 'tool_choice: may only be specified while providing tools')
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
      throw new Refusal(400, `tool_choice: Input tag '${type}' found using 'type' does not match`)
  }
}

function findTool(name: unknown, tools: readonly ToolOffer[]): ToolOffer {
  const tool = tools.find((each) => each.name === name)
  if (tool) return tool
  throw new Refusal(400, `tool_choice: Tool '${name}' not found in provided tools`)
}

/** One message of a request, by what the sandbox looks at. */
export interface Message {
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
