import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import { SandboxError } from '../shared/wire-format.ts'
import { checkStrictSchema } from './validate-schema.ts'

// What OpenAI refuses, in its words. A copy of its rules: what adapters know about them is not used here.

const MAX_TOOLS = 128
const MAX_STOPS = 4
const MAX_ID_CHARS = 64
const METADATA = { entries: 16, keyChars: 64, valueChars: 512 }

/** Throws a `SandboxError` (400) for a chat request that OpenAI refuses. */
export function checkChatLimits(body: JsonObject): void {
  const { tools, stop, stream, stream_options, store, metadata, response_format: format } = body
  checkList(tools, 'tools', MAX_TOOLS)
  for (const [index, tool] of objectsIn(tools).entries()) {
    checkUnknown(tool, `tools[${index}]`)
    const kind = tool.type === 'custom' ? 'custom' : 'function'
    checkTool(tool[kind], `tools[${index}].${kind}`)
  }
  for (const field of ['tool_choice', 'parallel_tool_calls'])
    if (body[field] != null && tools == null) throw onlyAllowedWhen(field, "'tools' are specified")
  for (const [index, message] of objectsIn(body.messages).entries())
    checkMessage(message, `messages[${index}]`)
  if (Array.isArray(stop)) checkList(stop, 'stop', MAX_STOPS)
  if (stream_options != null && stream !== true)
    throw onlyAllowedWhen('stream_options', "'stream' is enabled")
  if (metadata != null && store !== true) throw onlyAllowedWhen('metadata', "'store' is enabled")
  checkSharedLimits(body)
  if (!isJsonObject(format) || !isJsonObject(format.json_schema)) return
  checkFormat(format.json_schema, 'response_format.json_schema')
}

/** Throws a `SandboxError` (400) for a request of the Responses API that OpenAI refuses. */
export function checkResponseLimits(body: JsonObject): void {
  const { input, tools, text } = body
  if (tools != null) checkList(tools, 'tools', MAX_TOOLS, 0)
  for (const [index, tool] of objectsIn(tools).entries())
    if (tool.type === 'function' || tool.type === 'custom') checkTool(tool, `tools[${index}]`)
  for (const [index, item] of objectsIn(input).entries()) {
    checkLength(item.call_id, `input[${index}].call_id`, MAX_ID_CHARS)
    if (item.type === 'function_call') checkName(item.name, `input[${index}].name`)
  }
  checkSharedLimits(body)
  if (isJsonObject(text) && isJsonObject(text.format) && text.format.type === 'json_schema')
    checkFormat(text.format, 'text.format')
}

function checkSharedLimits(body: JsonObject): void {
  const { metadata } = body
  for (const field of ['user', 'safety_identifier', 'prompt_cache_key'])
    checkLength(body[field], field, MAX_ID_CHARS)
  if (!isJsonObject(metadata)) return
  const entries = Object.entries(metadata)
  if (entries.length > METADATA.entries)
    throw invalid('metadata', `expected an object with at most ${METADATA.entries} properties`)
  for (const [key, value] of entries) {
    if (typeof value !== 'string') throw invalid(`metadata.${key}`, 'expected a string')
    checkLength(key, `metadata`, METADATA.keyChars)
    checkLength(value, `metadata.${key}`, METADATA.valueChars)
  }
}

function checkFormat({ name, strict, schema }: JsonObject, param: string): void {
  if (name === undefined)
    throw new SandboxError(400, `Missing required parameter: '${param}.name'.`, { param: `${param}.name` })
  checkName(name, `${param}.name`)
  if (strict === true) checkStrictSchema(schema, `Invalid schema for response_format '${name}'`, param)
}

function checkTool(value: unknown, param: string): void {
  if (!isJsonObject(value)) return
  const { name, parameters, strict } = value
  checkName(name, `${param}.name`)
  checkUnknown(value, param)
  if (!isJsonObject(parameters)) return
  const problem = findRootProblem(parameters)
  const issue = `Invalid schema for function '${name}'`
  if (problem !== undefined)
    throw new SandboxError(400, `${issue}: ${problem}.`, {
      param: `${param}.parameters`,
      code: 'invalid_function_parameters',
    })
  if (strict === true) checkStrictSchema(parameters, issue, `${param}.parameters`)
}

