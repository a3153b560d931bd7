import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import { SandboxError } from '../format.ts'
import type { ModelRequest, ReplyFormat, ToolDefinition } from '../model-request.ts'

/** Reads a request's body. Throws a `Refusal` (400) for one that the model would not take. */
export function parseGeminiRequest(model: string, body: JsonObject, signs: boolean): ModelRequest {
  const turns = parseContents(body.contents, signs)
  const config = isJsonObject(body.generationConfig) ? body.generationConfig : {}
  const results = turns.flatMap(trailingToolResultsOf)
  return {
    model,
    texts: [...systemTextsOf(body.systemInstruction), ...turns.flatMap(textsOf), ...results],
    userText: findUserText(turns),
    toolResults: turns.slice(-1).flatMap(trailingToolResultsOf),
    ...parseToolConfig(body.toolConfig, parseTools(body.tools)),
    mayCallInParallel: true,
    replyFormat: parseReplyFormat(config),
    wantsReasoning: parseIncludeThoughts(config.thinkingConfig),
    maxTokens: parseMaxTokens(config.maxOutputTokens),
    stop: Array.isArray(config.stopSequences) ? config.stopSequences.filter(isNonEmptyString) : [],
  }
}

function systemTextsOf(instruction: unknown): readonly string[] {
  const parts = isJsonObject(instruction) && Array.isArray(instruction.parts) ? instruction.parts : []
  return textsOf({ role: 'user', parts: parts.filter(isJsonObject) })
}

/** What the user said last, tool results aside. */
function findUserText(turns: readonly Turn[]): string {
  const texts = turns.filter(({ role }) => role === 'user').map(textsOf)
  return texts.findLast((said) => said.length > 0)?.join('\n') ?? ''
}

function parseReplyFormat({
  responseMimeType: type,
  responseJsonSchema: schema,
  responseSchema,
}: JsonObject): ReplyFormat {
  const isJson = type === 'application/json'
  if (!isJson && (schema ?? responseSchema) !== undefined) {
    throw new SandboxError(400, 'A response schema needs response_mime_type "application/json".')
  }
  if (isJsonObject(schema)) return { type: 'schema', schema }
  return { type: isJson ? 'json' : 'text' }
}

/** Whether thoughts are to be shown. */
function parseIncludeThoughts(config: unknown): boolean {
  if (!isJsonObject(config)) return false
  if (config.thinkingLevel !== undefined && config.thinkingBudget !== undefined) {
    throw new SandboxError(400, 'You can only set one of thinking budget and thinking level.')
  }
  return config.includeThoughts === true
}

function parseMaxTokens(value: unknown): number | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1) return value
  throw new SandboxError(400, "Invalid value at 'generation_config.max_output_tokens': must be positive.")
}

