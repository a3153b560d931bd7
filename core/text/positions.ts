import {
  ANTHROPIC_BLOCK,
  ANTHROPIC_REQUEST,
  ANTHROPIC_TOOL,
  ANTHROPIC_VARIANTS,
} from './anthropic-positions.ts'
import {
  CACHE_CONTROL,
  EXEMPT,
  INSPECTED,
  JSON_TEXT,
  MEDIA,
  objectOf,
  oneOf,
  PARAMETER,
  type Position,
  SCHEMA,
  SIGNATURE,
} from './position.ts'

/** Data of Anthropic's own that belongs to a part, a message or a tool call. */
const EXTRA_CONTENT = objectOf({ anthropic: ANTHROPIC_BLOCK })

/** A text, or a list of parts. */
const PARTS = {
  type: EXEMPT,
  text: INSPECTED,
  refusal: INSPECTED,
  image_url: objectOf({ url: MEDIA, detail: oneOf('auto', 'low', 'high', 'original') }, 'media'),
  input_audio: objectOf({ data: MEDIA, format: oneOf('wav', 'mp3', 'flac', 'ogg', 'webm', 'm4a', 'aac') }),
  file: objectOf({ file_data: MEDIA, file_url: MEDIA, file_id: EXEMPT, filename: INSPECTED }),
  document_url: MEDIA,
  document_name: INSPECTED,
  cache_control: CACHE_CONTROL,
  extra_content: EXTRA_CONTENT,
}

export const CONTENT: Position = objectOf(PARTS)

const CALLED_FUNCTION = objectOf({ name: EXEMPT, arguments: JSON_TEXT })

const GOOGLE_SIGNATURE = objectOf({ thought_signature: SIGNATURE })

const TOOL_CALL = objectOf({
  id: EXEMPT,
  type: EXEMPT,
  index: PARAMETER,
  function: CALLED_FUNCTION,
  custom: objectOf({ name: EXEMPT, input: JSON_TEXT }),
  extra_content: objectOf({
    google: GOOGLE_SIGNATURE,
    anthropic: ANTHROPIC_BLOCK,
  }),
})

/** Texts of reasoning with what their provider needs to read them again. */
const REASONING_TEXTS = objectOf({
  type: EXEMPT,
  id: EXEMPT,
  format: EXEMPT,
  index: PARAMETER,
  text: INSPECTED,
  summary: INSPECTED,
  data: SIGNATURE,
  signature: SIGNATURE,
})

/** The data of reasoning in the form of each format. */
const REASONING_DATA = objectOf({
  provider: EXEMPT,
  model: EXEMPT,
  anthropic: ANTHROPIC_BLOCK,
  openai: objectOf({
    type: EXEMPT,
    id: EXEMPT,
    encrypted_content: SIGNATURE,
    summary: REASONING_TEXTS,
    content: REASONING_TEXTS,
  }),
  chat: objectOf({ field: EXEMPT, reasoning_details: REASONING_TEXTS }),
  google: GOOGLE_SIGNATURE,
})

const MESSAGE_FIELDS = {
  role: EXEMPT,
  content: CONTENT,
  name: INSPECTED,
  tool_call_id: EXEMPT,
  tool_calls: TOOL_CALL,
  reasoning_content: INSPECTED,
  reasoning: INSPECTED,
  reasoning_details: REASONING_TEXTS,
  reasoning_data: REASONING_DATA,
  refusal: INSPECTED,
  audio: objectOf({ id: EXEMPT, data: MEDIA, transcript: INSPECTED }),
  extra_content: EXTRA_CONTENT,
}

/** The result of a tool call: often a JSON document, and `name` is that of the tool. */
const TOOL_MESSAGE = objectOf({
  ...MESSAGE_FIELDS,
  content: objectOf({ ...PARTS, text: JSON_TEXT }, 'json'),
  name: EXEMPT,
})

const MESSAGE: Position = {
  ...objectOf(MESSAGE_FIELDS),
  select: ({ role }) => (role === 'tool' ? TOOL_MESSAGE : MESSAGE),
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
  extra_content: objectOf({ anthropic: ANTHROPIC_TOOL }),
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
  ['dimensions', PARAMETER],
  ['encoding_format', oneOf('float', 'base64')],
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
  [
    'extra_content',
    objectOf({
      anthropic: ANTHROPIC_REQUEST,
      openai: objectOf({
        include: oneOf('reasoning.encrypted_content'),
        summary: oneOf('auto', 'concise', 'detailed'),
      }),
    }),
  ],
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
  [ANTHROPIC_BLOCK, 'block'],
  [REASONING_TEXTS, 'reasoning'],
])

/** Every exemption of the table as `position: rule`. The documentation has the same list. */
export function listExemptions(): readonly string[] {
  const lines = new Set<string>()
  const seen = new Set<Position>()
  function visit(path: string, position: Position): void {
    const { scalar, fields } = position
    if (scalar !== 'text' && scalar !== 'json' && scalar !== 'url') {
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
  for (const [name, position] of ANTHROPIC_VARIANTS) visit(name, position)
  visit('metadata without store', UNSENT)
  return [...lines]
}
