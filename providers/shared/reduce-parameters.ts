import type { ChatRequest } from '../../core/contract/chat.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { isDefaultValue, UNRELATED_FIELDS } from './deviations.ts'
import { asObject } from './fields.ts'
import { ORDINARY_MESSAGES, reduceMessages } from './reduce-messages.ts'
import { findConstraints, toStrictSchema } from './schema-constraints.ts'

/**
 * Reduces a request to what decides which models honour its parameters: texts, schemas and numbers that do
 * not matter are replaced, so that many requests are reduced to the same one. Undefined if there are
 * none, and the messages hold nothing but texts and images.
 */
export function reduceParameters(request: ChatRequest): ChatRequest | undefined {
  const messages = reduceMessages(request.messages)
  let reduced: Record<string, unknown> | undefined = messages === ORDINARY_MESSAGES ? undefined : { messages }
  for (const field in request) {
    if (IGNORED_FIELDS.has(field)) continue
    const value = request[field]
    // Not every model can do without reasoning.
    if (isDefaultValue(field, value) && value !== 'none') continue
    if (field === 'tool_choice' && value === 'none') continue
    reduced ??= { messages }
    reduced[field] = reduceField(field, value, request)
  }
  // The cast is safe: fields keep their types.
  return reduced as ChatRequest | undefined
}

/** The output limit is compared with that of the model. */
const IGNORED_FIELDS: ReadonlySet<string> = new Set([
  ...UNRELATED_FIELDS,
  'max_tokens',
  'max_completion_tokens',
])

function reduceField(field: string, value: unknown, request: ChatRequest): unknown {
  switch (field) {
    case 'tools':
      return reduceTools(request.tools ?? [])
    case 'tool_choice':
      return reduceToolChoice(request.tool_choice)
    case 'response_format':
      return reduceFormat(asObject(value))
    case 'stop':
      return reduceStop(value)
    // Rounded up: providers limit the first three from above, and `top_p` to two decimals.
    case 'temperature':
    case 'presence_penalty':
    case 'frequency_penalty':
      return roundUp(value, 10)
    case 'top_p':
      return roundUp(value, 100)
    case 'logit_bias':
      return { 1: 1 }
    default:
      return reduceUnknown(value)
  }
}

function roundUp(value: unknown, steps: number): unknown {
  return typeof value === 'number' ? Math.ceil(value * steps) / steps : value
}

/** One tool of each kind, with the name that the reduced choice has. */
function reduceTools(tools: NonNullable<ChatRequest['tools']>): readonly JsonObject[] {
  const kinds = new Map<string, JsonObject>()
  for (const tool of tools) {
    const { type, function: called } = tool
    const isStrict = called?.strict === true
    // Tools in Anthropic's format are left out, with a warning, for other providers.
    if (type === 'extra_content') continue
    if (type !== 'function' || called === undefined) kinds.set(type, { type, [type]: { name: SAMPLE_NAME } })
    else kinds.set(`function ${isStrict}`, toSampleTool(isStrict))
  }
  return [...kinds.values()]
}

const SAMPLE_NAME = 'f'

function toSampleTool(isStrict: boolean): JsonObject {
  return { type: 'function', function: { name: SAMPLE_NAME, ...(isStrict && { strict: true }) } }
}

function reduceToolChoice(choice: ChatRequest['tool_choice']): unknown {
  if (!isJsonObject(choice)) return choice
  const named = { type: 'function', function: { name: SAMPLE_NAME } }
  const { type, allowed_tools } = choice
  if (type === 'function') return named
  if (type !== 'allowed_tools') return { type }
  return { type, allowed_tools: { mode: asObject(allowed_tools).mode, tools: [named] } }
}

function reduceFormat({ type, json_schema }: JsonObject): JsonObject {
  if (type !== 'json_schema') return { type }
  const { strict, schema } = asObject(json_schema)
  const constraints = findConstraints(schema).map((keyword) => [keyword, SAMPLE_CONSTRAINT])
  // Not every provider accepts as strict what has optional properties.
  const properties = strict === true && toStrictSchema(schema) === undefined ? { [SAMPLE_NAME]: {} } : {}
  const reduced = { type: 'object', properties, ...Object.fromEntries(constraints) }
  return { type, json_schema: { name: 'x', schema: reduced, strict } }
}

/** Only the names of constraints matter. */
const SAMPLE_CONSTRAINT = 9

function reduceStop(value: unknown): unknown {
  const list = Array.isArray(value) ? value : [value]
  return [...new Set(list.map((each) => (String(each).trim() === '' ? '' : 'x')))]
}

const MAX_WORD_CHARS = 20

/** Keeps what may be one of a few values, so that no field makes every request a different one. */
function reduceUnknown(value: unknown): unknown {
  switch (typeof value) {
    case 'string':
      return value.length <= MAX_WORD_CHARS ? value : ''
    case 'number':
      return 1
    case 'object':
      if (value === null || Array.isArray(value)) return value === null ? null : []
      return Object.fromEntries(
        Object.entries(value).flatMap(([name, field]) =>
          typeof field === 'object' ? [] : [[name, reduceUnknown(field)]],
        ),
      )
    default:
      return value
  }
}
