import { STATUS_CODES } from 'node:http'
import type { JsonObject } from '../../core/contract/index.ts'

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