function isNonEmptyString(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

interface Turn {
  readonly role: 'user' | 'model'
  readonly parts: readonly JsonObject[]
}

/** Reads the turns of a conversation. Throws a `Refusal` (400) for calls without signature or without all their results. */
function parseContents(contents: unknown, signs: boolean): readonly Turn[] {
  const list = Array.isArray(contents) ? contents : [contents]
  if (contents === undefined || list.length === 0) {
    throw new SandboxError(400, '* GenerateContentRequest.contents: contents is not specified')
  }
  const turns = list.map(parseTurn)
  for (const [index, turn] of turns.entries()) {
    if (signs) checkSignature(turn, index)
    checkResults(turn, turns[index - 1], index)
  }
  return turns
}

function parseTurn(content: unknown, index: number): Turn {
  const { role = 'user', parts } = isJsonObject(content) ? content : {}
  if (role !== 'user' && role !== 'model')
    throw new SandboxError(400, 'Please use a valid role: user, model.')
  if (!Array.isArray(parts) || parts.length === 0 || !parts.every(isJsonObject)) {
    throw new SandboxError(
      400,
      `* GenerateContentRequest.contents[${index}].parts: contents.parts must not be empty.`,
    )
  }
  return { role, parts }
}

/** Only the first of parallel calls has one. */
function checkSignature({ parts }: Turn, index: number): void {
  const call = parts.find(({ functionCall }) => functionCall !== undefined)
  if (!call || (typeof call.thoughtSignature === 'string' && call.thoughtSignature !== '')) return
  throw new SandboxError(
    400,
    `Function call is missing a thought_signature in functionCall parts, position ${index + 1}.`,
  )
}

function checkResults({ parts }: Turn, before: Turn | undefined, index: number): void {
  const results = parts.filter(({ functionResponse }) => functionResponse !== undefined)
  const calls = (before?.parts ?? []).filter(({ functionCall }) => functionCall !== undefined)
  if (results.length !== calls.length) {
    throw new SandboxError(
      400,
      'Please ensure that the number of function response parts is equal to the number of function call parts ' +
        'of the function call turn.',
    )
  }
  for (const { functionResponse: result } of results) {
    if (isJsonObject(result) && typeof result.name === 'string' && isJsonObject(result.response)) continue
    throw new SandboxError(
      400,
      `Invalid value at 'contents[${index}].parts': a function_response needs name and response.`,
    )
  }
}

/** The texts of a turn. */
function textsOf({ parts }: Turn): readonly string[] {
  return parts.map(({ text }) => text).filter((text) => typeof text === 'string')
}

/** What the tools answered at the end of a turn, each as text. */
function trailingToolResultsOf({ parts }: Turn): readonly string[] {
  const last = parts.findLastIndex(({ functionResponse }) => functionResponse === undefined)
  return parts.slice(last + 1).map(({ functionResponse: result }) => {
    const response = isJsonObject(result) ? result.response : undefined
    const output = isJsonObject(response) ? response.output : undefined
    return typeof output === 'string' ? output : JSON.stringify(response)
  })
}

/** The functions that are declared. Throws a `Refusal` (400) for a name that Gemini does not take. */
function parseTools(tools: unknown): readonly ToolDefinition[] {
  if (!Array.isArray(tools)) return []
  const lists = tools.map((tool) => (isJsonObject(tool) ? tool.functionDeclarations : undefined))
  return lists.flatMap((list) => (Array.isArray(list) ? list.filter(isJsonObject).map(parseDeclaration) : []))
}

function parseDeclaration({ name, parametersJsonSchema: schema, parameters }: JsonObject): ToolDefinition {
  if (typeof name !== 'string' || !/^[A-Za-z_][\w.:-]{0,127}$/.test(name)) {
    throw new SandboxError(400, `Invalid function name: ${JSON.stringify(name)}.`)
  }
  if (schema !== undefined && parameters !== undefined) {
    throw new SandboxError(400, 'parameters and parameters_json_schema exclude each other.')
  }
  return { name, schema: isJsonObject(schema) ? schema : {} }
}

/** Reads who decides about calls, and leaves the functions that may be called. */
function parseToolConfig(
  toolConfig: unknown,
  tools: readonly ToolDefinition[],
): Pick<ModelRequest, 'tools' | 'toolChoice'> {
  const config = isJsonObject(toolConfig) ? toolConfig.functionCallingConfig : undefined
  const { mode = 'AUTO', allowedFunctionNames: names } = isJsonObject(config) ? config : {}
  if (names !== undefined && mode !== 'ANY' && mode !== 'VALIDATED') {
    throw new SandboxError(400, 'allowed_function_names may be set in the modes ANY and VALIDATED only.')
  }
  const offered = Array.isArray(names) ? tools.filter(({ name }) => names.includes(name)) : tools
  switch (mode) {
    case 'AUTO':
    case 'VALIDATED':
      return { tools: offered, toolChoice: 'auto' }
    case 'NONE':
      return { tools: offered, toolChoice: 'none' }
    case 'ANY':
      if (offered.length > 0) return { tools: offered, toolChoice: 'required' }
      throw new SandboxError(400, 'The mode ANY needs a function that is declared.')
    default:
      throw new SandboxError(
        400,
        `Invalid value at 'tool_config.function_calling_config.mode': ${String(mode)}`,
      )
  }
}
