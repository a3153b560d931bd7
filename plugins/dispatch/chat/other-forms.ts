import { GatewayError, isJsonObject, type JsonObject } from '../../../core/contract/index.ts'

/**
 * Converts tools and choices in the form of OpenAI's Responses API, which is flat, and in Anthropic's to that
 * of chat completions. Returns the same body if it has none. Throws 400 for the field `system`, which
 * providers would ignore: only messages have it.
 */
export function toChatForm(body: JsonObject): JsonObject {
  const { tools, tool_choice: choice, system } = body
  if (system !== undefined) {
    const message =
      'system is a field of POST /v1/messages. Send a message with the role "system", or use /v1/messages.'
    throw new GatewayError('unsupported_parameter', message, { param: 'system' })
  }
  const hasOtherTools = Array.isArray(tools) && tools.some(isOtherTool)
  const chosen = toChatChoice(choice)
  if (!hasOtherTools && chosen === choice) return body
  return { ...body, ...(hasOtherTools && { tools: tools.map(toChatTool) }), tool_choice: chosen }
}

/** A tool with its name at the top: of functions, and those of Anthropic, which need no type. */
function isOtherTool(tool: unknown): boolean {
  if (!isJsonObject(tool) || isJsonObject(tool.function) || typeof tool.name !== 'string') return false
  return tool.type === 'function' || isJsonObject(tool.input_schema)
}

function toChatTool(tool: unknown): unknown {
  if (!isOtherTool(tool) || !isJsonObject(tool)) return tool
  const { type: _, name, description, parameters, input_schema, strict, ...others } = tool
  const schema = parameters ?? input_schema
  return {
    ...others,
    type: 'function',
    function: {
      name,
      ...(description != null && { description }),
      ...(schema != null && { parameters: schema }),
      ...(strict != null && { strict }),
    },
  }
}

function toChatChoice(choice: unknown): unknown {
  if (!isJsonObject(choice) || choice.function !== undefined) return choice
  const { type, name } = choice
  switch (type) {
    case 'function':
    case 'tool':
      return typeof name === 'string' ? { type: 'function', function: { name } } : choice
    case 'any':
      return 'required'
    case 'auto':
    case 'none':
      return type
    default:
      return choice
  }
}

/** Whether a body offers functions in the form that OpenAI's API had before tools. */
export function offersFormerFunctions({ functions }: JsonObject): boolean {
  return Array.isArray(functions)
}

/**
 * Converts `functions` and `function_call` to tools and their choice, and calls and results in messages to
 * those of tools. Returns the same body if it has none. Throws 400 for a result without a call.
 */
export function toTools(body: JsonObject): JsonObject {
  const given = body.messages
  const converted = Array.isArray(given) && given.some(isFormerMessage) ? toToolMessages(given) : given
  if (body.functions == null && body.function_call == null)
    return converted === given ? body : { ...body, messages: converted }
  const { functions, function_call: choice, messages, ...others } = body
  if (others.tools != null) {
    const message = 'functions and tools cannot be combined. Use tools.'
    throw new GatewayError('invalid_value', message, { param: 'functions' })
  }
  return {
    ...others,
    ...(messages !== undefined && { messages: converted }),
    ...(Array.isArray(functions) && {
      tools: functions.map((each) => ({ type: 'function', function: each })),
      // A reply has at most one call in this form.
      parallel_tool_calls: others.parallel_tool_calls ?? false,
    }),
    ...(choice != null && { tool_choice: toToolChoice(choice) }),
  }
}

function toToolChoice(choice: unknown): unknown {
  return isJsonObject(choice) ? { type: 'function', function: choice } : choice
}

function isFormerMessage(message: unknown): boolean {
  return isJsonObject(message) && (message.function_call != null || message.role === 'function')
}

function toToolMessages(messages: readonly unknown[]): readonly unknown[] {
  /** Ids of the last call of each function. */
  const ids = new Map<unknown, string>()
  return messages.map((message, index) => {
    if (!isJsonObject(message) || !isFormerMessage(message)) return message
    const { function_call: call, name, ...others } = message
    if (message.role === 'function') {
      const id = ids.get(name)
      if (id !== undefined)
        return { ...others, role: 'tool', tool_call_id: id, content: message.content ?? '' }
      const text = `messages[${index}] is the result of a function that no earlier message calls.`
      throw new GatewayError('invalid_value', text, { param: `messages[${index}].name` })
    }
    // The same in each request of a conversation, so that prompts stay cached.
    const id = `call_${index}`
    if (isJsonObject(call)) ids.set(call.name, id)
    return {
      ...others,
      ...(name !== undefined && { name }),
      content: message.content ?? null,
      tool_calls: [{ id, type: 'function', function: call }],
    }
  })
}

/** Returns where a caller wrote what has this path in the converted body. */
export function toFormerPath(path: string): string {
  return path
    .replace(/^tools\[(\d+)\](?:\.function)?/, 'functions[$1]')
    .replace(/^tools$/, 'functions')
    .replace(/^tool_choice(?:\.function)?/, 'function_call')
    .replace(/^(messages\[\d+\])\.tool_calls\[0\](?:\.function)?/, '$1.function_call')
}

/** Converts a completion: its first call becomes the `function_call`. */
export function toFormerCompletion(completion: string): JsonObject {
  return convertChoices(JSON.parse(completion), 'message')
}

/** Converts the records of a stream. */
export async function* toFormerStream(texts: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const text of texts) {
    const records = text.split('\n\n').filter((record) => record !== '')
    yield records.map((record) => `${toFormerRecord(record)}\n\n`).join('')
  }
}

function toFormerRecord(record: string): string {
  if (!record.startsWith('data: {')) return record
  return `data: ${JSON.stringify(convertChoices(JSON.parse(record.slice('data: '.length)), 'delta'))}`
}

function convertChoices(record: JsonObject, field: 'message' | 'delta'): JsonObject {
  const { choices } = record
  if (!Array.isArray(choices)) return record
  return { ...record, choices: choices.map((choice) => convertChoice(choice, field)) }
}

function convertChoice(choice: JsonObject, field: 'message' | 'delta'): JsonObject {
  const { finish_reason: finish } = choice
  const said = choice[field]
  return {
    ...choice,
    ...(isJsonObject(said) && { [field]: convertCalls(said) }),
    finish_reason: finish === 'tool_calls' ? 'function_call' : finish,
  }
}

function convertCalls({ tool_calls: calls, ...said }: JsonObject): JsonObject {
  const first: unknown = Array.isArray(calls) ? calls.find(({ index = 0 }) => index === 0) : undefined
  return isJsonObject(first) && isJsonObject(first.function)
    ? { ...said, function_call: first.function }
    : said
}
