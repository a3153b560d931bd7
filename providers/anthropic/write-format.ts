import type { ChatRequest } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import { isJsonObject } from '../../core/contract/json.ts'
import { readObject } from '../read-fields.ts'
import { reduceSchema } from './reduce-schema.ts'
import type { OutputFormat } from './wire.ts'

/** Stands in for `json_object`, which Anthropic does not have. */
export const JSON_INSTRUCTION =
  'Answer with a single JSON object and nothing else: no words before or after it, and no code fence.'

/** The schema of a `json_schema` answer (reference 5.5); undefined for the other formats. */
export function writeFormat(format: ChatRequest['response_format']): OutputFormat | undefined {
  if (format?.type !== 'json_schema') return undefined
  const { schema } = readObject(format.json_schema)
  if (isJsonObject(schema)) return { type: 'json_schema', schema: reduceSchema(schema) }
  const param = 'response_format.json_schema.schema'
  throw new GatewayError('missing_parameter', `${param} is missing.`, { param })
}
