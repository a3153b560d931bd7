import type { JsonObject } from '../../core/contract/index.ts'

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
