import {
  type ApiDescription,
  type EndpointDescription,
  GatewayError,
  isOptional,
  type JsonObject,
  type ResponseDescription,
  type ScopedAccess,
  type TProperties,
} from '../../core/contract/index.ts'
import { changeReasonHeader } from '../../core/http/change-headers.ts'
import { errorBodySchema, formatError } from '../../core/http/errors.ts'
import type { Components } from './components.ts'
import { type ErrorsByCode, errorsByStatus, isChange } from './errors.ts'

/** Builds the operation object of an endpoint. */
export function buildOperation(
  endpoint: EndpointDescription,
  api: ApiDescription,
  components: Components,
): JsonObject {
  const { operationId, tags, summary, access, params, query, headers, resource } = endpoint
  const parameters = [
    ...buildParameters('path', params, components),
    ...buildParameters('query', query, components),
    ...buildParameters(
      'header',
      isChange(endpoint) ? { ...headers, ...changeReasonHeader } : headers,
      components,
    ),
  ]
  return {
    operationId,
    tags,
    summary,
    description: describe(endpoint),
    security: SECURITY[access.type],
    ...(access.type === 'operator' && {
      'x-operator-role': access.role,
      'x-operator-scope': access.scoped ?? 'refused',
    }),
    ...(resource && { 'x-resource': resource }),
    ...(parameters.length > 0 && { parameters }),
    ...(endpoint.body && { requestBody: buildRequestBody(endpoint, components) }),
    responses: {
      ...Object.fromEntries(
        Object.entries(endpoint.responses).map(([status, response]) => [
          status,
          buildResponse(endpoint, response, components),
        ]),
      ),
      ...(hasEtag(endpoint) && { 304: NOT_MODIFIED }),
      ...buildErrorResponses(endpoint, api, components),
    },
  }
}

/** The role that an operator needs is for readers, and, as `x-operator-role`, for programs. */
function describe({ summary, description = summary, access }: EndpointDescription): string {
  if (access.type !== 'operator') return description
  return `${description} Requires the role ${access.role}. ${OF_SCOPES[access.scoped ?? 'refused']}`
}

const OF_SCOPES: Readonly<Record<ScopedAccess, string>> = {
  filtered: 'Operators with a scope get what belongs to its groups.',
  whole: 'Operators with a scope may call it, too.',
  refused: 'Operators with a scope may not call it.',
}

const SECURITY = { public: [], user: [{ apiKey: [] }], operator: [{ adminKey: [] }] }

const header = (name: string) => ({ $ref: `#/components/headers/${name}` })

const NOT_MODIFIED = {
  description: 'The content is still what the ETag in If-None-Match names.',
  headers: { 'x-request-id': header('RequestId') },
}

function hasEtag({ method, responses }: EndpointDescription): boolean {
  return method === 'GET' && responses[200]?.headers?.etag !== undefined
}

function buildParameters(
  location: 'path' | 'query' | 'header',
  schemas: TProperties = {},
  components: Components,
): readonly JsonObject[] {
  return Object.entries(schemas).map(([name, schema]) => {
    const { description, examples, ...rendered } = components.add(schema)
    const required = location === 'path' || !isOptional(schema)
    return { name, in: location, required, description, schema: rendered, ...findExample(examples, rendered) }
  })
}

/** Every parameter has an example. */
function findExample(examples: unknown, { type, default: usual, enum: values }: JsonObject): JsonObject {
  const candidates = [examples, values].map((list) => (Array.isArray(list) ? list[0] : undefined))
  const example = candidates[0] ?? usual ?? candidates[1] ?? (type === 'boolean' ? true : undefined)
  return example === undefined ? {} : { example }
}

function buildRequestBody(endpoint: EndpointDescription, components: Components): JsonObject {
  const { body, examples, operationId, textBody } = endpoint
  if (body === undefined) return {}
  const schema = components.addNamed(body, `${capitalize(operationId)}Input`)
  return {
    required: !isOptional(body),
    content: {
      'application/json': { schema, ...(examples && { examples: wrapExamples(examples) }) },
      ...Object.fromEntries((textBody?.types ?? []).map((type) => [type, { schema: { type: 'string' } }])),
    },
  }
}

function wrapExamples(examples: Readonly<Record<string, unknown>>): JsonObject {
  return Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }]))
}

function buildResponse(
  endpoint: EndpointDescription,
  { description, body, events, text, headers = {}, examples }: ResponseDescription,
  components: Components,
): JsonObject {
  const name = capitalize(endpoint.operationId)
  const content = {
    ...(body && {
      'application/json': {
        schema: components.addNamed(body, `${name}Result`),
        ...(examples && { examples: wrapExamples(examples) }),
      },
    }),
    ...(events && { 'text/event-stream': { schema: components.addNamed(events, `${name}Event`) } }),
    ...Object.fromEntries([text ?? []].flat().map((type) => [type, { schema: { type: 'string' } }])),
  }
  return {
    description,
    headers: { ...commonHeaders(endpoint), ...buildHeaders(headers, components) },
    ...(Object.keys(content).length > 0 && { content }),
  }
}

function commonHeaders({ access, tellsOwnTime }: EndpointDescription): JsonObject {
  return {
    'x-request-id': header('RequestId'),
    ...(tellsOwnTime && { 'x-signalbox-overhead-ms': header('OwnTime') }),
    ...(access.type === 'user' && {
      'x-ratelimit-limit-requests': header('RateLimit'),
      'x-ratelimit-remaining-requests': header('RateLimitRemaining'),
      'x-ratelimit-reset-requests': header('RateLimitReset'),
    }),
  }
}

function buildHeaders(schemas: TProperties, components: Components): JsonObject {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => {
      const { description, ...rendered } = components.add(schema)
      return [name, { description, required: !isOptional(schema), schema: rendered }]
    }),
  )
}

function buildErrorResponses(
  endpoint: EndpointDescription,
  api: ApiDescription,
  components: Components,
): JsonObject {
  const declared = endpoint.responses
  const entries = [...errorsByStatus(endpoint, api)]
    .filter(([status]) => declared[status] === undefined)
    .map(([status, errors]) => [status, buildErrorResponse(endpoint, status, errors, components)])
  return Object.fromEntries(entries)
}

function buildErrorResponse(
  { errorStyle, tellsOwnTime }: EndpointDescription,
  status: number,
  errors: ErrorsByCode,
  components: Components,
): JsonObject {
  const codes = Object.entries(errors)
  const examples = codes.map(([code, { type, description: message }]) => [
    code,
    formatError(
      new GatewayError({ code, status, type, message }),
      errorStyle,
      'req_8fKqL2vW0aZsN3xYbT7uR1cD',
    ),
  ])
  return {
    description: codes.map(([code, { description }]) => `\`${code}\`: ${description}`).join('\n\n'),
    headers: {
      'x-request-id': header('RequestId'),
      'x-error-code': header('ErrorCode'),
      ...(tellsOwnTime && { 'x-signalbox-overhead-ms': header('OwnTime') }),
      ...(RETRIABLE.includes(status) && { 'retry-after': header('RetryAfter') }),
      ...(status === 405 && { allow: header('Allow') }),
    },
    content: {
      'application/json': {
        schema: components.add(errorBodySchema(errorStyle)),
        examples: wrapExamples(Object.fromEntries(examples)),
      },
    },
  }
}

const RETRIABLE = [429, 503, 529]

function capitalize(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}
