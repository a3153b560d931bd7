import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import { fieldSet, findUnknownField } from '../shared/unknown-fields.ts'
import { SandboxError } from '../shared/wire-format.ts'

// From Mistral's SDK of October 2026.
const BODY_FIELDS =
  fieldSet(`model messages temperature top_p max_tokens stream stop random_seed metadata response_format tools
  tool_choice presence_penalty frequency_penalty n prediction parallel_tool_calls reasoning_effort prompt_mode
  guardrails prompt_cache_key service_tier safe_prompt`)

const MESSAGE_FIELDS: Readonly<Record<string, ReadonlySet<string>>> = {
  system: fieldSet('role content'),
  user: fieldSet('role content'),
  assistant: fieldSet('role content tool_calls prefix'),
  tool: fieldSet('role content tool_call_id name'),
}

const TOOL_CALL_FIELDS = fieldSet('id type function index')
const TOOL_FIELDS = fieldSet('type function')
const FUNCTION_FIELDS = fieldSet('name description strict parameters')

/** Throws a `SandboxError` (422) for the first unknown or missing field: Mistral rejects unknown fields. */
export function checkMistralFields(body: JsonObject): void {
  checkKnownFields(body, BODY_FIELDS, '')
  if (typeof body.model !== 'string') throw missingField('model')
  if (!Array.isArray(body.messages) || body.messages.length === 0) throw missingField('messages')
  for (const [index, message] of body.messages.entries()) checkMessage(message, `messages.${index}.`)
  if (body.tools == null) return
  if (!Array.isArray(body.tools) || body.tools.length === 0) {
    throw new SandboxError(422, 'List should have at least 1 item', { param: 'tools', code: 'too_short' })
  }
  for (const [index, tool] of body.tools.entries()) checkTool(tool, `tools.${index}.`)
}

function checkMessage(message: unknown, path: string): void {
  const knownFields = isJsonObject(message) ? MESSAGE_FIELDS[String(message.role)] : undefined
  if (!isJsonObject(message) || !knownFields) {
    const text = "Input tag should be one of: 'system', 'user', 'assistant', 'tool'"
    throw new SandboxError(422, text, { param: `${path}role`, code: 'union_tag_invalid' })
  }
  checkKnownFields(message, knownFields, path)
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls : []
  for (const [index, call] of calls.entries()) {
    checkKnownFields(call, TOOL_CALL_FIELDS, `${path}tool_calls.${index}.`)
    if (isJsonObject(call) && isJsonObject(call.function)) checkFunctionName(call.function.name)
  }
}

function checkTool(tool: unknown, path: string): void {
  checkKnownFields(tool, TOOL_FIELDS, path)
  const definition = isJsonObject(tool) ? tool.function : undefined
  checkKnownFields(definition, FUNCTION_FIELDS, `${path}function.`)
  if (!isJsonObject(definition) || !isJsonObject(definition.parameters)) {
    throw missingField(`${path}function.parameters`)
  }
  checkFunctionName(definition.name)
}

/** Throws a `SandboxError` (400) in Mistral's words. */
function checkFunctionName(name: unknown): void {
  if (typeof name === 'string' && /^[a-zA-Z0-9_-]{1,64}$/.test(name)) return
  const expected = 'must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length of 64.'
  throw new SandboxError(400, `Function name was ${String(name)} but ${expected}`)
}

function checkKnownFields(value: unknown, knownFields: ReadonlySet<string>, path: string): void {
  const unknown = findUnknownField(value, knownFields)
  if (unknown === undefined) return
  throw new SandboxError(422, 'Extra inputs are not permitted', {
    param: path + unknown,
    code: 'extra_forbidden',
  })
}

function missingField(param: string): SandboxError {
  return new SandboxError(422, 'Field required', { param, code: 'missing' })
}

/** Throws a `SandboxError` (400, with Mistral's codes) for a conversation that the model cannot continue. */
export function checkMistralConversation({ messages: list, temperature, random_seed }: JsonObject): void {
  const messages = Array.isArray(list) ? list.filter(isJsonObject) : []
  for (const id of messages.flatMap(toolCallIdsOf)) checkToolCallId(id)
  for (const [index, { role }] of messages.entries()) {
    const earlier = messages[index - 1]?.role
    if (earlier !== 'tool' || role === 'tool' || role === 'assistant') continue
    throw new SandboxError(400, `Unexpected role '${role}' after role 'tool'`, { code: '3230' })
  }
  const last = messages.at(-1)
  if (last?.role === 'system' || (last?.role === 'assistant' && last.prefix !== true)) {
    const expected = 'Expected last role User or Tool (or Assistant with prefix True) for serving'
    throw new SandboxError(400, `${expected} but got ${last.role}`, { code: '3230' })
  }
  if (typeof random_seed === 'number' && random_seed < 0) {
    const text = 'Input should be greater than or equal to 0'
    throw new SandboxError(422, text, { param: 'random_seed', code: 'greater_than_equal' })
  }
  if (typeof temperature === 'number' && temperature > 1) {
    throw new SandboxError(400, 'Temperature must be between 0 and 1', { code: '3051' })
  }
}

function toolCallIdsOf({ tool_calls: calls, tool_call_id: id }: JsonObject): readonly unknown[] {
  const callIds = Array.isArray(calls) ? calls.filter(isJsonObject).map((call) => call.id) : []
  return id === undefined ? callIds : [...callIds, id]
}

function checkToolCallId(id: unknown): void {
  if (typeof id === 'string' && /^[a-zA-Z0-9]{9}$/.test(id)) return
  const expected = 'must be a-z, A-Z, 0-9, with a length of 9.'
  throw new SandboxError(400, `Tool call id was ${String(id)} but ${expected}`, { code: '3280' })
}
