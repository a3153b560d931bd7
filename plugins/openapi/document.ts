import type { ApiDescription, JsonObject } from '../../core/contract/index.ts'
import { type Components, createComponents } from './components.ts'
import { buildOperation } from './operation.ts'

/** The parts of the document that do not follow from the endpoints. */
export interface DocumentInfo {
  readonly version: string
  /** The default address of `POST /route`. */
  readonly direct: { readonly host: string; readonly port: number }
}

/** Builds the OpenAPI 3.1 document of all endpoints, without pages for browsers. */
export function buildOpenApiDocument(served: ApiDescription, { version, direct }: DocumentInfo): JsonObject {
  const api = { ...served, endpoints: served.endpoints.filter(({ isUnlisted }) => isUnlisted !== true) }
  const components = createComponents()
  const paths = buildPaths(api, direct, components)
  const tags = [...new Set(api.endpoints.flatMap((endpoint) => endpoint.tags))].sort()
  return {
    openapi: '3.1.0',
    info: {
      title: 'Signalbox',
      version,
      description:
        'A model routing gateway. Requests that fail with status 500 or above can be retried. ' +
        'Responses can have fields that this document does not describe.',
      contact: { name: 'Signalbox' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'The main address.' }],
    tags: tags.map((name) => ({ name, description: TAGS[name] ?? `Endpoints of ${name}.` })),
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'API key of a user.' },
        adminKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'The key of an operator, or the ADMIN_KEY of the gateway.',
        },
      },
      headers: HEADERS,
      schemas: { ...components.schemas, ErrorCode: buildErrorCodeSchema(api) },
    },
  }
}

const TAGS: Readonly<Record<string, string>> = {
  admin: 'Users and their API keys, for operators.',
  approvals: 'Approvals of tool calls.',
  audit: 'History of rules and keys, and simulation.',
  console: 'Sessions of the console.',
  inference: 'Requests to models.',
  models: 'The available models.',
  operators: 'Operators and their roles.',
  operation: 'Health, metrics and this document.',
  responses: 'The Responses API and stored responses.',
  rules: 'Routing and firewall rules.',
}

function buildPaths(
  api: ApiDescription,
  direct: DocumentInfo['direct'],
  components: Components,
): Readonly<Record<string, JsonObject>> {
  const paths: Record<string, JsonObject> = {}
  for (const endpoint of api.endpoints) {
    const { path, method, listener } = endpoint
    paths[path] = {
      ...paths[path],
      ...(listener === 'direct' && { servers: [directServer(direct)] }),
      [method.toLowerCase()]: buildOperation(endpoint, api, components),
    }
  }
  return paths
}

/** Direct routing has a separate, configurable address. */
function directServer({ host, port }: DocumentInfo['direct']): JsonObject {
  const variables = {
    host: { default: host, description: 'Host of the direct-routing address.' },
    port: { default: String(port), description: 'Port of the direct-routing address.' },
  }
  return { url: 'http://{host}:{port}', description: 'The direct-routing address.', variables }
}

/** The closed list of error codes. */
function buildErrorCodeSchema({ errorCodes }: ApiDescription): JsonObject {
  const codes = Object.keys(errorCodes).sort()
  const lines = codes.map(
    (code) => `- \`${code}\` (${errorCodes[code]?.status}): ${errorCodes[code]?.description}`,
  )
  return {
    type: 'string',
    enum: codes,
    description: `What went wrong. With the usual status of each code:\n\n${lines.join('\n')}`,
  }
}

const text = { type: 'string' }
const integer = { type: 'integer', minimum: 0 }

/** The response headers of several endpoints. */
const HEADERS: JsonObject = {
  RequestId: { description: 'Id of the request, for look-ups and reports.', required: true, schema: text },
  ErrorCode: {
    description: 'What went wrong.',
    required: true,
    schema: { $ref: '#/components/schemas/ErrorCode' },
  },
  RetryAfter: { description: 'Seconds to wait before a retry.', schema: integer },
  Allow: { description: 'The methods that the path supports.', required: true, schema: text },
  RateLimit: { description: 'Requests per minute. Missing if there is no limit.', schema: integer },
  RateLimitRemaining: { description: 'Requests left in this minute.', schema: integer },
  OwnTime: { description: 'Milliseconds that the gateway itself took, with one decimal.', schema: text },
  RateLimitReset: { description: 'Time until the limit resets, such as 59s or 1m0s.', schema: text },
}
