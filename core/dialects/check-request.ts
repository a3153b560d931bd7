import {
  type ChatRequest,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type Message,
  type ToolCall,
} from '../contract/index.ts'

/**
 * Throws 400 for a `tool_choice` that forces a call although there are no tools, or that names a function
 * which is not in `tools`. Some providers would answer it with prose.
 */
export function checkToolChoice({ tools, tool_choice: choice }: Pick<ChatRequest, 'tools' | 'tool_choice'>) {
  if (choice == null || choice === 'auto' || choice === 'none') return
  if (tools == null || tools.length === 0)
    throw toolChoiceError('missing_parameter', 'tool_choice requires tools. Add tools, or omit it.')
  // `any` is Mistral's word for required.
  if (choice === 'required' || choice === 'any') return
  if (typeof choice === 'string')
    throw toolChoiceError('invalid_value', 'tool_choice must be "auto", "none", "required" or name a tool.')
  const names = new Set(tools.map(nameOfTool))
  const missing = chosenNames(choice).find((name) => !names.has(name))
  if (missing === undefined) return
  throw toolChoiceError(
    'invalid_value',
    `tool_choice names the function "${missing}", which is not in tools.`,
    missing,
  )
}

/** Throws 400 for an earlier call of neither a function nor a custom tool. */
export function checkToolCalls({ messages }: Pick<ChatRequest, 'messages'>): void {
  for (const [index, { tool_calls }] of messages.entries()) {
    if (tool_calls == null) continue
    const missing = tool_calls.findIndex(
      ({ function: called, custom }) => called === undefined && !isJsonObject(custom),
    )
    if (missing === -1) continue
    const param = `messages[${index}].tool_calls[${missing}].function`
    throw new GatewayError('missing_parameter', `${param} is required.`, { param })
  }
}

function toolChoiceError(
  code: 'missing_parameter' | 'invalid_value',
  message: string,
  quoted?: unknown,
): GatewayError {
  const details = quoted === undefined ? {} : { quoted: String(quoted) }
  return new GatewayError(code, message, { param: 'tool_choice', ...details })
}

/** The name of a function, a custom tool or a tool of a provider; undefined if it has none. */
function nameOfTool({ type, function: called, extra_content, ...tool }: JsonObject): unknown {
  if (isJsonObject(called)) return called.name
  if (isJsonObject(extra_content) && isJsonObject(extra_content.anthropic))
    return extra_content.anthropic.name
  const own = typeof type === 'string' ? tool[type] : undefined
  return isJsonObject(own) ? own.name : tool.name
}

/** The functions that a choice names: one, or those of `allowed_tools`. */
function chosenNames({ type, function: called, allowed_tools }: JsonObject): readonly string[] {
  if (type === 'function' && isJsonObject(called)) return typeof called.name === 'string' ? [called.name] : []
  if (type !== 'allowed_tools' || !isJsonObject(allowed_tools) || !Array.isArray(allowed_tools.tools))
    return []
  return allowed_tools.tools.filter(isJsonObject).flatMap(chosenNames)
}

const FORMATS: ReadonlySet<unknown> = new Set(['text', 'json_object', 'json_schema'])

/**
 * Throws 400 for a format of an unknown type, and for `json_schema` without a schema. `path` is where the
 * caller wrote the format, `schemaPath` where the schema belongs.
 */
export function checkResponseFormat(
  format: { readonly type?: unknown; readonly schema?: unknown },
  path: string,
  schemaPath = `${path}.schema`,
): void {
  if (!FORMATS.has(format.type)) {
    const message = `${path}.type must be "text", "json_object" or "json_schema".`
    throw new GatewayError('invalid_value', message, { param: `${path}.type` })
  }
  if (format.type !== 'json_schema' || isJsonObject(format.schema)) return
  const message = `${schemaPath} is missing: "json_schema" requires a JSON Schema.`
  throw new GatewayError('missing_parameter', message, { param: schemaPath })
}

/** The same for the `response_format` of a canonical request. */
export function checkChatResponseFormat({ response_format: format }: Pick<ChatRequest, 'response_format'>) {
  if (format == null) return
  const { type, json_schema } = format
  const schema = isJsonObject(json_schema) ? json_schema.schema : undefined
  checkResponseFormat({ type, schema }, 'response_format', 'response_format.json_schema.schema')
}

/**
 * Returns the arguments of an earlier call as JSON text. Models leave them out of calls of functions without
 * parameters, and providers reject an empty text: these are `{}`.
 */
export function toArgumentsText(json: unknown): string {
  return typeof json === 'string' && /\S/.test(json) ? json : '{}'
}

/** Fills in missing arguments of earlier calls of functions. Returns the same request if there are none. */
export function withCallArguments<R extends { readonly messages: readonly Message[] }>(request: R): R {
  if (!request.messages.some(({ tool_calls }) => tool_calls?.some(lacksArguments))) return request
  return { ...request, messages: request.messages.map(withArguments) }
}

function lacksArguments({ function: called }: Partial<ToolCall>): boolean {
  return called !== undefined && called.arguments !== toArgumentsText(called.arguments)
}

function withArguments(message: Message): Message {
  if (!message.tool_calls?.some(lacksArguments)) return message
  const tool_calls = message.tool_calls.map((call) =>
    lacksArguments(call) ? { ...call, function: { ...call.function, arguments: '{}' } } : call,
  )
  return { ...message, tool_calls }
}
