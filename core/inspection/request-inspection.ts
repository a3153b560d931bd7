import {
  CACHE_CONTROL,
  EXEMPT,
  INSPECTED,
  type Inspection,
  JSON_TEXT,
  MEDIA,
  objectOf,
  oneOf,
  PARAMETER,
  SCHEMA,
  SIGNATURE,
  URL_TEXT,
} from './inspection.ts'

// The positions of `extra_content.anthropic`: what requests and replies of Anthropic's Messages API hold that
// the canonical form cannot express.

/** Token counts. */
const COUNTS: Inspection = {
  scalar: 'parameter',
  names: 'exempt',
  others: { scalar: 'parameter', names: 'exempt' },
}

/** Places in a document, and what was quoted there. */
const CITATION = objectOf({
  type: EXEMPT,
  ...Object.fromEntries(
    [
      ...['document_index', 'search_result_index', 'start_char_index', 'end_char_index'],
      ...['start_page_number', 'end_page_number', 'start_block_index', 'end_block_index'],
    ].map((name) => [name, PARAMETER]),
  ),
  encrypted_index: SIGNATURE,
})

/** Blocks of tools that ran at Anthropic. Other models read them as text, with their types and names. */
const TOLD_BLOCK = /(?:_tool_use|tool_result|tool_reference)$/

const TOLD_TYPE = oneOf(
  ...[
    'server_tool_use',
    'mcp_tool_use',
    'tool_result',
    'mcp_tool_result',
    'tool_reference',
    'text',
    'document',
  ],
  ...['web_search', 'web_fetch', 'code_execution', 'bash_code_execution', 'tool_search'].flatMap((name) => [
    `${name}_tool_result`,
    `${name}_result`,
    `${name}_tool_result_error`,
  ]),
)

const TOLD_NAME = oneOf(
  ...['web_search', 'web_fetch', 'code_execution', 'bash_code_execution', 'text_editor_code_execution'],
  ...['tool_search_tool_regex', 'tool_search_tool_bm25'],
)

/** A content block, the additional fields of one, or an addition to one. */
const ANTHROPIC_BLOCK: Inspection = buildBlockInspection()

