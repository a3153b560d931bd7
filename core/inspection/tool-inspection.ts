import {
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

// Which positions of what is exchanged with tools (MCP) rules inspect: docs/guides/firewall-tools.md.

const NAMED = { name: INSPECTED, title: INSPECTED, description: INSPECTED }

const META = objectOf({ 'io.modelcontextprotocol/serverInfo': objectOf({ ...NAMED, version: INSPECTED }) })

const ICON = objectOf({ src: MEDIA, mimeType: EXEMPT, sizes: INSPECTED, theme: oneOf('light', 'dark') })

/** The hints are booleans. */
const ANNOTATIONS = objectOf({
  audience: oneOf('user', 'assistant'),
  priority: PARAMETER,
  lastModified: INSPECTED,
  title: INSPECTED,
  readOnlyHint: INSPECTED,
  destructiveHint: INSPECTED,
  idempotentHint: INSPECTED,
  openWorldHint: INSPECTED,
})

const RESOURCE_FIELDS = {
  uri: URL_TEXT,
  uriTemplate: URL_TEXT,
  mimeType: EXEMPT,
  size: PARAMETER,
  ...NAMED,
  text: JSON_TEXT,
  blob: MEDIA,
  icons: ICON,
  annotations: ANNOTATIONS,
  _meta: META,
}

const BLOCK = objectOf({
  ...RESOURCE_FIELDS,
  type: EXEMPT,
  data: MEDIA,
  resource: objectOf(RESOURCE_FIELDS),
})

const INPUT_REQUEST = objectOf({
  method: EXEMPT,
  params: objectOf({
    mode: oneOf('form', 'url'),
    message: INSPECTED,
    url: URL_TEXT,
    elicitationId: EXEMPT,
    requestedSchema: SCHEMA,
  }),
})

/** The result of `tools/call`, `resources/read`, `prompts/get` or `completion/complete`. */
export const TOOL_RESULT: Inspection = objectOf({
  resultType: EXEMPT,
  // A boolean.
  isError: INSPECTED,
  content: BLOCK,
  structuredContent: INSPECTED,
  contents: objectOf(RESOURCE_FIELDS),
  description: INSPECTED,
  messages: objectOf({ role: EXEMPT, content: BLOCK }),
  completion: objectOf({ values: INSPECTED, total: PARAMETER, hasMore: INSPECTED }),
  inputRequests: { scalar: 'text', names: 'exempt', others: INPUT_REQUEST },
  // Returned to the server as it is.
  requestState: SIGNATURE,
  ttlMs: { scalar: 'exempt' },
  cacheScope: oneOf('public', 'private'),
  _meta: META,
})

const DEFINITION_FIELDS = {
  ...RESOURCE_FIELDS,
  name: EXEMPT,
  inputSchema: SCHEMA,
  outputSchema: SCHEMA,
  // Of prompts.
  arguments: objectOf({ ...NAMED, required: INSPECTED }),
  execution: objectOf({ taskSupport: oneOf('forbidden', 'optional', 'required') }),
}

/** The definition of a tool, or of a prompt or a resource; or a list of them, as a server answers it. */
export const TOOL_DEFINITION: Inspection = objectOf({
  ...DEFINITION_FIELDS,
  tools: objectOf(DEFINITION_FIELDS),
  prompts: objectOf(DEFINITION_FIELDS),
  resources: objectOf(DEFINITION_FIELDS),
  resourceTemplates: objectOf(DEFINITION_FIELDS),
  instructions: INSPECTED,
  resultType: EXEMPT,
  nextCursor: EXEMPT,
  ttlMs: { scalar: 'exempt' },
  cacheScope: oneOf('public', 'private'),
})
