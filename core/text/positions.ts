import type { JsonObject } from '../contract/index.ts'

/**
 * Which values of a canonical request rules inspect (docs/firewall.md, "What is inspected"). Everything is
 * inspected unless this table exempts it: a field that is not listed is inspected with its name.
 */
export interface Position {
  /** How a string or number at this position is inspected. */
  readonly scalar: ScalarRule
  /** The known fields of an object here, and of each object in a list. Their names are not inspected. */
  readonly fields?: ReadonlyMap<string, Position>
  /** The position of fields that are not listed; default: everything in them is inspected. */
  readonly others?: Position
  /** How the names of fields that are not listed are inspected; default: as text. */
  readonly names?: ScalarRule
  /** Chooses the position of an object by its value. */
  select?(value: JsonObject): Position
}

/**
 * - `text`: inspected.
 * - `json`: a string that may hold a JSON document: its strings, numbers and keys are inspected one by one.
 * - `media`: binary media is exempt; a text file in base64 is decoded and inspected; anything else is text.
 * - `exempt`: a string or number that is never inspected; objects and lists in its place are.
 * - `unsent`: sent to no provider, so nothing in it is inspected.
 * - `parameter`: a number of up to seven characters is exempt; a longer one is inspected.
 * - `signature`: opaque base64 of at least 64 characters is exempt; anything else is inspected.
 * - a set of words: these words are exempt; anything else is inspected.
 */
export type ScalarRule =
  | 'text'
  | 'json'
  | 'media'
  | 'exempt'
  | 'unsent'
  | 'parameter'
  | 'signature'
  | ReadonlySet<string>

export const INSPECTED: Position = { scalar: 'text' }
const JSON_TEXT: Position = { scalar: 'json' }
const EXEMPT: Position = { scalar: 'exempt' }
const PARAMETER: Position = { scalar: 'parameter' }
const MEDIA: Position = { scalar: 'media' }

function objectOf(fields: Readonly<Record<string, Position>>, scalar: ScalarRule = 'text'): Position {
  return { scalar, fields: new Map(Object.entries(fields)) }
}

function oneOf(...words: readonly string[]): Position {
  return { scalar: new Set(words) }
}

/** A JSON schema. The names of properties are inspected like all text. */
const SCHEMA: Position = buildSchemaPosition()

function buildSchemaPosition(): Position {
  const fields = new Map<string, Position>()
  const schema: Position = { scalar: 'text', fields }
  const schemasByName: Position = { scalar: 'text', fields: new Map(), others: schema }
  fields.set('type', oneOf('string', 'number', 'integer', 'boolean', 'object', 'array', 'null'))
  for (const name of ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])
    fields.set(name, schemasByName)
  for (const name of ['items', 'prefixItems', 'additionalProperties', 'anyOf', 'allOf', 'oneOf', 'not'])
    fields.set(name, schema)
  for (const name of ['minLength', 'maxLength', 'minItems', 'maxItems', 'minimum', 'maximum', 'multipleOf'])
    fields.set(name, PARAMETER)
  for (const name of ['title', 'description', 'enum', 'const', 'default', 'examples', 'required', 'format'])
    fields.set(name, INSPECTED)
  for (const name of ['pattern', '$ref', '$schema', '$id']) fields.set(name, INSPECTED)
  return schema
}

const CACHE_CONTROL = objectOf({ type: oneOf('ephemeral'), ttl: oneOf('5m', '1h') })

/** A text, or a list of parts. */
const PARTS = {
  type: EXEMPT,
  text: INSPECTED,
  refusal: INSPECTED,
  image_url: objectOf({ url: MEDIA, detail: oneOf('auto', 'low', 'high', 'original') }, 'media'),
  input_audio: objectOf({ data: MEDIA, format: oneOf('wav', 'mp3', 'flac', 'ogg', 'webm', 'm4a', 'aac') }),
  file: objectOf({ file_data: MEDIA, file_id: EXEMPT, filename: INSPECTED }),
  cache_control: CACHE_CONTROL,
}

export const CONTENT: Position = objectOf(PARTS)

const CALLED_FUNCTION = objectOf({ name: EXEMPT, arguments: JSON_TEXT }, new Set(['auto', 'none']))

const TOOL_CALL = objectOf({
  id: EXEMPT,
  type: EXEMPT,
  index: PARAMETER,
  function: CALLED_FUNCTION,
  custom: objectOf({ name: EXEMPT, input: JSON_TEXT }),
  extra_content: objectOf({ google: objectOf({ thought_signature: { scalar: 'signature' } }) }),
})

const MESSAGE_FIELDS = {
  role: EXEMPT,
  content: CONTENT,
  name: INSPECTED,
  tool_call_id: EXEMPT,
  tool_calls: TOOL_CALL,
  function_call: CALLED_FUNCTION,
  reasoning_content: INSPECTED,
  refusal: INSPECTED,
  audio: objectOf({ id: EXEMPT, data: MEDIA, transcript: INSPECTED }),
}

