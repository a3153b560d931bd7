import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import { SandboxError } from '../format.ts'

// As of the SDK of October 2026.
const BODY =
  fields(`model messages temperature top_p max_tokens stream stop random_seed metadata response_format tools
  tool_choice presence_penalty frequency_penalty n prediction parallel_tool_calls reasoning_effort prompt_mode guardrails
  prompt_cache_key service_tier safe_prompt`)

const MESSAGES: Readonly<Record<string, ReadonlySet<string>>> = {
  system: fields('role content'),
  user: fields('role content'),
  assistant: fields('role content tool_calls prefix'),
  tool: fields('role content tool_call_id name'),
}

const TOOL_CALL = fields('id type function index')
const TOOL = fields('type function')
const FUNCTION = fields('name description strict parameters')

function fields(names: string): ReadonlySet<string> {
  return new Set(names.split(/\s+/))
}

/** Throws a `Refusal` (422) for the first field that is unknown or missing: Mistral takes no others. */
export function checkMistralFields(body: JsonObject): void {
  checkKnownFields(body, BODY, '')
  if (typeof body.model !== 'string') throw missingField('model')
  if (!Array.isArray(body.messages) || body.messages.length === 0) throw missingField('messages')
  for (const [index, message] of body.messages.entries()) checkMessage(message, `messages.${index}.`)
  if (body.tools == null) return
  if (!Array.isArray(body.tools) || body.tools.length === 0) {
    throw new SandboxError(422, 'List should have at least 1 item', { param: 'tools', code: 'too_short' })
  }
  for (const [index, tool] of body.tools.entries()) checkTool(tool, `tools.${index}.`)
}

function checkMessage(message: unknown, place: string): void {
  const known = isJsonObject(message) ? MESSAGES[String(message.role)] : undefined
  if (!isJsonObject(message) || !known) {
    const said = "Input tag should be one of: 'system', 'user', 'assistant', 'tool'"
    throw new SandboxError(422, said, { param: `${place}role`, code: 'union_tag_invalid' })
  }
  checkKnownFields(message, known, place)
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls : []
  for (const [index, call] of calls.entries())
    checkKnownFields(call, TOOL_CALL, `${place}tool_calls.${index}.`)
}

function checkTool(tool: unknown, place: string): void {
  checkKnownFields(tool, TOOL, place)
  const offered = isJsonObject(tool) ? tool.function : undefined
  checkKnownFields(offered, FUNCTION, `${place}function.`)
  if (!isJsonObject(offered) || !isJsonObject(offered.parameters))
    throw missingField(`${place}function.parameters`)
}

function checkKnownFields(value: unknown, known: ReadonlySet<string>, place: string): void {
  const extra = isJsonObject(value) ? Object.keys(value).find((name) => !known.has(name)) : undefined
  if (extra === undefined) return
  throw new SandboxError(422, 'Extra inputs are not permitted', {
    param: place + extra,
    code: 'extra_forbidden',
  })
}

function missingField(param: string): SandboxError {
  return new SandboxError(422, 'Field required', { param, code: 'missing' })
}

/** Throws a `Refusal` (400) for a conversation that the model cannot go on from; the codes are Mistral's. */
export function checkMistralConversation({ messages, temperature }: JsonObject): void {
  const turns = Array.isArray(messages) ? messages.filter(isJsonObject) : []
  for (const id of turns.flatMap(findCallIds)) checkCallId(id)
  const last = turns.at(-1)
  if (last?.role === 'system' || (last?.role === 'assistant' && last.prefix !== true)) {
    const expected = 'Expected last role User or Tool (or Assistant with prefix True) for serving'
    throw new SandboxError(400, `${expected} but got ${last.role}`, { code: '3230' })
  }
  if (typeof temperature === 'number' && temperature > 1) {
    throw new SandboxError(400, 'Temperature must be between 0 and 1', { code: '3051' })
  }
}

function findCallIds({ tool_calls: calls, tool_call_id: id }: JsonObject): readonly unknown[] {
  const called = Array.isArray(calls) ? calls.filter(isJsonObject).map((call) => call.id) : []
  return id === undefined ? called : [...called, id]
}

function checkCallId(id: unknown): void {
  if (typeof id === 'string' && /^[a-zA-Z0-9]{9}$/.test(id)) return
  const wanted = 'must be a-z, A-Z, 0-9, with a length of 9.'
  throw new SandboxError(400, `Tool call id was ${String(id)} but ${wanted}`, { code: '3280' })
}
