import { STATUS_CODES } from 'node:http'
import type { JsonObject } from '../../core/contract/index.ts'

export const string = { type: 'string' }
export const integer = { type: 'integer' }
export const number = { type: 'number' }
export const boolean = { type: 'boolean' }
export const anyObject = { type: 'object' }
export const timestamp = { type: 'string', description: 'ISO 8601, UTC' }

/** References a schema of the components. */
export function ref(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` }
}

/** An object schema with these fields. Fields whose name ends in `?` are optional. */
export function object(fields: Readonly<Record<string, JsonObject>>): JsonObject {
  const names = Object.keys(fields)
  return {
    type: 'object',
    required: names.filter((name) => !name.endsWith('?')),
    properties: Object.fromEntries(names.map((name) => [name.replace(/\?$/, ''), fields[name]])),
  }
}

/** Like `object`, but without additional fields. */
export function closedObject(fields: Readonly<Record<string, JsonObject>>): JsonObject {
  return { ...object(fields), additionalProperties: false }
}

export function arrayOf(items: JsonObject): JsonObject {
  return { type: 'array', items }
}

export function stringEnum(...values: readonly string[]): JsonObject {
  return { type: 'string', enum: values }
}

export function nullable(schema: JsonObject): JsonObject {
  return { anyOf: [schema, { type: 'null' }] }
}

/** The `{data: …}` envelope of successful results. */
export function dataEnvelope(schema: JsonObject): JsonObject {
  return closedObject({ data: schema })
}

export const successBody = closedObject({ success: { const: true } })

/** A path parameter. The example only shows the format of the id. */
export function pathParameter(name: string, example: string | number, description: string): JsonObject {
  return {
    name,
    in: 'path',
    required: true,
    description,
    schema: { type: typeof example === 'number' ? 'integer' : 'string' },
    example,
  }
}

/** An optional query parameter. */
export function queryParameter(
  name: string,
  schema: JsonObject,
  example: unknown,
  description: string,
): JsonObject {
  return { name, in: 'query', description, schema, example }
}

/** An optional header. */
export function headerParameter(name: string, example: string, description: string): JsonObject {
  return { name, in: 'header', description, schema: { type: 'string' }, example }
}

/** An optional query parameter for a point in the event log: a position or a time. */
export function logPointParameter(name: string, example: string, description: string): JsonObject {
  return queryParameter(
    name,
    { type: 'string' },
    example,
    `${description}: a log position or an ISO 8601 time with a time zone.`,
  )
}

export const ifMatchParameter = headerParameter(
  'If-Match',
  '"1"',
  'The ETag of the rule. If the rule has changed since, the response is 412.',
)

/** The description of one method of one path. */
interface Operation {
  /** The operation id, from which generated clients derive method names. */
  readonly id: string
  readonly tag: string
  readonly summary: string
  /** The key that the endpoint requires. Default: `apiKey`. */
  readonly key?: 'apiKey' | 'adminKey' | 'none'
  readonly parameters?: readonly JsonObject[]
  readonly body?: RequestBody
  /** By status, including errors. */
  readonly responses: OperationResponses
  /** A second media type of the 200 response. */
  readonly alternativeMediaType?: string
}

interface RequestBody {
  readonly schema: JsonObject
  /** Default: true. */
  readonly required?: boolean
  /** Complete, valid bodies by name. */
  readonly examples: Readonly<Record<string, JsonObject>>
}

/** By status: the schema of a JSON response, or the media type of another response. */
export type OperationResponses = Readonly<Record<number, JsonObject | string>>

/** Builds an OpenAPI operation object. */
export function describeOperation(operation: Operation): JsonObject {
  const { id, tag, summary, key = 'apiKey', parameters, body, alternativeMediaType } = operation
  const responses = Object.entries(operation.responses).map(([status, response]) => {
    const hasAlternative = status === '200' && alternativeMediaType !== undefined
    const alternative = hasAlternative && describeContent(alternativeMediaType)
    const content = { ...describeContent(response), ...alternative }
    return [status, { description: STATUS_CODES[status], content }]
  })
  return {
    operationId: id,
    tags: [tag],
    summary,
    security: key === 'none' ? [] : [{ [key]: [] }],
    ...(parameters && { parameters }),
    ...(body && { requestBody: describeBody(body) }),
    responses: Object.fromEntries(responses),
  }
}

function describeContent(response: JsonObject | string): JsonObject {
  if (typeof response === 'string') return { [response]: { schema: { type: 'string' } } }
  return { 'application/json': { schema: response } }
}

function describeBody({ schema, required = true, examples }: RequestBody): JsonObject {
  const entries = Object.entries(examples).map(([name, value]) => [name, { value }])
  return { required, content: { 'application/json': { schema, examples: Object.fromEntries(entries) } } }
}

const commonErrorFields = {
  message: string,
  type: string,
  http_status: integer,
  'retry_after?': integer,
  'errors?': { type: 'object', additionalProperties: arrayOf(string) },
}

/** The error bodies (docs/api.md, "Errors"). */
export const errorSchemas: JsonObject = {
  Error: closedObject({ error: closedObject(commonErrorFields) }),
  ErrorWithParameter: closedObject({ error: closedObject({ ...commonErrorFields, 'param?': string }) }),
  MessageError: closedObject({ error: closedObject({ message: string }) }),
  BlockedError: closedObject({
    error: closedObject({ message: string, meta: closedObject({ rule_id: integer }) }),
  }),
  ChatError: closedObject({
    error: closedObject({
      message: string,
      type: string,
      param: nullable(string),
      code: string,
      http_status: integer,
      'retry_after?': integer,
    }),
  }),
  RouteError: closedObject({
    error: closedObject({
      type: string,
      message: string,
      code: string,
      'param?': string,
      'retry_after?': integer,
    }),
  }),
}

/** Error responses with the same schema for these statuses and for those of every endpoint (500, 503). */
export function errorResponses(name: string, ...statuses: readonly number[]): OperationResponses {
  return Object.fromEntries([...statuses, 500, 503].map((status) => [status, ref(name)]))
}

/** Error responses of endpoints that require an API key. */
export function userErrorResponses(name: string, ...statuses: readonly number[]): OperationResponses {
  return errorResponses(name, 401, 429, ...statuses)
}

/** Error responses of inference endpoints; 403 is a block by a firewall rule. */
export function inferenceErrorResponses(name: string): OperationResponses {
  return { ...userErrorResponses(name, 400, 404, 408, 413, 502, 504), 403: ref('BlockedError') }
}
