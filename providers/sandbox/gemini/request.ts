import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import { isIssuedReasoning } from '../shared/issued-reasoning.ts'
import type { ModelRequest, ReplyFormat, ToolDefinition } from '../shared/model-request.ts'
import { isSaid } from '../shared/said-texts.ts'
import { SandboxError } from '../shared/wire-format.ts'

/** Parses a request body. Throws a `SandboxError` (400) if the model would reject it. */
export function parseGeminiRequest(model: string, body: JsonObject, hasSignatures: boolean): ModelRequest {
  const turns = parseContents(body.contents, hasSignatures)
  const config = isJsonObject(body.generationConfig) ? body.generationConfig : {}
  const results = turns.flatMap(trailingToolResultsOf)
  const user = turns.findLastIndex(isUserText)
  return {
    model,
    texts: [...systemTextsOf(body.systemInstruction), ...turns.flatMap(textsOf), ...results],
    userText: turns
      .slice(user, user + 1)
      .flatMap(textsOf)
      .filter(isSaid)
      .join('\n'),
    repliesSinceUser: turns.slice(user + 1).filter(({ role }) => role === 'model').length,
    toolResults: turns.slice(-1).flatMap(trailingToolResultsOf),
    ...parseToolConfig(body.toolConfig, parseTools(body.tools)),
    mayCallInParallel: true,
    replyFormat: parseReplyFormat(config),
    wantsReasoning: parseIncludeThoughts(config.thinkingConfig),
    maxTokens: parseMaxTokens(config.maxOutputTokens),
    stop: parseStops(config),
  }
}

function systemTextsOf(instruction: unknown): readonly string[] {
  const parts = isJsonObject(instruction) && Array.isArray(instruction.parts) ? instruction.parts : []
  return textsOf({ role: 'user', parts: parts.filter(isJsonObject) })
}

/** False for turns with only tool results. */
function isUserText(turn: Turn): boolean {
  return turn.role === 'user' && textsOf(turn).some(isSaid)
}

function parseReplyFormat(config: JsonObject): ReplyFormat {
  const { responseMimeType: mimeType, responseJsonSchema: schema, responseSchema } = config
  const isJson = mimeType === 'application/json'
  if (!isJson && (schema ?? responseSchema) !== undefined) {
    throw new SandboxError(400, 'A response schema needs response_mime_type "application/json".')
  }
  if (isJsonObject(schema)) return { type: 'schema', schema }
  return { type: isJson ? 'json' : 'text' }
}

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

const MAX_STOPS = 5
const INT32 = 2 ** 31

function parseStops({ stopSequences: stops, seed }: JsonObject): readonly string[] {
  if (typeof seed === 'number' && (seed < -INT32 || seed >= INT32))
    throw new SandboxError(400, `Invalid value at 'generation_config.seed' (TYPE_INT32), ${seed}`)
  if (!Array.isArray(stops)) return []
  if (stops.length > MAX_STOPS) {
    const message = `the number of stop_sequences must not exceed ${MAX_STOPS}.`
    throw new SandboxError(400, `* GenerateContentRequest.generation_config.stop_sequences: ${message}`)
  }
  return stops.filter(isNonEmptyString)
}