function buildBlockInspection(): Inspection {
  const fields = new Map<string, Inspection>()
  const redacted = { scalar: 'text', fields: new Map([['data', SIGNATURE]]) } as const
  const block: Inspection = {
    scalar: 'text',
    fields,
    seal: 'signature',
    select: ({ type }) => {
      if (type === 'redacted_thinking') return redacted
      return typeof type === 'string' && TOLD_BLOCK.test(type) ? told : block
    },
  }
  for (const name of ['type', 'id', 'tool_use_id', 'file_id', 'name']) fields.set(name, EXEMPT)
  for (const name of ['text', 'thinking', 'title', 'context', 'input', 'is_error', 'tool_name'])
    fields.set(name, INSPECTED)
  fields.set('url', URL_TEXT)
  for (const name of ['signature', 'encrypted_content', 'encrypted_stdout']) fields.set(name, SIGNATURE)
  fields.set('cache_control', CACHE_CONTROL)
  fields.set('content', block)
  fields.set('source', buildSourceInspection(block))
  fields.set('citation', CITATION)
  fields.set('citations', CITATION)
  fields.set('caller', objectOf({ type: EXEMPT, tool_id: EXEMPT }))
  fields.set('usage', COUNTS)
  fields.set('stop_reason', oneOf('end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'pause_turn'))
  for (const [name, inspection] of fields) redacted.fields.set(name, inspection)
  const told: Inspection = {
    scalar: 'text',
    fields: new Map<string, Inspection>(fields)
      .set('type', TOLD_TYPE)
      .set('name', TOLD_NAME)
      .set('content', { scalar: 'text', select: () => told }),
    seal: 'signature',
  }
  return block
}

/** Only base64 can be binary media: the data of a text source is text, whatever it looks like. */
function buildSourceInspection(block: Inspection): Inspection {
  const fields = {
    type: oneOf('base64', 'text', 'url', 'file', 'content'),
    media_type: oneOf('image/jpeg', 'image/png', 'image/gif', 'image/webp', 'application/pdf', 'text/plain'),
    file_id: EXEMPT,
    url: URL_TEXT,
    content: block,
  }
  const text = objectOf({ ...fields, data: INSPECTED })
  const base64 = objectOf({ ...fields, data: MEDIA })
  return { ...text, select: ({ type }) => (type === 'base64' ? base64 : text) }
}

/** The exemptions that depend on the type of the object, by their name in `listExemptions`. */
const ANTHROPIC_VARIANTS: readonly (readonly [string, Inspection])[] = [
  ['(block redacted_thinking).data', SIGNATURE],
  ['(block).source (base64).data', MEDIA],
  ['(block of a tool that ran).type', TOLD_TYPE],
  ['(block of a tool that ran).name', TOLD_NAME],
]

/** The additional fields of a tool, or a tool that Anthropic runs. */
const ANTHROPIC_TOOL = objectOf({
  type: EXEMPT,
  name: EXEMPT,
  max_uses: PARAMETER,
  allowed_domains: URL_TEXT,
  blocked_domains: URL_TEXT,
  cache_control: CACHE_CONTROL,
  allowed_callers: oneOf('direct', 'code_execution_20250825', 'code_execution_20260120'),
})

const EFFORT = oneOf('low', 'medium', 'high', 'xhigh', 'max')

const FIELDS = objectOf({
  metadata: objectOf({ user_id: JSON_TEXT }),
  service_tier: oneOf('auto', 'standard_only'),
  cache_control: CACHE_CONTROL,
  top_k: PARAMETER,
  thinking: objectOf({
    type: oneOf('enabled', 'disabled', 'adaptive', 'between_tools'),
    budget_tokens: PARAMETER,
    display: oneOf('summarized', 'omitted'),
  }),
  output_config: objectOf({
    effort: EFFORT,
    format: objectOf({ type: oneOf('json_schema'), schema: SCHEMA }),
  }),
  mcp_servers: objectOf({ type: INSPECTED, url: URL_TEXT, name: INSPECTED }),
})

/** The API version, features in beta, and fields of the whole request. */
const ANTHROPIC_REQUEST = objectOf({
  version: oneOf('2023-01-01', '2023-06-01', '2026-10-21'),
  // Names of other features are inspected: a header of the caller reaches the provider.
  betas: oneOf(
    ...['claude-code-20250219', 'oauth-2025-04-20', 'interleaved-thinking-2025-05-14'],
    ...['fine-grained-tool-streaming-2025-05-14', 'token-efficient-tools-2025-02-19'],
    ...['prompt-caching-2024-07-31', 'extended-cache-ttl-2025-04-11', 'context-1m-2025-08-07'],
    ...['context-management-2025-06-27', 'structured-outputs-2025-11-13', 'output-128k-2025-02-19'],
    ...['token-counting-2024-11-01', 'advanced-tool-use-2025-11-20', 'effort-2025-11-24'],
  ),
  fields: FIELDS,
})

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

export const CONTENT: Inspection = objectOf(PARTS)

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

const MESSAGE: Inspection = {
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

const REQUEST_FIELDS = new Map<string, Inspection>([
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

const UNSENT: Inspection = { scalar: 'unsent' }

const REQUEST_WITHOUT_METADATA: Inspection = {
  scalar: 'text',
  fields: new Map(REQUEST_FIELDS).set('metadata', UNSENT),
}

/** The canonical request. Metadata is sent to a provider only together with `store`. */
export const REQUEST: Inspection = {
  scalar: 'text',
  fields: REQUEST_FIELDS,
  select: ({ store }) => (store === true ? REQUEST : REQUEST_WITHOUT_METADATA),
}

/** Inspections that occur in several places, with their name in `listExemptions`. */
const NAMED_INSPECTIONS = new Map<Inspection, string>([
  [CONTENT, 'content'],
  [CACHE_CONTROL, 'cache_control'],
  [CALLED_FUNCTION, 'function'],
  [SCHEMA, 'JSON schema'],
  [ANTHROPIC_BLOCK, 'block'],
  [REASONING_TEXTS, 'reasoning'],
])

/** Every exemption of the table as `path: rule`. The documentation has the same list. */
export function listExemptions(): readonly string[] {
  const lines = new Set<string>()
  const seen = new Set<Inspection>()
  function visit(path: string, inspection: Inspection): void {
    const { scalar, fields } = inspection
    if (scalar !== 'text' && scalar !== 'json' && scalar !== 'url') {
      lines.add(`${path}: ${typeof scalar === 'string' ? scalar : [...scalar].join(', ')}`)
    }
    if (fields === undefined || seen.has(inspection)) return
    seen.add(inspection)
    const name = NAMED_INSPECTIONS.get(inspection)
    const prefix = name === undefined ? path : `(${name})`
    for (const [field, child] of fields) visit(`${prefix}.${field}`, child)
  }
  for (const [name, inspection] of REQUEST_FIELDS) visit(name, inspection)
  visit('messages (tool).name', TOOL_MESSAGE.fields?.get('name') ?? INSPECTED)
  for (const [name, inspection] of ANTHROPIC_VARIANTS) visit(name, inspection)
  visit('metadata without store', UNSENT)
  return [...lines]
}
