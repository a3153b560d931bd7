import { STATUS_CODES } from 'node:http'
import type { JsonObject } from '../../core/contract/index.ts'

export const string = { type: 'string' }
export const integer = { type: 'integer' }
export const number = { type: 'number' }
export const boolean = { type: 'boolean' }
export const anyObject = { type: 'object' }
export const timestamp = { type: 'string', description: 'ISO 8601, UTC' }

/** A schema of the components by its name. */
export function ref(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` }
}

/** An object with these fields, of which only those whose name ends with `?` may be left out. */
export function object(fields: Readonly<Record<string, JsonObject>>): JsonObject {
  const names = Object.keys(fields)
  return {
    type: 'object',
    required: names.filter((name) => !name.endsWith('?')),
    properties: Object.fromEntries(names.map((name) => [name.replace(/\?$/, ''), fields[name]])),
  }
}

/** An object with these fields and no others. */
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

/** `{data: …}`, as successful results come (docs/api.md, "Chat completions"). */
export function dataEnvelope(schema: JsonObject): JsonObject {
  return closedObject({ data: schema })
}

export const successBody = closedObject({ success: { const: true } })

/** A parameter of the path. The example has the right form; a caller puts an id of their own there. */
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

/** An optional parameter of the query. */
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

/** A moment: a position in the event log, or an ISO 8601 time with its zone. */
export function asOfParameter(name: string, example: string, description: string): JsonObject {
  return queryParameter(
    name,
    { type: 'string' },
    example,
    `${description}: a log position, or an ISO 8601 time with its zone.`,
  )
}

export const ifMatchParameter = headerParameter(
  'If-Match',
  '"1"',
  'The ETag of the rule that was read; 412 when it was changed since.',
)

/** What is said of one method of one path. */
interface Operation {
  /** The name that generated clients give it. */
  readonly id: string
  readonly tag: string
  readonly summary: string
  /** Whose bearer it takes; the user's when left out. */
  readonly key?: 'apiKey' | 'adminKey' | 'none'
  readonly parameters?: readonly JsonObject[]
  readonly body?: RequestBody
  /** By status, those of errors too. */
  readonly responses: OperationResponses
  /** Another media type that 200 may come in. */
  readonly alternativeMediaType?: string
}

interface RequestBody {
  readonly schema: JsonObject
  /** False where the body may be left out. */
  readonly required?: boolean
  /** Bodies that are answered as they stand, by name. */
  readonly examples: Readonly<Record<string, JsonObject>>
}

/** The schema of a JSON answer, or the media type of another. */
export type OperationResponses = Readonly<Record<number, JsonObject | string>>

/** An OpenAPI operation object. */
export function describeOperation(operation: Operation): JsonObject {
  const {
    id,
    tag,
    summary,
    key = 'apiKey',
    parameters,
    body,
    responses: answers,
    alternativeMediaType: alsoAs,
  } = operation
  const responses = Object.entries(answers).map(([status, answer]) => {
    const other = status === '200' && alsoAs !== undefined && describeContent(alsoAs)
    return [status, { description: STATUS_CODES[status], content: { ...describeContent(answer), ...other } }]
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

function describeContent(answer: JsonObject | string): JsonObject {
  if (typeof answer === 'string') return { [answer]: { schema: { type: 'string' } } }
  return { 'application/json': { schema: answer } }
}

function describeBody({ schema, required = true, examples }: RequestBody): JsonObject {
  const named = Object.entries(examples).map(([name, value]) => [name, { value }])
  return { required, content: { 'application/json': { schema, examples: Object.fromEntries(named) } } }
}

const general = {
  message: string,
  type: string,
  http_status: integer,
  'retry_after?': integer,
  'errors?': { type: 'object', additionalProperties: arrayOf(string) },
}

/** The shapes of errors (docs/api.md, "Errors"). */
export const errorSchemas: JsonObject = {
  Error: closedObject({ error: closedObject(general) }),
  ErrorWithParameter: closedObject({ error: closedObject({ ...general, 'param?': string }) }),
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

/** The same shape for each of these statuses, and for what any endpoint may answer. */
export function errorResponses(name: string, ...statuses: readonly number[]): OperationResponses {
  return Object.fromEntries([...statuses, 500, 503].map((status) => [status, ref(name)]))
}

/** What endpoints for users may answer besides. */
export function userErrorResponses(name: string, ...statuses: readonly number[]): OperationResponses {
  return errorResponses(name, 401, 429, ...statuses)
}

/** What an inference endpoint may answer; 403 is a firewall block. */
export function inferenceErrorResponses(name: string): OperationResponses {
  return { ...userErrorResponses(name, 400, 404, 408, 413, 502, 504), 403: ref('BlockedError') }
}