/** The result of a tool call: often a JSON document, and `name` is that of the tool. */
const TOOL_MESSAGE = objectOf({
  ...MESSAGE_FIELDS,
  content: objectOf({ ...PARTS, text: JSON_TEXT }, 'json'),
  name: EXEMPT,
})

export const MESSAGE: Position = {
  ...objectOf(MESSAGE_FIELDS),
  select: ({ role }) => (role === 'tool' || role === 'function' ? TOOL_MESSAGE : MESSAGE),
}

/** `strict` is a boolean. */
const FUNCTION_FIELDS = { name: EXEMPT, description: INSPECTED, parameters: SCHEMA, strict: INSPECTED }

const TOOL = objectOf({
  type: EXEMPT,
  function: objectOf(FUNCTION_FIELDS),
  custom: objectOf({
    name: EXEMPT,
    description: INSPECTED,
    format: objectOf({ type: EXEMPT, grammar: objectOf({ syntax: oneOf('lark', 'regex') }) }),
  }),
  cache_control: CACHE_CONTROL,
})

const NAMED_TOOL = { type: EXEMPT, function: objectOf({ name: EXEMPT }), custom: objectOf({ name: EXEMPT }) }

const TOOL_CHOICE = objectOf(
  {
    ...NAMED_TOOL,
    allowed_tools: objectOf({ mode: oneOf('auto', 'required'), tools: objectOf(NAMED_TOOL) }),
  },
  new Set(['auto', 'none', 'required', 'any']),
)

const REQUEST_FIELDS = new Map<string, Position>([
  ['model', EXEMPT],
  ['messages', MESSAGE],
  ['tools', TOOL],
  ['tool_choice', TOOL_CHOICE],
  ['functions', objectOf(FUNCTION_FIELDS)],
  ['function_call', CALLED_FUNCTION],
  [
    'response_format',
    objectOf({
      type: oneOf('text', 'json_object', 'json_schema'),
      json_schema: objectOf({ name: INSPECTED, description: INSPECTED, schema: SCHEMA }),
    }),
  ],
  ['prediction', objectOf({ type: EXEMPT, content: CONTENT })],
  ['stop', INSPECTED],
  ['user', JSON_TEXT],
  ['metadata', INSPECTED],
  ['safety_identifier', INSPECTED],
  ['prompt_cache_key', INSPECTED],
  ['modalities', oneOf('text', 'audio')],
  ['reasoning_effort', oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max')],
  ['verbosity', oneOf('low', 'medium', 'high')],
  ['service_tier', oneOf('auto', 'default', 'flex', 'priority', 'scale', 'standard_only')],
  ['prompt_cache_retention', oneOf('in_memory', 'in-memory', '24h')],
  ['temperature', PARAMETER],
  ['top_p', PARAMETER],
  ['presence_penalty', PARAMETER],
  ['frequency_penalty', PARAMETER],
  ['max_tokens', PARAMETER],
  ['max_completion_tokens', PARAMETER],
  ['n', PARAMETER],
  ['top_logprobs', PARAMETER],
  ['seed', PARAMETER],
  ['logit_bias', { scalar: 'parameter', names: 'parameter', others: PARAMETER }],
  // Booleans: nothing to inspect.
  ['stream', INSPECTED],
  ['stream_options', objectOf({ include_usage: INSPECTED })],
  ['store', INSPECTED],
  ['logprobs', INSPECTED],
  ['parallel_tool_calls', INSPECTED],
])

const UNSENT: Position = { scalar: 'unsent' }

const REQUEST_WITHOUT_METADATA: Position = {
  scalar: 'text',
  fields: new Map(REQUEST_FIELDS).set('metadata', UNSENT),
}

/** The canonical request. Metadata is sent to a provider only together with `store`. */
export const REQUEST: Position = {
  scalar: 'text',
  fields: REQUEST_FIELDS,
  select: ({ store }) => (store === true ? REQUEST : REQUEST_WITHOUT_METADATA),
}

/** Positions that occur in several places, with their name in `listExemptions`. */
const NAMED_POSITIONS = new Map<Position, string>([
  [CONTENT, 'content'],
  [CACHE_CONTROL, 'cache_control'],
  [CALLED_FUNCTION, 'function'],
  [SCHEMA, 'JSON schema'],
])

/** Every exemption of the table as `position: rule`. The documentation has the same list. */
export function listExemptions(): readonly string[] {
  const lines = new Set<string>()
  const seen = new Set<Position>()
  function visit(path: string, position: Position): void {
    const { scalar, fields } = position
    if (scalar !== 'text' && scalar !== 'json') {
      lines.add(`${path}: ${typeof scalar === 'string' ? scalar : [...scalar].join(', ')}`)
    }
    if (fields === undefined || seen.has(position)) return
    seen.add(position)
    const name = NAMED_POSITIONS.get(position)
    const prefix = name === undefined ? path : `(${name})`
    for (const [field, child] of fields) visit(`${prefix}.${field}`, child)
  }
  for (const [name, position] of REQUEST_FIELDS) visit(name, position)
  visit('messages (tool).name', TOOL_MESSAGE.fields?.get('name') ?? INSPECTED)
  visit('metadata without store', UNSENT)
  return [...lines]
}
