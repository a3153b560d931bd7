import { STATUS_CODES } from 'node:http'
import type { JsonObject } from '../../core/contract/index.ts'

export const text = { type: 'string' }
export const integer = { type: 'integer' }
export const number = { type: 'number' }
export const flag = { type: 'boolean' }
export const anyObject = { type: 'object' }
export const time = { type: 'string', description: 'ISO 8601, UTC' }

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
export function closed(fields: Readonly<Record<string, JsonObject>>): JsonObject {
  return { ...object(fields), additionalProperties: false }
}

export function list(items: JsonObject): JsonObject {
  return { type: 'array', items }
}

export function oneOf(...values: readonly string[]): JsonObject {
  return { type: 'string', enum: values }
}

export function orNull(schema: JsonObject): JsonObject {
  return { anyOf: [schema, { type: 'null' }] }
}

/** `{data: …}`, as successful results come (docs/api.md, "Chat completions"). */
export function data(schema: JsonObject): JsonObject {
  return closed({ data: schema })
}

export const success = closed({ success: { const: true } })

/** A parameter of the path. The example has the right form; a caller puts an id of their own there. */
export function inPath(name: string, example: string | number, description: string): JsonObject {
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
export function inQuery(name: string, schema: JsonObject, example: unknown, description: string): JsonObject {
  return { name, in: 'query', description, schema, example }
}

/** An optional header. */
export function inHeader(name: string, example: string, description: string): JsonObject {
  return { name, in: 'header', description, schema: { type: 'string' }, example }
}

/** A moment: a position in the event log, or an ISO 8601 time with its zone. */
export function momentIn(name: string, example: string, description: string): JsonObject {
  return inQuery(
    name,
    { type: 'string' },
    example,
    `${description}: a log position, or an ISO 8601 time with its zone.`,
  )
}

export const ifMatch = inHeader(
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
  readonly body?: Body
  /** By status, those of errors too. */
  readonly answers: Answers
  /** Another media type that 200 may come in. */
  readonly alsoAs?: string
}

interface Body {
  readonly schema: JsonObject
  /** False where the body may be left out. */
  readonly required?: boolean
  /** Bodies that are answered as they stand, by name. */
  readonly examples: Readonly<Record<string, JsonObject>>
}

/** The schema of a JSON answer, or the media type of another. */
export type Answers = Readonly<Record<number, JsonObject | string>>

/** An OpenAPI operation object. */
export function describeOperation(operation: Operation): JsonObject {
  const { id, tag, summary, key = 'apiKey', parameters, body, answers, alsoAs } = operation
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

function describeBody({ schema, required = true, examples }: Body): JsonObject {
  const named = Object.entries(examples).map(([name, value]) => [name, { value }])
  return { required, content: { 'application/json': { schema, examples: Object.fromEntries(named) } } }
}

const general = {
  message: text,
  type: text,
  http_status: integer,
  'retry_after?': integer,
  'errors?': { type: 'object', additionalProperties: list(text) },
}

/** The shapes of errors (docs/api.md, "Errors"). */
export const errorSchemas: JsonObject = {
  Error: closed({ error: closed(general) }),
  ErrorWithParameter: closed({ error: closed({ ...general, 'param?': text }) }),
  MessageError: closed({ error: closed({ message: text }) }),
  BlockedError: closed({ error: closed({ message: text, meta: closed({ rule_id: integer }) }) }),
  ChatError: closed({
    error: closed({
      message: text,
      type: text,
      param: orNull(text),
      code: text,
      http_status: integer,
      'retry_after?': integer,
    }),
  }),
  RouteError: closed({
    error: closed({ type: text, message: text, code: text, 'param?': text, 'retry_after?': integer }),
  }),
}

/** The same shape for each of these statuses, and for what any endpoint may answer. */
export function errors(name: string, ...statuses: readonly number[]): Answers {
  return Object.fromEntries([...statuses, 500, 503].map((status) => [status, ref(name)]))
}

/** What endpoints for users may answer besides. */
export function userErrors(name: string, ...statuses: readonly number[]): Answers {
  return errors(name, 401, 429, ...statuses)
}

/** What an inference endpoint may answer; 403 is a firewall block. */
export function inferenceErrors(name: string): Answers {
  return { ...userErrors(name, 400, 404, 408, 413, 502, 504), 403: ref('BlockedError') }
}