function isNonEmptyString(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

interface Turn {
  readonly role: 'user' | 'model'
  readonly parts: readonly JsonObject[]
}

/** Throws a `SandboxError` (400) for function calls without a signature or without all of their results. */
function parseContents(contents: unknown, hasSignatures: boolean): readonly Turn[] {
  const list = Array.isArray(contents) ? contents : [contents]
  if (contents === undefined || list.length === 0) {
    throw new SandboxError(400, '* GenerateContentRequest.contents: contents is not specified')
  }
  const turns = list.map(parseTurn)
  for (const [index, turn] of turns.entries()) {
    if (hasSignatures) checkSignature(turn, index)
    checkFunctionResponses(turn, turns[index - 1], index)
  }
  return turns
}

function parseTurn(content: unknown, index: number): Turn {
  const { role = 'user', parts } = isJsonObject(content) ? content : {}
  if (role !== 'user' && role !== 'model') {
    throw new SandboxError(400, 'Please use a valid role: user, model.')
  }
  if (!Array.isArray(parts) || parts.length === 0 || !parts.every(isJsonObject)) {
    throw new SandboxError(
      400,
      `* GenerateContentRequest.contents[${index}].parts: contents.parts must not be empty.`,
    )
  }
  return { role, parts }
}

/** Only the first of parallel calls has a signature. */
function checkSignature({ parts }: Turn, index: number): void {
  const call = parts.find(({ functionCall }) => functionCall !== undefined)
  if (!call || isValidSignature(call.thoughtSignature)) return
  throw new SandboxError(
    400,
    `Function call is missing a thought_signature in functionCall parts, position ${index + 1}.`,
  )
}

/** Skips the validation: https://ai.google.dev/gemini-api/docs/thought-signatures */
const NO_SIGNATURE = 'skip_thought_signature_validator'

function isValidSignature(signature: unknown): boolean {
  return signature === NO_SIGNATURE || isIssuedReasoning('gemini', signature)
}

/** Throws a `SandboxError` (400) for a call whose signature is not the one that it was returned with. */
export function checkOwnSignatures({ contents }: JsonObject): void {
  for (const { parts } of Array.isArray(contents) ? contents : []) {
    const call = parts.find(({ functionCall }: JsonObject) => functionCall !== undefined)
    if (call !== undefined && !isIssuedReasoning('gemini', call.thoughtSignature))
      throw new SandboxError(400, 'Thought signature is not valid.')
  }
}

function checkFunctionResponses({ parts }: Turn, previous: Turn | undefined, index: number): void {
  const results = parts.filter(({ functionResponse }) => functionResponse !== undefined)
  const calls = (previous?.parts ?? []).filter(({ functionCall }) => functionCall !== undefined)
  if (results.length !== calls.length) {
    throw new SandboxError(
      400,
      'Please ensure that the number of function response parts is equal to the number of function call ' +
        'parts of the function call turn.',
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

function textsOf({ parts }: Turn): readonly string[] {
  return parts.map(({ text }) => text).filter((text) => typeof text === 'string')
}

/** Returns the tool results at the end of a turn, each as text. Media and reminders may follow them. */
function trailingToolResultsOf({ parts }: Turn): readonly string[] {
  const last = parts.findLastIndex(({ text }) => typeof text === 'string' && isSaid(text))
  const results = parts.slice(last + 1).filter(({ functionResponse }) => functionResponse !== undefined)
  return results.map(({ functionResponse: result }) => {
    const response = isJsonObject(result) ? result.response : undefined
    const output = isJsonObject(response) ? response.output : undefined
    return typeof output === 'string' ? output : JSON.stringify(response)
  })
}

/** Parses the function declarations. Throws a `SandboxError` (400) for a name that Gemini rejects. */
function parseTools(tools: unknown): readonly ToolDefinition[] {
  if (!Array.isArray(tools)) return []
  const lists = tools.map((tool) => (isJsonObject(tool) ? tool.functionDeclarations : undefined))
  return lists.flatMap((list) => (Array.isArray(list) ? list.filter(isJsonObject).map(parseDeclaration) : []))
}

function parseDeclaration({ name, parametersJsonSchema: schema, parameters }: JsonObject): ToolDefinition {
  if (typeof name !== 'string' || !/^[A-Za-z_][\w.:-]{0,63}$/.test(name)) {
    throw new SandboxError(
      400,
      'Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, ' +
        '0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.',
    )
  }
  if (schema !== undefined && parameters !== undefined) {
    throw new SandboxError(400, 'Only one of parameters and parameters_json_schema may be set.')
  }
  return { name, schema: isJsonObject(schema) ? schema : {} }
}

/** Returns the tool choice and the functions that may be called. */
function parseToolConfig(
  toolConfig: unknown,
  tools: readonly ToolDefinition[],
): Pick<ModelRequest, 'tools' | 'toolChoice'> {
  const config = isJsonObject(toolConfig) ? toolConfig.functionCallingConfig : undefined
  const { mode = 'AUTO', allowedFunctionNames: names } = isJsonObject(config) ? config : {}
  if (names !== undefined && mode !== 'ANY' && mode !== 'VALIDATED') {
    throw new SandboxError(400, 'allowed_function_names may only be set in the modes ANY and VALIDATED.')
  }
  const allowedTools = Array.isArray(names) ? tools.filter(({ name }) => names.includes(name)) : tools
  switch (mode) {
    case 'AUTO':
    case 'VALIDATED':
      return { tools: allowedTools, toolChoice: 'auto' }
    case 'NONE':
      return { tools: allowedTools, toolChoice: 'none' }
    case 'ANY':
      if (allowedTools.length > 0) return { tools: allowedTools, toolChoice: 'required' }
      throw new SandboxError(400, 'The mode ANY requires a declared function.')
    default:
      throw new SandboxError(
        400,
        `Invalid value at 'tool_config.function_calling_config.mode': ${String(mode)}`,
      )
  }
}
