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
  URL_TEXT,
} from './position.ts'

// The positions of `extra_content.anthropic`: what requests and replies of Anthropic's Messages API hold that
// the canonical form cannot express.

/** Token counts. */
const COUNTS: Position = {
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
export const ANTHROPIC_BLOCK: Position = buildBlockPosition()

function buildBlockPosition(): Position {
  const fields = new Map<string, Position>()
  const redacted = { scalar: 'text', fields: new Map([['data', SIGNATURE]]) } as const
  const block: Position = {
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
  fields.set('source', buildSourcePosition(block))
  fields.set('citation', CITATION)
  fields.set('citations', CITATION)
  fields.set('caller', objectOf({ type: EXEMPT, tool_id: EXEMPT }))
  fields.set('usage', COUNTS)
  fields.set('stop_reason', oneOf('end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'pause_turn'))
  for (const [name, position] of fields) redacted.fields.set(name, position)
  const told: Position = {
    scalar: 'text',
    fields: new Map<string, Position>(fields)
      .set('type', TOLD_TYPE)
      .set('name', TOLD_NAME)
      .set('content', { scalar: 'text', select: () => told }),
    seal: 'signature',
  }
  return block
}

/** Only base64 can be binary media: the data of a text source is text, whatever it looks like. */
function buildSourcePosition(block: Position): Position {
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
export const ANTHROPIC_VARIANTS: readonly (readonly [string, Position])[] = [
  ['(block redacted_thinking).data', SIGNATURE],
  ['(block).source (base64).data', MEDIA],
  ['(block of a tool that ran).type', TOLD_TYPE],
  ['(block of a tool that ran).name', TOLD_NAME],
]

/** The additional fields of a tool, or a tool that Anthropic runs. */
export const ANTHROPIC_TOOL = objectOf({
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
export const ANTHROPIC_REQUEST = objectOf({
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
