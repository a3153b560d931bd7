import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import { Refusal } from '../refusal.ts'

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
export function checkFields(body: JsonObject): void {
  check(body, BODY, '')
  if (typeof body.model !== 'string') throw missing('model')
  if (!Array.isArray(body.messages) || body.messages.length === 0) throw missing('messages')
  for (const [index, message] of body.messages.entries()) checkMessage(message, `messages.${index}.`)
  if (body.tools == null) return
  if (!Array.isArray(body.tools) || body.tools.length === 0) {
    throw new Refusal(422, 'List should have at least 1 item', { param: 'tools', code: 'too_short' })
  }
  for (const [index, tool] of body.tools.entries()) checkTool(tool, `tools.${index}.`)
}

function checkMessage(message: unknown, place: string): void {
  const known = isJsonObject(message) ? MESSAGES[String(message.role)] : undefined
  if (!isJsonObject(message) || !known) {
    const said = "Input tag should be one of: 'system', 'user', 'assistant', 'tool'"
    throw new Refusal(422, said, { param: `${place}role`, code: 'union_tag_invalid' })
  }
  check(message, known, place)
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls : []
  for (const [index, call] of calls.entries()) check(call, TOOL_CALL, `${place}tool_calls.${index}.`)
}

function checkTool(tool: unknown, place: string): void {
  check(tool, TOOL, place)
  const offered = isJsonObject(tool) ? tool.function : undefined
  check(offered, FUNCTION, `${place}function.`)
  if (!isJsonObject(offered) || !isJsonObject(offered.parameters))
    throw missing(`${place}function.parameters`)
}

function check(value: unknown, known: ReadonlySet<string>, place: string): void {
  const extra = isJsonObject(value) ? Object.keys(value).find((name) => !known.has(name)) : undefined
  if (extra === undefined) return
  throw new Refusal(422, 'Extra inputs are not permitted', {
    param: place + extra,
    code: 'extra_forbidden',
  })
}

function missing(param: string): Refusal {
  return new Refusal(422, 'Field required', { param, code: 'missing' })
}