const NOT_AT_ROOT = ['oneOf', 'anyOf', 'allOf', 'enum', 'not']

function findRootProblem(schema: JsonObject): string | undefined {
  if (schema.type === undefined)
    return 'schema must be a JSON Schema of \'type: "object"\', got \'type: "None"\''
  if (schema.type !== 'object' || NOT_AT_ROOT.some((keyword) => schema[keyword] !== undefined))
    return `schema must have type 'object' and not have ${NOT_AT_ROOT.join('/')} at the top level`
  return isJsonObject(schema.properties) ? undefined : 'In context=(), object schema missing properties'
}

function checkMessage(message: JsonObject, param: string): void {
  const { role, name, content, tool_calls, tool_call_id, function_call } = message
  checkUnknown(message, param)
  for (const [index, part] of objectsIn(content).entries()) checkUnknown(part, `${param}.content[${index}]`)
  if (role === 'tool' || role === 'function') {
    if (name !== undefined) checkName(name, `${param}.name`)
  } else if (name !== undefined) checkText(name, `${param}.name`, '^[^\\s<|\\\\/>]+$', MAX_ID_CHARS)
  checkLength(tool_call_id, `${param}.tool_call_id`, MAX_CALL_ID_CHARS)
  if (isJsonObject(function_call)) checkName(function_call.name, `${param}.function_call.name`)
  for (const [index, call] of objectsIn(tool_calls).entries()) {
    const path = `${param}.tool_calls[${index}]`
    checkLength(call.id, `${path}.id`, MAX_CALL_ID_CHARS)
    for (const kind of ['function', 'custom']) {
      const called = call[kind]
      if (isJsonObject(called)) checkName(called.name, `${path}.${kind}.name`)
    }
  }
}

const MAX_CALL_ID_CHARS = 40

/** Of the fields that OpenAI does not know, the one that clients of other providers send. */
function checkUnknown(value: JsonObject, param: string): void {
  if (value.cache_control === undefined) return
  const unknown = `${param}.cache_control`
  throw new SandboxError(400, `Unknown parameter: '${unknown}'.`, {
    param: unknown,
    code: 'unknown_parameter',
  })
}

function checkName(name: unknown, param: string): void {
  checkText(name, param, '^[a-zA-Z0-9_-]+$', 64)
}

function checkText(value: unknown, param: string, pattern: string, maxChars: number): void {
  checkLength(value, param, maxChars)
  if (typeof value === 'string' && new RegExp(pattern).test(value)) return
  throw invalid(
    param,
    `string does not match pattern. Expected a string that matches the pattern '${pattern}'`,
  )
}

function checkLength(value: unknown, param: string, maxChars: number): void {
  if (typeof value !== 'string' || value.length <= maxChars) return
  throw tooLong(param, 'string', maxChars, value.length)
}

function checkList(value: unknown, param: string, max: number, min = 1): void {
  if (!Array.isArray(value)) return
  if (value.length < min) throw invalid(param, `empty array. Expected an array with minimum length ${min}`)
  if (value.length > max) throw tooLong(param, 'array', max, value.length)
}

function tooLong(param: string, kind: 'string' | 'array', max: number, length: number): SandboxError {
  const expected = `Expected ${kind === 'array' ? 'an array' : 'a string'} with maximum length ${max}`
  const got = `but got one with length ${length} instead`
  const message = `Invalid '${param}': ${kind} too long. ${expected}, ${got}.`
  return new SandboxError(400, message, { param, code: `${kind}_above_max_length` })
}

function onlyAllowedWhen(param: string, condition: string): SandboxError {
  const message = `Invalid value for '${param}': '${param}' is only allowed when ${condition}.`
  return new SandboxError(400, message, { param })
}

function invalid(param: string, why: string): SandboxError {
  return new SandboxError(400, `Invalid '${param}': ${why}.`, { param, code: 'invalid_value' })
}

function objectsIn(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}
